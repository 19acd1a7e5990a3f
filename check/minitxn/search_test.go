package minitxn_test

import (
	"runtime"
	"testing"

	"isovet/check/minitxn"
	"isovet/history"
)

// TestSearchBesideALongWrite: a write that takes as long as all others together is a choice at each of them; what is
// remembered of each is what is under way, not what was done.
func TestSearchBesideALongWrite(t *testing.T) {
	const n = 20_000
	reg := &minitxn.Register{Initial: history.None, Ops: []minitxn.Op{{From: 0, Until: 10 * n, Need: history.None,
		Sets: 9}}}
	for i := range int64(n) {
		op := minitxn.Op{Txn: uint32(1 + i), From: 10*i + 1, Until: 10*i + 5, Need: history.None,
			Sets: uint32(i / 2 % 3)}
		if i%2 == 1 {
			op.Need, op.Sets = op.Sets, history.None
		}
		reg.Ops = append(reg.Ops, op)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	order, ok, err := minitxn.Search(reg, minitxn.SearchOptions{})
	runtime.ReadMemStats(&after)
	if !ok || err != nil || len(order) != n+1 {
		t.Fatalf("%d operations, %t, %v", len(order), ok, err)
	}
	if got := (after.TotalAlloc - before.TotalAlloc) / n; got > 2000 {
		t.Errorf("%d bytes an operation", got)
	}
}
