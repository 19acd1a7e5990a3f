package workload

import "math/rand/v2"

func newRmw(p Params) (Workload, error) {
	w := &rmw{keys: p.Keys, pairs: max(p.Ops/2, 1), lock: p.Variant == "locking",
		alone: p.Variant == "autocommit", deep: p.Variant == "subtransactions"}
	if p.Variant == "counters" {
		w.pairs = 1
	}
	return w, needKeys(p, w.pairs)
}

type rmw struct {
	keys, pairs       int
	lock, alone, deep bool
}

func (w *rmw) Tables() []Table { return []Table{{Rows: w.keys}} }

func (w *rmw) Client(session int, rng *rand.Rand) Client {
	return &rmwClient{w: w, rng: rng, own: Key(w.keys + session)}
}

type rmwClient struct {
	w   *rmw
	rng *rand.Rand
	set distinct
	own Key // of this client alone
}

// subtransactions is more than the 64 that PostgreSQL keeps for a transaction in shared memory.
const subtransactions = 65

func (c *rmwClient) Next(t *Txn) {
	t.Name = "rmw"
	t.Args = c.set.draw(t.Args[:0], c.w.pairs, Uniform(c.w.keys), c.rng)
	if c.w.alone {
		kind := c.rng.IntN(3)
		t.Name, t.Access = []string{"rmw", "read", "write"}[kind], ReadWrite
		if kind > 0 {
			t.Access, t.Args = Alone, t.Args[:1]
		}
	}
	if c.w.deep && c.rng.IntN(4) == 0 {
		t.Name = "deep"
	}
}

// Step handles one key after the other: it reads it, and writes its payload plus one.
func (c *rmwClient) Step(t *Txn) {
	stage := t.Stage
	switch t.Name {
	case "read", "write":
		c.one(t)
		return
	case "deep":
		for i := range subtransactions {
			if stage == 0 {
				t.Savepoint()
				t.Write(c.own, int64(i))
			}
		}
		if stage--; stage < 0 {
			return
		}
	}
	pair, write := stage/2, stage%2 == 1
	if pair >= len(t.Args) {
		return
	}
	k := Key(t.Args[pair])
	if write {
		t.Write(k, t.Ops[len(t.Ops)-1].Payload+1)
		return
	}
	t.Ops = append(t.Ops, Op{Key: k, ForUpdate: c.w.lock})
}

// one runs a transaction of one operation.
func (c *rmwClient) one(t *Txn) {
	switch k := Key(t.Args[0]); {
	case t.Stage > 0:
	case t.Name == "read":
		t.Read(k)
	default:
		t.Write(k, 0)
	}
}
