package solver

import (
	"context"
	"sync/atomic"
)

// meter counts the steps of all searches with one context, and ends the context when its steps are used up.
type meter struct {
	left   atomic.Int64
	cancel context.CancelFunc
	above  *meter // of the context that this one was made of; nil: none
}

type meterKey struct{}

// WithSteps returns a context that ends after so many steps, and a function that ends it and returns the steps left, to
// be called when the searches are done. A step is a literal propagated, a decision, or a part of the graph that a
// theory looks at: some 50 ns. On one goroutine a search takes the same steps on every machine and under any load.
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

// HalfSteps is WithSteps with half of the steps that a context has left, so that the other half remains; if the context
// has no limit, it returns the context itself.
func HalfSteps(ctx context.Context) (stepping context.Context, end func() (left int64)) {
	if m, _ := ctx.Value(meterKey{}).(*meter); m != nil {
		return WithSteps(ctx, m.left.Load()/2)
	}
	return ctx, func() int64 { return 0 }
}

// Spend uses up steps of a context, if its steps are limited.
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

// Worker is implemented by a [Theory] whose work counts as steps.
type Worker interface {
	// Work returns the number of steps so far.
	Work() int64
}

// steps is the part of a solver that counts its steps.
type steps struct {
	meter  *meter // of the present Solve's context; nil: none
	theory Worker // nil: its work does not count
	paid   int64
}

// pay spends the steps taken since its last call.
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

// ended reports whether the present Solve must end.
func (s *Solver) ended() bool {
	s.pay()
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}
