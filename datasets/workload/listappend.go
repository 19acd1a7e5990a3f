package workload

import (
	"math/bits"
	"math/rand/v2"
)

func newListAppend(p Params) (Workload, error) {
	w := &listAppend{keys: int64(p.Keys), ops: p.Ops, appends: 32}
	switch p.Variant {
	case "long":
		w.appends = 128
	case "short":
		w.appends = 20
	}
	w.own = max(w.appends/int64(p.Sessions), 1)
	return w, needKeys(p, 1)
}

// listAppend appends to lists of limited length. Each client moves on to the next list after its share of a list's
// appends.
type listAppend struct {
	keys, appends, own int64
	ops                int
}

func (w *listAppend) Tables() []Table { return []Table{{List: true}} }

func (w *listAppend) Client(_ int, rng *rand.Rand) Client { return &listAppendClient{w: w, rng: rng} }

type listAppendClient struct {
	w       *listAppend
	rng     *rand.Rand
	appends int64
}

// Next draws the operations. An append is stored as the complement of its list. Half of the operations use the newest
// list, half of the rest the list before, and so on.
func (c *listAppendClient) Next(t *Txn) {
	t.Name = "append"
	t.Args = t.Args[:0]
	for range 1 + c.rng.IntN(c.w.ops) {
		back := int64(bits.TrailingZeros64(c.rng.Uint64())) % c.w.keys
		k := c.appends/c.w.own + c.w.keys - 1 - back
		if c.rng.Uint64()&1 == 0 {
			c.appends++
			k = ^k
		}
		t.Args = append(t.Args, k)
	}
}

func (c *listAppendClient) Step(t *Txn) {
	if t.Stage > 0 {
		return
	}
	for _, k := range t.Args {
		if k < 0 {
			t.Append(Key(^k))
		} else {
			t.Read(Key(k))
		}
	}
}
