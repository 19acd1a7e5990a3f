package hard

import (
	"cmp"
	"math/rand/v2"

	"isovet/history"
	"isovet/internal/sorts"
)

// busyRegister returns a linearizable history of one register with five values. 80 clients read, write and, one time
// in five, compare and set. Each operation takes effect at a random moment between its start and its end.
func busyRegister(size int, seed uint64) (*history.History, error) {
	const clients, values, swaps, longest = 80, 5, 0.2, 1000
	rng := rand.New(rand.NewPCG(seed, 1))
	type operation struct {
		client             int64
		start, effect, end int64
	}
	ops := make([]operation, size)
	var free [clients]int64
	for i := range ops {
		o := operation{client: int64(i % clients)}
		o.start = free[o.client] + 1 + rng.Int64N(longest/20)
		o.end = o.start + 1 + rng.Int64N(longest)
		o.effect = o.start + rng.Int64N(o.end-o.start+1)
		free[o.client], ops[i] = o.end, o
	}
	sorts.Stable(ops, func(a, b operation) int { return cmp.Compare(a.effect, b.effect) })
	b := history.NewBuilder()
	b.Initial = history.IntValue(0)
	key := b.Key(history.IntValue(0))
	now := int64(0)
	for i, o := range ops {
		kind, next := rng.Float64(), rng.Int64N(values)
		if kind < (1+swaps)/2 {
			b.Read(key, history.IntValue(now))
		}
		if kind < swaps || kind >= (1+swaps)/2 {
			b.Write(key, history.IntValue(next))
			now = next
		}
		head := history.NewTxnHead()
		head.ID, head.Session, head.HasID, head.HasSess = int64(i+1), o.client, true, true
		head.Start, head.End = o.start, o.end
		b.EndTxn(head)
	}
	return b.Build()
}
