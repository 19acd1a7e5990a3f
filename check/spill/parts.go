package spill

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"isovet/check/spill/plan"
)

// Where more reads are out of order than can be held at once, the order is mended by parts: those up to a place, which
// is brought forward once there are none before it.

// first replays everything up to e.until, which it brings back until what is out of order there can be held.
func (e *engine) first(ctx context.Context) (t trouble, err error) {
	for {
		if t.misfits, err = e.replay(ctx, "replaying", nil); err == nil {
			t.sessions, err = e.sessions(ctx)
		}
		if !errors.Is(err, errTooMany) || !e.halve() {
			return t, err
		}
		e.progress(fmt.Sprintf("too many reads out of order at once: going on by parts of some %.0f transactions",
			e.part), 0, 0)
	}
}

// halve brings e.until back to the middle of what is left. false: that is too few transactions.
func (e *engine) halve() bool {
	d := e.density
	lo, _ := slices.BinarySearchFunc(d.at, e.mended, plan.Pos.Compare)
	hi, _ := slices.BinarySearchFunc(d.at, e.until, plan.Pos.Compare)
	if hi-lo < 2 {
		return false
	}
	e.until = d.at[(lo+hi)/2]
	e.part = float64(d.every * ((hi - lo) / 2))
	return true
}

// forward brings e.until forward. false: it is behind everything.
func (e *engine) forward() bool {
	if e.until == plan.Last {
		return false
	}
	e.mended, e.until = e.until, e.density.grow(plan.Span{From: e.until, To: e.until}, 2*e.part).To
	return true
}
