package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"isovet/check/timestamp"
	"isovet/history"
	"isovet/internal/test/histtest"
)

// TestRandom: small random histories, times at both ends of the 64 bits among them, as a stream whose every transaction
// is within the lateness: the judge finds what CHRONOS finds in the file, and lines that it refuses are those of which
// it says what is missing.
func TestRandom(t *testing.T) {
	judged, wrong := 0, 0
	histtest.Search{
		N: 2000, Long: 200_000, Dir: os.Getenv("ISOVET_FOUND"),
		Make: func(seed uint64) []byte {
			return histtest.Random(seed, histtest.Shape{Kinds: []histtest.Kind{histtest.Registers, histtest.Lists,
				histtest.Mini, histtest.Predicates}})
		},
		Judge: func(text []byte) error {
			h, err := histtest.Read(text)
			if err != nil {
				return nil
			}
			if h.Meta.Lists && bytes.Contains(text, []byte(`["w",`)) {
				// A read of null is of a list by the header then, and of a register by what the whole file does with
				// the key, which a stream does not know yet (docs/watch.md).
				return nil
			}
			for _, l := range timestamp.Levels() {
				o := timestamp.Options{Level: l, ReadOnlyAtStart: bytes.Contains(text, []byte(`"read_only_at_start"`))}
				r, err := timestamp.Chronos(t.Context(), h, o)
				if err != nil {
					continue // timestamps are missing, or tie
				}
				got, refused := streamed(text, o)
				if refused {
					continue
				}
				judged++
				if want := ofReport(h, r); !slices.Equal(got, want) {
					return fmt.Errorf("at %s (read-only at start: %t): the stream shows %v, the file %v", l,
						o.ReadOnlyAtStart, got, want)
				} else if len(want) > 0 {
					wrong++
				}
			}
			return nil
		},
	}.Run(t)
	histtest.Mix(t, judged < 1000 || wrong < 200, "only %d judged, %d with violations", judged, wrong)
}

// streamed feeds a judge the lines of a history; refused where it does not take one of them.
func streamed(text []byte, o timestamp.Options) (found []string, refused bool) {
	j := aionOf(o, AllLate)
	j.Begin(nil)
	var lines [][]byte
	for line := range bytes.Lines(text) {
		if bytes.Contains(line, []byte(`"init":true`)) && len(lines) > 0 && !bytes.Contains(lines[len(lines)-1],
			[]byte(`"format":`)) {
			return nil, true // what keys hold at first has to be said first
		}
		lines = append(lines, line)
	}
	if err := j.Take(NewBatch(0, lines), func(int64, error) { refused = true }); err != nil || refused {
		return nil, true
	}
	j.End()
	err := j.Findings(func(f *Finding) error {
		b, err := f.Line(1)
		if err != nil {
			return err
		}
		var v Violation
		if err := json.Unmarshal(b, &v); err != nil {
			return err
		}
		found = append(found, keyOf(v))
		return nil
	})
	if err != nil {
		panic(err)
	}
	slices.Sort(found)
	return found, false
}

// ofReport is the same of a report on the file.
func ofReport(h *history.History, r *timestamp.Report) (out []string) {
	for i := range r.Violations {
		x := &r.Violations[i]
		other, op, key := "-", "-", ""
		if x.Other != history.None {
			other = strconv.FormatInt(h.Txns.ID[x.Other], 10)
		}
		if x.Op != history.None {
			op = strconv.Itoa(int(x.Op - h.Txns.OpOff[x.Txn]))
		}
		if x.Key != history.None {
			key = h.KeyString(x.Key)
		}
		out = append(out, fmt.Sprintf("%s %d %s %s %s", x.Axiom, h.Txns.ID[x.Txn], other, key, op))
	}
	slices.Sort(out)
	return out
}
