package workload

import "math/bits"

// newListAppend makes a workload that appends to lists of limited length. Each client moves on to the next list after
// its share of a list's appends. Half of the operations use the newest list, half of the rest the list before, and so
// on.
func newListAppend(p Params) (Workload, error) {
	keys, appends := int64(p.Keys), 32
	switch p.Variant {
	case "long":
		appends = 128
	case "short":
		appends = 20
	}
	own := int64(max(appends/p.Sessions, 1))
	return &plain{table: Table{List: true}, next: func(t *Txn, c *plainClient) {
		t.Name = "append"
		t.Args = t.Args[:0]
		for range 1 + c.rng.IntN(p.Ops) {
			back := int64(bits.TrailingZeros64(c.rng.Uint64())) % keys
			k := c.appends/own + keys - 1 - back
			if c.rng.Uint64()&1 == 0 {
				c.appends++
				k = ^k
			}
			t.Args = append(t.Args, k)
		}
	}}, needKeys(p, 1)
}
