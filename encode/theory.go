package encode

import (
	"context"

	"isovet/solver"
)

// WithClosure solves a problem with our solver and the compact closure as its theory.
// Source: [Vbox] §4.6.
func WithClosure(ctx context.Context, q *Problem) Answer {
	return Lazy(ctx, q, solver.New(solver.Options{}))
}

// WithOrder solves a problem with our solver and a Pearce–Kelly order as its theory.
func WithOrder(ctx context.Context, q *Problem) Answer {
	return Lazy(ctx, q, solver.New(solver.Options{}))
}
