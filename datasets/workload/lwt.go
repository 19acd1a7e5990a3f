package workload

import "math/rand/v2"

func newLwt(p Params) (Workload, error) {
	return &lwt{keys: p.Keys}, needKeys(p, 1)
}

// lwt begins without rows: the first write of a register is an insert-if-absent.
type lwt struct{ keys int }

func (w *lwt) Tables() []Table { return []Table{{}} }

func (w *lwt) Client(session int, rng *rand.Rand) Client {
	return &lwtClient{w: w, rng: rng, count: int64(session) << 32, seen: make([]int64, w.keys)}
}

// lwtClient remembers the value that it last saw in each register; 0 means none. Payloads are its own.
type lwtClient struct {
	w     *lwt
	rng   *rand.Rand
	count int64
	seen  []int64
}

// Next draws the register, the value expected there, and the new value. A read has no new value.
func (c *lwtClient) Next(t *Txn) {
	k := c.rng.Int64N(int64(c.w.keys))
	t.Args = append(t.Args[:0], k, c.seen[k], 0)
	switch {
	case c.rng.IntN(5) == 0:
		t.Name = "read"
		return
	case c.seen[k] == 0:
		t.Name = "insert-if-absent"
	default:
		t.Name = "compare-and-set"
	}
	c.count++
	t.Args[2] = c.count
}

// Step compares under the row's lock, like a database that has compare-and-set.
func (c *lwtClient) Step(t *Txn) {
	k, old, new := t.Args[0], t.Args[1], t.Args[2]
	switch t.Stage {
	case 0:
		t.Ops = append(t.Ops, Op{Key: Key(k), ForUpdate: t.Name != "read"})
	case 1:
		c.seen[k] = t.Ops[0].Payload
		if new != 0 && t.Ops[0].Payload == old {
			t.Write(Key(k), new)
			c.seen[k] = new
		}
	}
}
