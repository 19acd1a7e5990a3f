package plan

import (
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/history"
)

// Place keeps the order that it is given, whatever stands where by the rule: no two events share a place, and each
// stands behind the one before it. Some transactions were brought aside, behind another's place.
func TestPlaceKeepsTheOrder(t *testing.T) {
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 5))
		var txns []*Txn
		for i := range 2 + r.IntN(8) {
			x := &Txn{Place: uint64(i), Status: history.Committed, Rule: Pos{T: r.Int64N(6), N: uint64(i)}}
			if i > 0 && r.IntN(3) == 0 {
				x.Rule = txns[r.IntN(i)].Rule
				x.Rule.Sub, x.Counts = uint32(3<<30+i), true
			}
			txns = append(txns, x)
		}
		slices.SortFunc(txns, func(a, b *Txn) int { return a.Rule.Compare(b.Rule) })
		var events []int32
		for i := range txns {
			events = append(events, int32(i)<<1, int32(i)<<1|1)
		}
		for range r.IntN(6) { // some transactions elsewhere, some of these open for a while
			i := int32(r.IntN(len(txns)))
			events = slices.DeleteFunc(events, func(e int32) bool { return e>>1 == i })
			b := r.IntN(len(events) + 1)
			events = slices.Insert(events, b, i<<1)
			c := b + 1
			if r.IntN(2) == 0 {
				c += r.IntN(len(events) - b)
			}
			events = slices.Insert(events, c, i<<1|1)
		}
		for _, x := range txns {
			x.Now = Move{Begin: x.Rule, Commit: x.Rule}
		}
		Place(txns, events, nil)
		last, of := First, int32(-1)
		for i, e := range events {
			x := txns[e>>1]
			at := x.Now.Begin
			if e&1 == 1 {
				at = x.Now.Commit
			}
			if one := e&1 == 1 && of == e>>1 && at == last; !one && !last.Less(at) {
				t.Fatalf("seed %d: event %d of %v is at %v, the one before it at %v", seed, i, events, at, last)
			}
			last, of = at, e>>1
		}
	}
}
