package random

import (
	"fmt"
	"math/rand/v2"

	"isovet/history"
)

// Lagging makes a random history in which each read saw some earlier write of its key, a recent one mostly and none
// older than what its session has seen: what a store gives that replicates each key by itself. About half satisfy the
// levels below snapshot isolation. Of o the sizes count, defaults as [Tiny]'s. With repeat a transaction may read a key
// twice and see different versions.
func Lagging(seed uint64, o Options, repeat bool) *history.History {
	o = o.or(5, 3, 3, 4)
	r := rand.New(rand.NewPCG(seed, 7))
	b := history.NewBuilder()
	b.Initial = history.IntValue(0)
	txns, keys, sessions := 2+r.IntN(max(o.Txns-1, 1)), 1+r.IntN(o.Keys), 1+r.IntN(o.Sessions)
	lag := 1 + r.IntN(4)
	written := make([][]int64, keys)
	for k := range written {
		written[k] = []int64{0}
	}
	key := func(k int) uint32 { return b.Key(history.IntValue(int64(k))) }
	next := int64(0)
	seen := make([][]int, sessions) // place in written that a session has seen
	for s := range seen {
		seen[s] = make([]int, keys)
	}
	for t := range txns {
		h := history.NewTxnHead()
		h.ID, h.HasID = int64(t), true
		s := r.IntN(sessions)
		if h.Session, h.HasSess = int64(s), r.IntN(8) > 0; r.IntN(8) == 0 {
			h.Status = history.Unknown
		}
		done := map[int]bool{}
		mine := map[int]int64{}
		for range 1 + r.IntN(o.Ops) {
			k := r.IntN(keys)
			if r.IntN(2) == 0 {
				next++
				b.Write(key(k), history.IntValue(next))
				mine[k], done[k] = next, true
				continue
			}
			if done[k] && (!repeat || mine[k] != 0) {
				continue
			}
			done[k] = true
			at := max(seen[s][k], len(written[k])-1-r.IntN(lag))
			if r.IntN(20) == 0 {
				at = r.IntN(len(written[k]))
			}
			seen[s][k] = max(seen[s][k], at)
			b.Read(key(k), history.IntValue(written[k][at]))
		}
		b.EndTxn(h)
		for k, v := range mine {
			written[k] = append(written[k], v)
		}
	}
	h, err := b.Build()
	if err != nil {
		panic(fmt.Sprintf("datasets: seed %d: %v", seed, err))
	}
	return h
}
