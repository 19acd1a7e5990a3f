package run

import (
	"isovet/closure"
	"isovet/history"
	"isovet/polygraph"
)

// Pruned is the closure that a round of pruning looks at: by sessions where that was asked for and they are few enough,
// else what build makes of it, in at most so many bytes (0: any). nil: the known graph is cyclic, or there is an error.
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

// ifAny keeps a nil pointer from being an interface that is not nil.
func ifAny[T closure.Matrix | closure.Sessions, P interface {
	*T
	closure.Index
}](reach P) closure.Index {
	if reach == nil {
		return nil
	}
	return reach
}

// sessionReach closes the known graph by its sessions (closure.Sessions), real time included: its auxiliary nodes are
// one chain more. reach is nil where the graph has a cycle, and, with acyclic, where that would take more than
// MaxClosure bytes: a transaction of unknown outcome, and where the level does not ask for session order any, is a
// chain of its own.
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

// SessionChains are paths of known edges that cover the nodes of a polygraph: what session order alone puts in a row.
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
