package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"isovet/encode"
	"isovet/evidence"
	"isovet/history"
	"isovet/solver"
)

// polysi is PolySI: a polygraph of transactions, and snapshot isolation as the acyclicity of the graph that it induces, each
// dependency alone and each followed by an anti-dependency.
type polysi struct{}

func (polysi) Info() Info {
	return Info{
		Name: "polysi", Paper: "PolySI", Levels: snapshotLevels, Solvers: inducedSolvers(), Partial: true,
		About: "generalized polygraph and its induced graph; for comparison, up to a few thousand transactions",
	}
}

// inducedSolvers are those that keep a problem's own edges acyclic: the eager ones write the polygraph's choices down anew.
func inducedSolvers() []string {
	var names []string
	for _, s := range Solvers() {
		if s.Theory != "eager" {
			names = append(names, s.Name)
		}
	}
	return names
}

// maxInduced bounds the edges of the induced graph.
const maxInduced = 20_000_000

// Check induces, from the known edges and from what each choice may bring, the edges of (SO ∪ WR ∪ WW);RW?, those that rest on
// choices guarded by a variable that both parts imply.
//
// Source:  [PolySI] §4: generalized constraints of both orders of two writers with their readers, pruning by reachability in the
// induced known graph, encoding.
// Differs: constraints are between chains of read-modify-writes (combining); pruning is done on the graph of begins and commits,
// which has a cycle iff the induced graph has; isovet's solvers stand in for MonoSAT; real time as pairs of transactions.
func (c polysi) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	back, err := solverByName(o.Solver)
	if err == nil && !slices.Contains(inducedSolvers(), back.Name) {
		err = fmt.Errorf("polysi cannot use solver %s; expected one of %s", back.Name, strings.Join(inducedSolvers(), ", "))
	}
	if err != nil {
		return nil, err
	}
	x, p, err := prunedSnapshot(ctx, "polysi", back.Name, h, o)
	if p == nil {
		return x.r, err
	}
	if len(p.Choices) == 0 {
		return x.r, x.holds(p, nil)
	}
	q, ok := encode.Induced(p, maxInduced)
	x.stage("encoding")
	if !ok {
		x.unknown("the induced graph would have more than %d edges", maxInduced)
		return x.r, nil
	}
	a := back.solve(ctx, q)
	x.solved(p, a)
	switch a.Status {
	case solver.Sat:
		return x.r, x.holds(p, encode.Deduced(p, a.Edges))
	case solver.Unsat:
		return x.r, x.refutedSnapshot()
	}
	x.unsolved(a)
	return x.r, nil
}
