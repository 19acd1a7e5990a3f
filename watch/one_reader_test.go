package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"isovet/check/mechanism"
	"isovet/check/timestamp"
	"isovet/datasets"
	"isovet/history/format/jsonl"
	"isovet/internal/slice"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// alter changes a line as a faulty producer, or another one, might.
func alter(rng *rand.Rand, line string) string {
	number := regexp.MustCompile(`\d+`)
	switch rng.IntN(12) {
	case 0:
		return strings.Replace(line, `"ops"`, `"status":"`+[]string{"aborted", "unknown", "comitted", ""}[rng.IntN(4)]+
			`","ops"`, 1)
	case 1:
		return strings.Replace(line, `"ops"`, `"o\u0070s"`, 1)
	case 2: // another number
		at := number.FindAllStringIndex(line, -1)
		x := at[rng.IntN(len(at))]
		return line[:x[0]] + fmt.Sprint(rng.IntN(40)) + line[x[1]:]
	case 3: // no integer
		at := number.FindAllStringIndex(line, -1)
		x := at[rng.IntN(len(at))]
		return line[:x[1]] + []string{".0", "e0", "0", `,"x"`}[rng.IntN(4)] + line[x[1]:]
	case 4:
		return strings.Replace(line, `["w"`, `["r"`, 1)
	case 5:
		return strings.Replace(line, `["r"`, `["w"`, 1)
	case 6:
		return strings.ReplaceAll(strings.ReplaceAll(line, ":", " : "), ",", " , ")
	case 7: // a string for a number
		at := number.FindAllStringIndex(line, -1)
		x := at[rng.IntN(len(at))]
		return line[:x[0]] + `"` + line[x[0]:x[1]] + `"` + line[x[1]:]
	case 8:
		return line[:rng.IntN(len(line))]
	case 9:
		return strings.Replace(line, `"commit_ts"`, `"commit_tz"`, 1)
	case 10:
		return strings.Replace(line, `"version":1`, `"version":7`, 1)
	}
	i := rng.IntN(len(line))
	return line[:i] + string(`{}[]",:-1 `[rng.IntN(10)]) + line[i:]
}

// wholeOnly are mistakes that only a whole file shows.
var wholeOnly = regexp.MustCompile(`occurs twice|is used as a list|seq|initial transaction|session`)

// TestOneReader: of histories that are altered line by line, watch says what check says of the file, by timestamps and
// by client times; and what check refuses, watch does not understand.
func TestOneReader(t *testing.T) {
	counts := map[string]int{}
	p := profileOf(t, "store:serializable")
	randtest.Seeds(t, randtest.Long[uint64](120, 4000), func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0x0e))
		h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: []string{"gt", "list-append",
			"rmw"}[seed%3], Txns: 8 + rng.IntN(20), Sessions: 3, Keys: 5,
			Isolation: []string{"snapshot-isolation", "read-committed", "serializable"}[rng.IntN(3)],
			DBTimes:   true, Seed: seed}))(t)
		var text bytes.Buffer
		must.OK(t, jsonl.Write(&text, h))
		lines := strings.Split(strings.TrimSpace(text.String()), "\n")
		for range rng.IntN(4) {
			i := rng.IntN(len(lines))
			lines[i] = alter(rng, lines[i])
		}
		for i := range lines { // without places, that gaps are no mistake
			lines[i] = regexp.MustCompile(`"seq":\d+,`).ReplaceAllString(lines[i], "")
		}
		text.Reset()
		text.WriteString(strings.Join(lines, "\n") + "\n")
		file, fileErr := histtest.Read(text.Bytes())
		stream := slice.Map(lines, func(l string) []byte { return []byte(l) })
		bad := 0
		run := func(j Judge) []string {
			var out []string
			bad = 0
			err := j.Take(NewBatch(0, stream), func(int64, error) { bad++ })
			if err == nil {
				j.Begin(func(n int64) ([]byte, error) { return stream[n], nil })
				j.End()
				err = j.Findings(func(f *Finding) error {
					b, err := f.Line(1)
					out = append(out, string(b))
					return err
				})
			}
			must.OK(t, err, "seed %d\n%s", seed, text.Bytes())
			return out
		}
		got := run(aionOf(si, AllLate))
		switch {
		case fileErr != nil && wholeOnly.MatchString(fileErr.Error()):
			counts["whole"]++
			return
		case fileErr != nil:
			counts["refused"]++
			if bad == 0 {
				t.Fatalf("seed %d: check says %v, and watch takes every line\n%s", seed, fileErr, text.Bytes())
			}
			return
		}
		if r, err := timestamp.Chronos(t.Context(), file, si); err == nil && bad == 0 {
			counts["aion"]++
			for i, line := range got {
				var v Violation
				must.OK(t, json.Unmarshal([]byte(line), &v))
				got[i] = keyOf(v)
			}
			slices.Sort(got)
			if want := ofReport(file, r); !slices.Equal(got, want) {
				t.Fatalf("seed %d: the stream shows %v, the file %v\n%s", seed, got, want, text.Bytes())
			} else if len(want) > 0 {
				counts["aion, violated"]++
			}
		} else if err == nil {
			t.Fatalf("seed %d: check takes the file, and watch leaves out %d lines\n%s", seed, bad, text.Bytes())
		}
		j := leopardOf(t, LeopardOptions{Lateness: AllLate, Profile: p})
		got = run(j)
		r, err := mechanism.Verify(t.Context(), file, mechanism.Options{Profile: *p})
		if err != nil {
			if bad == 0 {
				t.Fatalf("seed %d: check says %v, and watch takes every line\n%s", seed, err, text.Bytes())
			}
			return
		}
		counts["leopard"]++
		if bad > 0 || len(got) != r.Total() {
			t.Fatalf("seed %d: the stream shows %q, the file %v (%d bad)\n%s", seed, got, r.Violations, bad,
				text.Bytes())
		} else if len(got) > 0 {
			counts["leopard, violated"]++
		}
	})
	t.Log(counts)
	for _, c := range []string{"refused", "aion", "aion, violated", "leopard", "leopard, violated"} {
		randtest.Mix(t, counts[c] < 6, "%s: %d; expected more to be a test", c, counts[c])
	}
}
