package watch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"isovet/check"
	"isovet/check/timestamp"
	"isovet/evidence"
	"isovet/history/format"
	"isovet/internal/slice"
	"isovet/internal/test/histtest/oracletest"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestSame: what watch says of a stream is what check says of the file with it, whatever the JSON looks like.
func TestSame(t *testing.T) {
	verdicts := map[string]int{}
	randtest.Seeds(t, randtest.Long[uint64](200, 6000), func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0x3a3e))
		lists := rng.IntN(3) == 0
		text := lines(rng, lists)
		path := filepath.Join(t.TempDir(), "h.jsonl")
		must.OK(t, os.WriteFile(path, text, 0o644))
		h := must.Get(format.Read(t.Context(), path, format.Options{}))(t)
		for _, l := range []level.Level{level.SessionSnapshotIsolation, level.Serializable} {
			aion := must.Get(check.ByName("aion"))(t)
			r := must.Get(check.Run(t.Context(), aion, h, check.Options{Level: l}))(t)
			bad, n := 0, 0
			j := aionOf(timestamp.Options{Level: l}, AllLate)
			var stream [][]byte
			for line := range bytes.Lines(text) {
				stream = append(stream, bytes.TrimSpace(line))
			}
			err := j.Take(NewBatch(0, stream), func(int64, error) { bad++ })
			if err != nil || bad > 0 {
				t.Fatalf("seed %d: %v, %d bad lines\n%s", seed, err, bad, text)
			}
			j.End()
			must.OK(t, j.Findings(func(*Finding) error { n++; return nil }))
			verdicts[fmt.Sprint(r.Verdict, " ", n > 0)]++
			if (n > 0) != (r.Verdict == evidence.Violated) && r.Verdict != evidence.Unknown {
				t.Fatalf("seed %d, %v: check says %v, watch found %d violations\n%s\n%s", seed, l, r.Verdict, n, text,
					oracletest.String(h))
			}
		}
	})
	randtest.Mix(t, verdicts["valid true"] > 0 || verdicts["valid false"] < 50 ||
		verdicts["violation true"] < 15, "%v", verdicts)
}

// lines makes a small stream with timestamps, mostly right, with strings told in several ways.
func lines(rng *rand.Rand, lists bool) []byte {
	var b strings.Builder
	if lists {
		b.WriteString(`{"format":"isovet-history","version":1,"model":"list"}` + "\n")
	} else if rng.IntN(2) == 0 {
		b.WriteString(`{"version":1,"initial":"\u0061" , "format":"isovet-history"}` + "\n")
	}
	spell := func(s ...string) string { return s[rng.IntN(len(s))] }
	key := func() (int, string) {
		k := rng.IntN(4)
		return k, []func() string{
			func() string { return spell(`"caf\u00e9"`, `"café"`, `"c\u0061fé"`) },
			func() string { return spell(`1`, ` 1 `) },
			func() string { return spell(`"1"`, `"\u0031"`) },
			func() string { return spell(`"\/"`, `"/"`, `"\u002f"`) },
		}[k]()
	}
	value := func(n int) string {
		switch n % 4 {
		case 0:
			return fmt.Sprint(n)
		case 1:
			return spell(fmt.Sprintf(`"v%d"`, n), fmt.Sprintf(`"\u0076%d"`, n))
		case 2:
			return spell(fmt.Sprintf(`{"a":%d,"b":"x"}`, n), fmt.Sprintf(`{ "b" : "\u0078", "a":%d }`, n))
		}
		return fmt.Sprintf(`"é%d"`, n)
	}
	first := `null`
	if strings.Contains(b.String(), "initial") {
		first = spell(`"a"`, `"\u0061"`)
	}
	state := make([]int, 4)
	all := make([][]int, 4)
	next := 1
	for ts := 1; ts < 5+rng.IntN(20); ts += 2 {
		fmt.Fprintf(&b, `{"session":%d,"start_ts":%d,"commit_ts":%d,"ops":[`, rng.IntN(3), ts, ts+1)
		for i := range 1 + rng.IntN(3) {
			if i > 0 {
				b.WriteByte(',')
			}
			k, name := key()
			switch write := rng.IntN(2) == 0; {
			case write && lists:
				e := 4 * next // elements are scalars
				next++
				all[k] = append(all[k], e)
				fmt.Fprintf(&b, `["a",%s,%s]`, name, value(e))
			case write:
				state[k] = next
				next++
				fmt.Fprintf(&b, `["w",%s,%s]`, name, value(state[k]))
			case lists && len(all[k]) == 0:
				fmt.Fprintf(&b, `["r",%s,%s]`, name, spell("null", "[]"))
			case lists:
				seen := all[k]
				if rng.IntN(20) == 0 {
					seen = seen[:rng.IntN(len(seen))]
				}
				e := slice.Map(seen, value)
				fmt.Fprintf(&b, `["r",%s,[%s]]`, name, strings.Join(e, ", "))
			default:
				x := state[k]
				if x > 1 && rng.IntN(20) == 0 {
					x--
				}
				if x == 0 {
					fmt.Fprintf(&b, `["r",%s,%s]`, name, first)
				} else {
					fmt.Fprintf(&b, `["r",%s,%s]`, name, value(x))
				}
			}
		}
		b.WriteString("]}\n")
	}
	return []byte(b.String())
}

// TestBadWriter: a line that is not understood is reported, and who has read what it wrote is not accused; nor is the
// session that goes on.
func TestBadWriter(t *testing.T) {
	for _, c := range []struct{ bad, next, said string }{
		{`{"session":0,"seq":0,"start_ts":1,"commit_ts":2,"status":"comitted","ops":[["w","x",1]]}`, `["r","x",1]`,
			`field "status": unknown status "comitted"`},
		{`{"session":0,"seq":0,"start_ts":1,"commit_ts":2,"ops":[["w","x",1],["r","y",1.0]]}`, `["r","x",1]`,
			`the number 1.0; expected an integer`},
		{`{"session":0,"seq":0,"start_ts":1,"ops":[["w","x",1]]}`, `["r","x",1]`, `lacks its start_ts`},
		{`{"session":0,"seq":0,"start_ts":1,"commit_ts":2,"status":5,"ops":[["a","l",1]]}`, `["r","l",[1]]`,
			`field "status": the number 5; expected a string`},
		{`{"format":"isovet-history","version":2}`, `["r","x",null]`, `unknown version 2; expected 1`},
	} {
		text := c.bad + "\n" + `{"session":0,"seq":1,"start_ts":3,"commit_ts":4,"ops":[` + c.next + `]}` + "\n"
		if strings.Contains(c.bad, "format") {
			text = strings.Replace(text, `"seq":1`, `"seq":0`, 1)
		}
		dir := t.TempDir()
		var bad []string
		err := Run(t.Context(), Config{Dir: dir, Judge: aionOf(si, 10), Bad: func(_ int64,
			err error) {
			bad = append(bad, err.Error())
		},
			Open: pipeOf(strings.NewReader(text))})
		if err != nil || len(bad) != 1 || !strings.Contains(bad[0], c.said) {
			t.Errorf("%s: %v, %q; want %s", c.bad, err, bad, c.said)
		}
		if v := found(t, dir); len(v) > 0 {
			t.Errorf("%s: %q", c.bad, v)
		}
	}
}
