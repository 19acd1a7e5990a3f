package workload

type mix struct {
	ops   int
	reads uint64 // per cent
	dist  Dist
	// whole makes each transaction only read, only write, or write every key that it has read.
	whole bool
}

func newMix(p Params) (Workload, error) {
	if err := needKeys(p, 1); err != nil {
		return nil, err
	}
	w := &mix{ops: p.Ops, reads: 50}
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
	return &plain{table: Table{Rows: p.Keys}, next: w.next}, nil
}

// next draws the operations. A transaction may use a key twice.
func (w *mix) next(t *Txn, c *plainClient) {
	t.Name = "mix"
	t.Args = t.Args[:0]
	if w.whole {
		w.wholeTxn(t, c)
		return
	}
	for range w.ops {
		k := w.dist.Draw(c.rng)
		if c.rng.Uint64N(100) >= w.reads {
			k = ^k
		}
		t.Args = append(t.Args, k)
	}
}

// wholeTxn draws a transaction of one kind. It has one operation less if the last one would be a read without its
// write.
func (w *mix) wholeTxn(t *Txn, c *plainClient) {
	kind := c.rng.IntN(5)
	for range w.ops {
		switch k := w.dist.Draw(c.rng); {
		case kind == 0:
			t.Args = append(t.Args, k)
		case kind < 3:
			t.Args = append(t.Args, ^k)
		case len(t.Args)+2 <= max(w.ops, 2):
			t.Args = append(t.Args, k, ^k)
		}
	}
}
