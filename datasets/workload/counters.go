package workload

import "math/rand/v2"

func newCounters(p Params) (Workload, error) {
	w := &counters{keys: p.Keys, each: 1, lock: p.Variant == "locking"}
	if p.Variant == "pairs" {
		w.each = 2
	}
	return w, needKeys(p, countersRead)
}

// countersRead is the number of counters that a read-only transaction reads.
const countersRead = 4

type counters struct {
	keys, each int
	lock       bool
}

func (w *counters) Tables() []Table { return []Table{{Rows: w.keys, Counter: true}} }

func (w *counters) Client(_ int, rng *rand.Rand) Client { return &countersClient{w: w, rng: rng} }

type countersClient struct {
	w   *counters
	rng *rand.Rand
	set distinct
}

func (c *countersClient) Next(t *Txn) {
	t.Name = "count"
	n := c.w.each
	if c.rng.IntN(5) == 0 {
		t.Name, n = "read", countersRead
	}
	t.Args = c.set.draw(t.Args[:0], n, Uniform(c.w.keys), c.rng)
}

// Step handles one counter after the other: it reads it, and writes its value plus one.
func (c *countersClient) Step(t *Txn) {
	if t.Name == "read" {
		if t.Stage == 0 {
			for _, k := range t.Args {
				t.Read(Key(k))
			}
		}
		return
	}
	pair, write := t.Stage/2, t.Stage%2 == 1
	if pair >= len(t.Args) {
		return
	}
	k := Key(t.Args[pair])
	if write {
		t.Write(k, t.Last().Payload+1)
		return
	}
	t.Ops = append(t.Ops, Op{Key: k, ForUpdate: c.w.lock})
}
