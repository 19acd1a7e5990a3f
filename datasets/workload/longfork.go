package workload

import "math/rand/v2"

func newLongFork(p Params) (Workload, error) {
	return &longFork{keys: p.Keys}, needKeys(p, 2)
}

type longFork struct{ keys int }

func (w *longFork) Tables() []Table { return []Table{{Rows: w.keys}} }

func (w *longFork) Client(_ int, rng *rand.Rand) Client { return &longForkClient{w: w, rng: rng} }

type longForkClient struct {
	w   *longFork
	rng *rand.Rand
	set distinct
}

func (c *longForkClient) Next(t *Txn) {
	n := max(2*c.w.keys/3, 2)
	t.Name = "read"
	if c.rng.IntN(3) == 0 {
		t.Name, n = "write", 1
	}
	t.Args = c.set.draw(t.Args[:0], n, Uniform(c.w.keys), c.rng)
}

func (c *longForkClient) Step(t *Txn) {
	if t.Stage > 0 {
		return
	}
	for _, k := range t.Args {
		if t.Name == "write" {
			t.Write(Key(k), 0)
		} else {
			t.Read(Key(k))
		}
	}
}
