package explain

import (
	"context"

	"isovet/check/prepass"
	"isovet/closure"
	"isovet/encode"
	"isovet/evidence"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/polygraph"
	"isovet/solver"
)

// Item is the Refuter of the polygraph checkers, for views without ambiguity at the serializable levels: a pruned
// polygraph of all writer pairs and predicate constraints, and a lazy search for cycles in the rest.
func Item(ctx context.Context, v *prepass.View, l level.Level, skew int64) ([][]evidence.Edge, error) {
	p := polygraph.New(v, l, polygraph.Options{RealTime: l.RealTime(), Skew: skew, Relaxed: true})
	cycles, err := item(ctx, p)
	if err != nil || len(cycles) == 0 {
		return nil, err
	}
	return slice.Map(p.Reasons(cycles), p.EvidenceCycle), nil
}

func item(ctx context.Context, p *polygraph.Polygraph) ([][]polygraph.Edge, error) {
	if c := p.KnownCycle(); c != nil {
		return [][]polygraph.Edge{c}, nil
	}
	p.AllPairs()
	p.Predicates(0)
	if c := p.Baseless(); c != nil {
		return p.ConflictCycles(c), nil
	}
	reach, _, err := closure.New(closure.KindPurdomPlus,
		closure.Input{N: p.N, Start: p.Start, End: p.End, Known: p.Graph(true)}, closure.Options{Stragglers: -1})
	if err != nil {
		return nil, err
	}
	conflict, err := p.Prune(ctx, reach)
	if err != nil {
		return nil, err
	}
	if conflict != nil {
		return p.ConflictCycles(conflict), nil
	}
	if len(p.Choices) == 0 && p.OpenBased() == 0 {
		return nil, nil
	}
	a := encode.Lazy(ctx, encode.Vbox(p), solver.New(solver.Options{}))
	switch a.Status {
	case solver.Unsat:
		return a.Cycles, nil
	case solver.Sat:
		return nil, nil
	}
	return nil, context.Cause(ctx)
}
