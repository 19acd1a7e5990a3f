package run

import (
	"isovet/closure"
	"isovet/polygraph"
)

// Pruned returns the closure for a round of pruning, as build computes it in at most most bytes (0: any). It returns
// nil if the known graph is cyclic, or with an error.
func (x *Run) Pruned(p *polygraph.Polygraph, most int64,
	build func(closure.Input, closure.Options) (*closure.Matrix, []closure.Step, error)) (closure.Index, error) {
	reach, _, err := build(closure.Input{N: p.N, Start: p.Start, End: p.End, Known: p.Graph(false)},
		closure.Options{MaxBytes: most, Stop: x.Ended})
	if reach == nil {
		return nil, err
	}
	return reach, err
}
