package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// blindWPred has rows (v1, v2) in [0, predValues)². An update gives each row of its range a new place, (a + b·pk) mod
// predValues, with random a and b. So throughout the run a range has the same number of rows on average, with a
// constant variance (three times the mean, because an update empties its range). If new values were close to each
// other, rows of a range would move together, until a few ranges had all rows.
type blindWPred struct {
	keys, ops int
	reads     uint64 // per cent
	width     int64  // of a range
	// sparse is for real databases, so that most transactions commit. Ranges of a single column, in order, lock rows
	// in about one order. A roomy index separates writers in databases that detect conflicts by page.
	sparse bool
}

const predValues = 1 << 30

func newBlindWPred(p Params) (Workload, error) {
	w := &blindWPred{keys: p.Keys, ops: p.Ops, reads: 50}
	rows := 10
	switch p.Variant {
	case "RH":
		w.reads = 80
	case "WH":
		w.reads = 20
	case "narrow":
		rows = 2
	case "sparse":
		rows, w.sparse = 2, true
	}
	if p.Keys < rows || p.Keys > predValues>>10 {
		return nil, fmt.Errorf("%d rows; expected %d to %d", p.Keys, rows, predValues>>10)
	}
	w.width = int64(rows) * predValues / int64(p.Keys)
	return w, nil
}

func (w *blindWPred) Tables() []Table {
	plan := AnyPlan
	if w.sparse {
		plan = ByIndex // who reads the whole table locks it
	}
	columns := []Column{{"v1", true}, {"v2", true}}
	return []Table{{Rows: w.keys, Roomy: w.sparse, Plan: plan, Columns: columns, Load: func(pk int64, row []int64) {
		for i := range row {
			row[i] = int64(scatter(2*uint64(pk)+uint64(i)) % predValues)
		}
	}}}
}

// scatter is a fixed permutation that looks random (the finalizer of SplitMix64).
func scatter(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (w *blindWPred) Client(_ int, rng *rand.Rand) Client { return &blindWPredClient{w: w, rng: rng} }

type blindWPredClient struct {
	w   *blindWPred
	rng *rand.Rand
	// lows has the lower ends of a transaction's ranges.
	lows []int64
}

// Next draws the column and the lower end of each range. For a write it also draws two additions and two factors.
func (c *blindWPredClient) Next(t *Txn) {
	t.Name = "predicate-write"
	if c.rng.Uint64N(100) < c.w.reads {
		t.Name = "predicate-read"
	}
	t.Args = t.Args[:0]
	for range c.w.ops {
		t.Args = append(t.Args, c.rng.Int64N(2), c.rng.Int64N(predValues-c.w.width+1),
			c.rng.Int64N(predValues), c.rng.Int64N(predValues)|1, c.rng.Int64N(predValues), c.rng.Int64N(predValues)|1)
	}
	if !c.w.sparse {
		return
	}
	c.lows = c.lows[:0]
	for i := 0; i < len(t.Args); i += predArgs {
		t.Args[i] = t.Args[0]
		c.lows = append(c.lows, t.Args[i+1])
	}
	slices.Sort(c.lows)
	for i, low := range c.lows {
		t.Args[i*predArgs+1] = low
	}
}

const predArgs = 6 // of an operation

func (c *blindWPredClient) Step(t *Txn) {
	if t.Stage > 0 {
		return
	}
	for a := t.Args; len(a) > 0; a = a[predArgs:] {
		in := Range{int(a[0]), a[1], a[1] + c.w.width}
		if t.Name == "predicate-read" {
			t.ReadWhere(0, in)
			continue
		}
		set := [2]Set{{Column: 0, Add: a[2], Mul: a[3], Mod: predValues}, {Column: 1, Add: a[4], Mul: a[5],
			Mod: predValues}}
		t.UpdateWhere(0, set[:], in)
	}
}
