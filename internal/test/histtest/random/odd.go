package random

import (
	"math"

	"isovet/history"
)

// Odd is Tiny with what few histories have and any may have: transactions without operations, operations twice, times
// at either end of int64 or far apart, intervals that all touch, ends and starts that are missing, sessions out of the
// order of the file.
func Odd(seed uint64, o Options) *history.History {
	g := newRandomRun(seed, o.or(5, 2, 3, 4))
	switch g.rng.IntN(4) {
	case 0:
		g.arbitrary()
	case 1:
		g.serial()
	default:
		g.snapshots()
	}
	if g.rng.IntN(3) > 0 {
		for range 1 + g.rng.IntN(3) {
			g.perturb()
		}
	}
	for range 1 + g.rng.IntN(4) {
		g.distort()
	}
	return g.build()
}

// distort makes one thing odd.
func (g *randomRun) distort() {
	n := g.rng.IntN(len(g.txns))
	t := &g.txns[n]
	switch g.rng.IntN(9) {
	case 0:
		t.ops = nil
	case 1: // once more, somewhere later
		if len(t.ops) > 0 {
			op := t.ops[g.rng.IntN(len(t.ops))]
			if !op.write && (op.pred == nil || !op.pred.write) {
				t.ops = append(t.ops, op)
			}
		}
	case 2: // the operations of two as one's
		u := &g.txns[g.rng.IntN(len(g.txns))]
		if t != u && g.lists == nil && len(t.ops)+len(u.ops) <= 8 {
			t.ops, u.ops = append(t.ops, u.ops...), nil
		}
	case 3: // all times at the beginning or the end of what there is
		lo, hi := g.span()
		by := math.MaxInt64 - hi
		if g.rng.IntN(2) == 0 {
			by = math.MinInt64 + 1 - lo
		}
		g.eachTime(func(x int64) int64 { return x + by })
	case 4: // the early ones at the beginning, the late ones at the end
		lo, hi := g.span()
		at := lo + g.rng.Int64N(max(hi/2-lo/2, 1))
		g.eachTime(func(x int64) int64 {
			if x <= at {
				return x - lo + math.MinInt64 + 1
			}
			return x - hi + math.MaxInt64
		})
	case 5: // some at one moment
		at := g.txns[g.rng.IntN(len(g.txns))].start
		g.eachTime(func(x int64) int64 {
			if at != history.NoTime && x/50 == at/50 {
				return at
			}
			return x
		})
	case 6:
		if g.o.Unknown || g.rng.IntN(4) == 0 {
			t.start = history.NoTime
		}
	case 7:
		if g.o.Unknown && g.rng.IntN(4) == 0 {
			t.end = history.NoTime
		}
	case 8: // file order is not session order
		u := g.rng.IntN(len(g.txns))
		g.txns[n], g.txns[u] = g.txns[u], g.txns[n]
	}
}

// span returns the first and the last time.
func (g *randomRun) span() (lo, hi int64) {
	lo, hi = math.MaxInt64, math.MinInt64+1
	g.eachTime(func(x int64) int64 {
		lo, hi = min(lo, x), max(hi, x)
		return x
	})
	if lo > hi {
		return 0, 0
	}
	return lo, hi
}

func (g *randomRun) eachTime(f func(int64) int64) {
	for i := range g.txns {
		for _, x := range []*int64{&g.txns[i].start, &g.txns[i].end} {
			if *x != history.NoTime {
				*x = f(*x)
			}
		}
	}
}
