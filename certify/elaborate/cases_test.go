package elaborate_test

import (
	"bytes"
	"testing"

	"isovet/certify"
	"isovet/certify/elaborate"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// manyWriters is a history in which transaction 1 reads a value that each of n others may have written, all of which
// read what it wrote, and a violation of n cases.
func manyWriters(n int) *evidence.Result {
	b := history.NewBuilder()
	x, y := b.Key(history.IntValue(1)), b.Key(history.IntValue(2))
	end := func(session int) {
		head := history.NewTxnHead()
		head.Session, head.HasSess = int64(session), true
		b.EndTxn(head)
	}
	b.Read(x, history.IntValue(7))
	b.Write(y, history.IntValue(1))
	end(1)
	for i := range n {
		b.Read(y, history.IntValue(1))
		b.Write(x, history.IntValue(7))
		end(2 + i)
	}
	h, err := b.Build()
	if err != nil {
		panic(err)
	}
	a := evidence.Anomaly{}
	seven, one := h.Ops.Ver[0], h.Ops.Ver[1]
	for w := uint32(1); w <= uint32(n); w++ {
		a.Cycles = append(a.Cycles, []evidence.Edge{
			{From: w, To: 0, Dep: evidence.WR, Key: h.VerKey[seven], Ver: seven, Writer: history.None},
			{From: 0, To: w, Dep: evidence.WR, Key: h.VerKey[one], Ver: one, Writer: history.None}})
	}
	a.Complete(h, level.Serializable, 0)
	return &evidence.Result{Verdict: evidence.Violated, Level: level.Serializable, H: h,
		Anomalies: []evidence.Anomaly{a}}
}

// TestManyCases: five thousand cases make some fifteen thousand steps: a cycle and two sources each at most.
func TestManyCases(t *testing.T) {
	const n = 2000
	r := manyWriters(n)
	if _, err := certify.Names(r, certify.Options{}); err != nil {
		t.Fatal(err)
	}
	p, err := elaborate.Prove(r, elaborate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	hints := 0
	for i := range p.Steps {
		hints += len(p.Steps[i].Hints)
	}
	if len(p.Steps) > 4*n || hints > 8*n {
		t.Errorf("%d steps with %d hints for %d cases", len(p.Steps), hints, n)
	}
	if extracted != "" {
		var file bytes.Buffer
		if err := p.Write(&file); err != nil {
			t.Fatal(err)
		}
		if out := ask(file.Bytes()); out != "VERIFIED violation serializable\n" {
			t.Error(out)
		}
	}
	// what evidence leaves out, the graph finds
	r.Anomalies[0].Cycles = r.Anomalies[0].Cycles[1:]
	if _, err := elaborate.Prove(r, elaborate.Options{}); err != nil {
		t.Errorf("a case that the evidence leaves out is not found again: %v", err)
	}
}
