package closure

import (
	"fmt"
	"math"

	"isovet/internal/graph"
	"isovet/internal/room"
)

// problem is a validated input in the form that all constructors use.
type problem struct {
	n     int
	start []int64
	due   []int64 // end + skew: u precedes v in real time iff due[u] < start[v]
	known *graph.CSR
}

func prepare(in Input) (*problem, error) {
	if in.N < 0 || in.N > math.MaxInt32-64 {
		return nil, fmt.Errorf("closure: %d nodes", in.N)
	}
	p := &problem{n: in.N, start: in.Start, due: in.End, known: in.Known}
	if in.Start == nil && in.End == nil {
		p.start, p.due = make([]int64, in.N), make([]int64, in.N)
		for v := range p.start {
			p.start[v], p.due[v] = graph.NoStart, graph.NoEnd
		}
	}
	if len(p.start) != in.N || len(p.due) != in.N {
		return nil, fmt.Errorf("closure: %d nodes have %d starts and %d ends; expected one of each for a node", in.N,
			len(p.start), len(p.due))
	}
	if in.Skew < 0 {
		return nil, fmt.Errorf("closure: negative skew %d", in.Skew)
	}
	if in.Skew > 0 && in.End != nil {
		p.due = make([]int64, in.N)
		for v, e := range in.End {
			p.due[v] = graph.NoEnd
			if e < math.MaxInt64-in.Skew {
				p.due[v] = e + in.Skew
			}
		}
	}
	if p.known == nil {
		p.known = &graph.CSR{Off: make([]uint32, in.N+1)}
	}
	if p.known.N() != in.N {
		return nil, fmt.Errorf("closure: %d nodes, but the known graph has %d", in.N, p.known.N())
	}
	for u := range int32(in.N) {
		for _, v := range p.known.Succ(u) {
			if uint32(v) >= uint32(in.N) {
				return nil, fmt.Errorf("closure: known edge %d → %d leaves the graph of %d nodes", u, v, in.N)
			}
		}
	}
	return p, nil
}

// ordered is prepare with a topological order, or the cycle that excludes any.
func ordered(in Input) (p *problem, topo []int32, cycle []Step, err error) {
	if p, err = prepare(in); err == nil {
		topo, cycle = p.acyclic()
	}
	return p, topo, cycle, err
}

// before reports whether u precedes v in real time.
func (p *problem) before(u, v int32) bool { return p.due[u] < p.start[v] }

// order returns a topological order of the known graph, or a cycle of it.
func (p *problem) order() (topo []int32, cycle []Step) {
	if topo, ok := graph.Topological(p.known); ok {
		return topo, nil
	}
	// Look at a few million edges for a short cycle; after that take any.
	nodes := graph.ShortCycleIn(p.known, nil, 1<<22)
	for i, u := range nodes {
		cycle = append(cycle, Step{From: u, To: nodes[(i+1)%len(nodes)], Kind: Known})
	}
	return nil, cycle
}

// timeCycle returns a cycle of known edges and one time edge, or nil if there is none.
func (p *problem) timeCycle(topo []int32) (cycle []Step) {
	nodes, ok := graph.Windows(p.known, topo, p.start, p.due)
	if ok {
		return nil
	}
	for i := 1; i < len(nodes); i++ {
		cycle = append(cycle, Step{From: nodes[i-1], To: nodes[i], Kind: Known})
	}
	return append(cycle, Step{From: nodes[len(nodes)-1], To: nodes[0], Kind: Time})
}

// acyclic returns a topological order of the known graph, or a cycle of known edges and real-time order.
func (p *problem) acyclic() (topo []int32, cycle []Step) {
	if topo, cycle = p.order(); cycle == nil {
		cycle = p.timeCycle(topo)
	}
	return topo, cycle
}

// checkSize returns an error if a closure needs more bytes than the limit or than the memory still available.
func checkSize(bytes int64, opt Options) error {
	if opt.MaxBytes > 0 && bytes > opt.MaxBytes {
		return fmt.Errorf("%w: needs %d bytes, limit %d", ErrTooLarge, bytes, opt.MaxBytes)
	}
	if bytes > 1<<26 { // smaller ones always fit
		if err := room.For(float64(bytes)); err != nil {
			return fmt.Errorf("%w: %w", ErrTooLarge, err)
		}
	}
	return nil
}
