package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// blindW is Cobra's BlindW. No transaction both reads and writes, so that it can show neither write skew nor lost
// updates.
type blindW struct {
	keys, ops int
	readOnly  uint64 // per cent
	ranges    bool
}

const rangeKeys = 10

func newBlindW(p Params) (Workload, error) {
	w := &blindW{keys: p.Keys, ops: p.Ops}
	switch p.Variant {
	case "RH":
		w.readOnly = 80
	case "WR", "RW", "RW+":
		w.readOnly = 50
	case "WH":
		w.readOnly = 20
	}
	if w.ranges = p.Variant == "RW+"; w.ranges && p.Keys < rangeKeys {
		return nil, fmt.Errorf("%d keys are too few for ranges of %d keys", p.Keys, rangeKeys)
	}
	return w, needKeys(p, p.Ops)
}

func (w *blindW) Tables() []Table { return []Table{{Rows: w.keys}} }

func (w *blindW) Client(_ int, rng *rand.Rand) Client {
	return &blindWClient{w: w, rng: rng}
}

type blindWClient struct {
	w   *blindW
	rng *rand.Rand
	set distinct
}

// sortFrom is the number of operations from which on a transaction uses its keys in order, as bulk jobs do. Otherwise,
// under two-phase locking, a dozen transactions with a thousand random writes each would have endless deadlocks.
const sortFrom = 64

// Next draws the keys. A range is stored as the complement of its first key.
func (c *blindWClient) Next(t *Txn) {
	t.Name = "write"
	if c.rng.Uint64N(100) < c.w.readOnly {
		t.Name = "read"
	}
	t.Args = c.set.draw(t.Args[:0], c.w.ops, Uniform(c.w.keys), c.rng)
	if c.w.ops >= sortFrom {
		slices.Sort(t.Args)
	}
	if c.w.ranges && t.Name == "read" {
		for i := range t.Args {
			if c.rng.Uint64()&1 == 0 {
				t.Args[i] = ^min(t.Args[i], int64(c.w.keys-rangeKeys))
			}
		}
	}
}

func (c *blindWClient) Step(t *Txn) {
	if t.Stage > 0 {
		return
	}
	if t.Name == "write" {
		for _, k := range t.Args {
			t.Write(Key(k), 0)
		}
		return
	}
	for _, k := range t.Args {
		if k >= 0 {
			t.Read(Key(k))
			continue
		}
		for i := range int64(rangeKeys) {
			t.Read(Key(^k + i))
		}
	}
}
