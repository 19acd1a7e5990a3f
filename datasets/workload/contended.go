package workload

import "math/rand/v2"

func newContended(p Params) (Workload, error) {
	return &contended{keys: p.Keys, ops: p.Ops}, needKeys(p, p.Ops)
}

type contended struct{ keys, ops int }

func (w *contended) Tables() []Table { return []Table{{Rows: w.keys}} }

func (w *contended) Client(_ int, rng *rand.Rand) Client { return &contendedClient{w: w, rng: rng} }

type contendedClient struct {
	w   *contended
	rng *rand.Rand
	set distinct
}

func (c *contendedClient) Next(t *Txn) {
	t.Name = "contended"
	t.Args = c.set.draw(t.Args[:0], c.w.ops, Uniform(c.w.keys), c.rng)
}

func (c *contendedClient) Step(t *Txn) {
	if t.Stage > 0 {
		return
	}
	reads := max(len(t.Args)/5, 1)
	for i, k := range t.Args {
		if i < reads {
			t.Read(Key(k))
		} else {
			t.Write(Key(k), 0)
		}
	}
}
