package check

import (
	"testing"

	"isovet/history/format/jsonl"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestPlain: of a proof by two cases of which one is a cycle that the lists' reads settle, that one is left; it is the
// example of Elle's paper (VLDB 2020, Figure 2).
func TestPlain(t *testing.T) {
	h := must.Get(jsonl.Read([]byte(`{"format":"isovet-history","version":1,"model":"list"}
{"id":1,"ops":[["a",253,1],["a",255,2],["a",255,3],["a",255,4],["a",255,5],["a",256,1],["a",256,2]]}
{"id":3,"ops":[["a",255,8],["r",253,[1,3,4]]]}
{"id":5,"ops":[["a",256,4],["r",255,[2,3,4,5,8]],["r",256,[1,2,4]],["r",253,[1,3,4]]]}
{"id":7,"ops":[["a",250,10],["r",253,[1,3,4]],["r",255,[2,3,4,5]],["a",256,3]]}
{"id":9,"ops":[["a",253,3],["a",253,4]]}
`), "elle"))(t)
	for _, name := range []string{"elle", "replay"} {
		c := must.Get(ByName(name))(t)
		r := answer(t, c, h, Options{Level: level.Serializable})
		must.Hold(t, len(r.Anomalies) != 0, "%s: %s, %s", name, r.Verdict, r.Reason)
		if a := r.Anomalies[0]; len(a.Cycle) != 3 || len(a.Cycles) > 0 || name == "elle" && a.Kind != level.GSingle {
			t.Errorf("%s: %s, by a cycle of %d and %d cases:\n%s", name, a.Kind, len(a.Cycle), len(a.Cycles), a.Text)
		}
	}
}
