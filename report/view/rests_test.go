package view

import (
	"encoding/json"
	"strings"
	"testing"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
)

// TestRestsIsAList: an edge that rests on no single operation, such as one between predicate writes, has a list.
func TestRestsIsAList(t *testing.T) {
	h, err := datasets.Generate(t.Context(), datasets.Spec{Workload: "booking", Txns: 50, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range []evidence.Dep{evidence.SO, evidence.RT, evidence.WR} {
		for to := range uint32(50) {
			e := evidence.Edge{From: to + 1, To: to, Writer: history.None, Dep: dep}
			b, err := json.Marshal(newEdgeJSON(&evidence.Result{H: h}, nil, e, true, ""))
			if err != nil || strings.Contains(string(b), "null") {
				t.Fatalf("%s, %v", b, err)
			}
		}
	}
}
