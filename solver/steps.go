package solver

import (
	"context"
	"sync/atomic"
)

// meter counts the steps of all searches with a context, and ends the context once they are used up.
type meter struct {
	left   atomic.Int64
	cancel context.CancelFunc
	above  *meter // of the context that this one was made of; nil: none
}

type meterKey struct{}

// WithSteps returns a context that ends once so many steps are spent, and what ends it and says how many are left,
// which the caller calls when the searches are done. A step is a literal propagated, a decision, or a part of the graph
// that a theory looks at: some 50 ns. The same searches take the same steps on every machine and under any load, where
// one goroutine does them.
func WithSteps(ctx context.Context, steps int64) (stepping context.Context, end func() (left int64)) {
	above, _ := ctx.Value(meterKey{}).(*meter)
	ctx, cancel := context.WithCancel(ctx)
	m := &meter{cancel: cancel, above: above}
	m.left.Store(steps)
	if steps <= 0 {
		cancel()
	}
	return context.WithValue(ctx, meterKey{}, m), func() int64 {
		cancel()
		return m.left.Load()
	}
}

// HalfSteps is WithSteps of half of what a context has left, so that the rest remains; of one that has any number of
// steps it is that context.
func HalfSteps(ctx context.Context) (stepping context.Context, end func() (left int64)) {
	if m, _ := ctx.Value(meterKey{}).(*meter); m != nil {
		return WithSteps(ctx, m.left.Load()/2)
	}
	return ctx, func() int64 { return 0 }
}

// Spend takes steps of a context, if it has any.
func Spend(ctx context.Context, steps int64) {
	m, _ := ctx.Value(meterKey{}).(*meter)
	m.spend(steps)
}

func (m *meter) spend(steps int64) {
	for ; m != nil; m = m.above {
		if m.left.Add(-steps) <= 0 {
			m.cancel()
		}
	}
}

// Worker is what a [Theory] has besides if its work counts as steps.
type Worker interface {
	// Work is the number of steps so far.
	Work() int64
}

// steps are those of a solver.
type steps struct {
	meter  *meter // of the present Solve's context; nil: none
	theory Worker // nil: its work does not count
	paid   int64
}

// pay spends the steps since it was last called.
func (s *Solver) pay() {
	if s.steps.meter == nil {
		return
	}
	now := s.stats.Propagations + s.stats.Decisions
	if s.steps.theory != nil {
		now += s.steps.theory.Work()
	}
	s.steps.meter.spend(now - s.steps.paid)
	s.steps.paid = now
}

// ended reports whether the present Solve is to end.
func (s *Solver) ended() bool {
	s.pay()
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}
