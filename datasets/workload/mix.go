package workload

import "math/rand/v2"

type mix struct {
	keys, ops int
	reads     uint64 // per cent
	dist      Dist
	// whole makes each transaction only read, only write, or write every key that it has read.
	whole bool
}

func newMix(p Params) (Workload, error) {
	if err := needKeys(p, 1); err != nil {
		return nil, err
	}
	w := &mix{keys: p.Keys, ops: p.Ops, reads: 50}
	switch p.Variant {
	case "uniform":
		w.dist = Uniform(p.Keys)
	case "cobra":
		w.dist, w.whole = Uniform(p.Keys), true
	case "hotspot", "duplicates":
		w.dist = Hotspot(p.Keys)
	case "blind-heavy", "reads-30":
		w.reads = 30
	case "reads-70":
		w.reads = 70
	case "read-heavy":
		w.reads = 90
	case "write-heavy":
		w.reads = 10
	}
	if w.dist == nil {
		w.dist = NewZipf(p.Keys, p.Zipf)
	}
	return w, nil
}

func (w *mix) Tables() []Table { return []Table{{Rows: w.keys}} }

func (w *mix) Client(_ int, rng *rand.Rand) Client { return &mixClient{w: w, rng: rng} }

type mixClient struct {
	w   *mix
	rng *rand.Rand
}

// Next draws the operations. A write is stored as the complement of its key. A transaction may use a key twice.
func (c *mixClient) Next(t *Txn) {
	t.Name = "mix"
	t.Args = t.Args[:0]
	if c.w.whole {
		c.wholeTxn(t)
		return
	}
	for range c.w.ops {
		k := c.w.dist.Draw(c.rng)
		if c.rng.Uint64N(100) >= c.w.reads {
			k = ^k
		}
		t.Args = append(t.Args, k)
	}
}

// wholeTxn draws a transaction of one kind. It has one operation less if the last one would be a read without its
// write.
func (c *mixClient) wholeTxn(t *Txn) {
	kind := c.rng.IntN(5)
	for range c.w.ops {
		switch k := c.w.dist.Draw(c.rng); {
		case kind == 0:
			t.Args = append(t.Args, k)
		case kind < 3:
			t.Args = append(t.Args, ^k)
		case len(t.Args)+2 <= max(c.w.ops, 2):
			t.Args = append(t.Args, k, ^k)
		}
	}
}

func (c *mixClient) Step(t *Txn) {
	if t.Stage > 0 {
		return
	}
	for _, k := range t.Args {
		if k < 0 {
			t.Write(Key(^k), 0)
		} else {
			t.Read(Key(k))
		}
	}
}
