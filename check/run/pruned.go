package run

import (
	"isovet/closure"
	"isovet/history"
	"isovet/polygraph"
)

// Pruned returns the closure for a round of pruning: by sessions if x.BySessions is set and they are few enough, else
// as build computes it, in at most most bytes (0: any). It returns nil if the known graph is cyclic, or with an error.
func (x *Run) Pruned(p *polygraph.Polygraph, most int64,
	build func(closure.Input, closure.Options) (*closure.Matrix, []closure.Step, error)) (closure.Index, error) {
	if x.BySessions {
		reach, acyclic, err := sessionReach(p)
		if err != nil {
			return nil, err
		}
		if reach != nil || !acyclic {
			return ifAny(reach), nil
		}
	}
	reach, _, err := build(closure.Input{N: p.N, Start: p.Start, End: p.End, Known: p.Graph(false)},
		closure.Options{MaxBytes: most, Stop: x.Ended})
	return ifAny(reach), err
}

// ifAny turns a nil pointer into a nil interface.
func ifAny[T closure.Matrix | closure.Sessions, P interface {
	*T
	closure.Index
}](reach P) closure.Index {
	if reach == nil {
		return nil
	}
	return reach
}

// sessionReach computes the closure of the known graph by sessions (closure.Sessions), with real time: its auxiliary
// nodes are one more chain. reach is nil if the graph has a cycle, and with acyclic set if it would take more than
// MaxClosure bytes. A transaction of unknown outcome is a chain of its own; without session order, each transaction is.
func sessionReach(p *polygraph.Polygraph) (reach *closure.Sessions, acyclic bool, err error) {
	g := p.FullGraph(nil)
	chains := SessionChains(p)
	if aux := g.N() - p.N; aux > 0 {
		chain := make([]int32, aux)
		for i := range chain {
			chain[i] = int32(p.N + i)
		}
		chains = append(chains, chain)
	}
	if closure.SessionsSize(g.N(), len(chains)) > int64(MaxClosure) {
		return nil, true, nil
	}
	if reach, acyclic, err = closure.NewSessions(g, chains); err != nil || !acyclic {
		return nil, false, err
	}
	return reach, true, nil
}

// SessionChains returns paths of known edges that cover the nodes of a polygraph: those of session order.
func SessionChains(p *polygraph.Polygraph) (chains [][]int32) {
	h := p.V.H
	add := func(to []int32, u int32) []int32 {
		if to = append(to, u); p.Split {
			to = append(to, p.CommitNode(u))
		}
		return to
	}
	for s := range h.NumSessions() {
		var in []int32
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			switch u := p.Node[t]; {
			case u < 0:
			case h.Txns.Status[t] == history.Unknown || !p.Level.Sessions():
				chains = append(chains, add(nil, u))
			default:
				in = add(in, u)
			}
		}
		if len(in) > 0 {
			chains = append(chains, in)
		}
	}
	return chains
}
