package watch

import (
	"bytes"
	"testing"
)

// TestReplayForeign: a line that is not understood may have written what takes part in a violation; the violation is
// told, with what is understood of it.
func TestReplayForeign(t *testing.T) {
	lines := bytes.Split([]byte(`{"id":1,"session":1,"start":1,"end":2,"ops":[["w","x",1]]}
{"id":2,"session":2,"start":3,"end":4,"status":"aborted","status":"aborted","ops":[["w","x",2]]}
{"id":3,"session":3,"start":5,"end":6,"ops":[["w","x",3]]}
{"id":4,"session":4,"start":7,"end":8,"ops":[["r","x",2],["w","y",1]]}
{"id":5,"session":5,"start":9,"end":10,"ops":[["r","x",3],["r","y",1]]}
{"id":6,"session":6,"start":11,"end":12,"ops":[["r","x",1],["r","x",2]]}
{"id":7,"session":7,"start":13,"end":14,"ops":[["r","x",2],["r","y",null]]}`), []byte("\n"))
	for _, l := range ReplayLevels() {
		made, err := NewReplay(ReplayOptions{Level: l, Lateness: AllLate})
		if err != nil {
			t.Fatal(err)
		}
		j := made.(*replayJudge)
		j.Begin(func(n int64) ([]byte, error) { return lines[n], nil })
		bad, found := 0, 0
		if err := j.Take(NewBatch(0, lines), func(int64, error) { bad++ }); err != nil {
			t.Fatal(err)
		}
		j.End()
		if err := j.Findings(func(f *Finding) error {
			if f.Class == violated {
				found++
			}
			_, err := f.Line(1)
			return err
		}); err != nil || bad != 1 || found == 0 {
			t.Errorf("%s: %v, %d bad lines, %d violations", l, err, bad, found)
		}
	}
}
