package watch

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"isovet/check"
	"isovet/check/mechanism"
	"isovet/evidence"
	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest"
	"isovet/level"
)

// TestCheckTakesProofs: of each proved line a plain check of the evidence, at the level that its header names, says
// violation, and the line names the same level.
func TestCheckTakesProofs(t *testing.T) {
	seen := map[level.Level]int{}
	take := func(name string, alarms []alarm) {
		for _, x := range alarms {
			var file bytes.Buffer
			if err := jsonl.Write(&file, x.h); err != nil {
				t.Fatal(err)
			}
			h, err := jsonl.ReadPiece(file.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			at, why := mechanism.LevelOf(h.Meta.DB, h.Meta.Isolation)
			var said struct{ Level level.Level }
			if err := json.Unmarshal([]byte(x.line), &said); err != nil || why == "" || said.Level != at {
				t.Fatalf("%s: the header says %v (%s): %v; %s", name, at, why, err, x.line)
			}
			c, ok := check.Auto(h, at)
			if !ok {
				t.Fatalf("%s: no checker decides %v of\n%s", name, at, &file)
			}
			r, err := check.Run(t.Context(), c, h, check.Options{Level: at})
			if err != nil || r.Verdict != evidence.Violated {
				t.Fatalf("%s: %v, %v at %v; %s\n%s", name, r.Verdict, err, at, x.line, &file)
			}
			seen[at]++
		}
	}
	eachBroken(t, histtest.Long[uint64](1, 40), func(m *mechanisms) {
		j := leopardOf(t, LeopardOptions{Skew: m.skew, Lateness: m.apart})
		take("leopard "+m.name, alarmsOf(t, j, m.lines, 64, false))
		for _, l := range []level.Level{level.Serializable, level.StrictSerializable, level.SnapshotIsolation} {
			if strings.HasPrefix(m.name, "list-append") {
				continue // replay reads no lists
			}
			j, err := NewReplay(ReplayOptions{Level: l, Skew: m.skew, Lateness: m.apart})
			if err != nil {
				t.Fatal(err)
			}
			take("replay "+m.name, alarmsOf(t, j, m.lines, 64, false))
		}
	})
	if len(seen) < 3 {
		t.Errorf("proofs of %v: too few levels to be a test", seen)
	}
	t.Logf("%v", seen)
}
