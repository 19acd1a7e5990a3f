package polygraph

import (
	"slices"
	"sort"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/internal/slice"
)

// openBase separates the By of guarded edges from the other reasons: By = openBase − index.
const openBase int32 = -16

// OpenBy returns the By of an edge that holds only if an open choice goes one way; i is the caller's index.
func OpenBy(i int) int32 { return openBase - int32(i) }

// OpenIndex returns the index behind an OpenBy.
func OpenIndex(by int32) (i int, ok bool) { return int(openBase - by), by <= openBase }

// Finder finds paths in a known graph with extra edges, real time included, for explanations. It does not see edges
// that are added later.
type Finder struct {
	p     *Polygraph
	edges []Edge
	g     *graph.CSR
	at    []uint32 // g's slot → edges

	epoch  uint32
	mark   []uint32
	parent []int32 // edge, or -1 - node for a hop through time
	queue  []int32
}

// NewFinder indexes the known graph and the extra edges.
func (p *Polygraph) NewFinder(extra []Edge) *Finder {
	f := &Finder{p: p, edges: p.Known, mark: make([]uint32, p.N), parent: make([]int32, p.N)}
	if len(extra) > 0 {
		f.edges = append(append(make([]Edge, 0, len(p.Known)+len(extra)), p.Known...), extra...)
	}
	b := graph.NewBuilder(p.N)
	for _, e := range f.edges {
		b.Count(e.From)
	}
	b.Fill()
	f.at = make([]uint32, len(f.edges))
	for i, e := range f.edges {
		f.at[b.Add(e.From, e.To)] = uint32(i)
	}
	f.g = b.CSR()
	return f
}

// Path returns a shortest path from u to v over edges for which use is true (nil: all), real time counting as an edge;
// false if there is none. A path from a node to itself is a cycle.
//
// Path does not follow time to nodes that begin after v's end. So if the edges contradict time, it may miss a path, or
// return one that is not the shortest. It still finds a cycle if there is one: a node y that begins after v's end and
// leads to v closes a shorter cycle, with real time from v to y, and a shortest cycle has no such y (TestPaths). Cost:
// linear in the part of the graph that begins no later than v ends.
func (f *Finder) Path(u, v int32, use func(*Edge) bool) ([]Edge, bool) {
	p := f.p
	f.epoch++
	f.queue = append(f.queue[:0], u)
	// Nodes lowest:… of the nodes sorted by start have been reached through time.
	lowest := int32(p.N)
	if p.Start != nil {
		// In a graph that agrees with time, nodes that begin after v's end do not lead to v: skip them.
		lowest = int32(sort.Search(p.N, func(i int) bool { return p.Start[i] > p.End[v] }))
	}
	visit := func(x, by int32) bool {
		if f.mark[x] == f.epoch {
			return false
		}
		f.mark[x] = f.epoch
		f.parent[x] = by
		f.queue = append(f.queue, x)
		return x == v
	}
	for i := 0; i < len(f.queue); i++ {
		x := f.queue[i]
		for s := f.g.Off[x]; s < f.g.Off[x+1]; s++ {
			if e := &f.edges[f.at[s]]; (use == nil || use(e)) && visit(e.To, int32(f.at[s])) {
				return f.unwind(u, v), true
			}
		}
		if p.Start == nil {
			continue
		}
		if p.End[x] < p.Start[v] && visit(v, -1-x) {
			return f.unwind(u, v), true
		}
		for lowest > 0 && p.End[x] < p.Start[lowest-1] {
			lowest--
			if visit(lowest, -1-x) {
				return f.unwind(u, v), true
			}
		}
	}
	return nil, false
}

func (f *Finder) unwind(u, v int32) []Edge {
	var path []Edge
	for x := v; ; {
		if by := f.parent[x]; by >= 0 {
			path = append(path, f.edges[by])
			x = f.edges[by].From
		} else {
			path = append(path, Edge{From: -1 - by, To: x, W: none, Dep: evidence.RT, By: ByHistory})
			x = -1 - by
		}
		if x == u {
			break
		}
	}
	slices.Reverse(path)
	return path
}

// KnownCycle returns a short cycle of the known graph, real time included, or nil. Cost: linear, and a search.
func (p *Polygraph) KnownCycle() []Edge {
	g := p.Graph(false)
	topo, ok := graph.Topological(g)
	if !ok {
		nodes := graph.FindCycle(g)
		best, _ := p.NewFinder(nil).Path(nodes[0], nodes[0], nil)
		return best
	}
	if p.Start == nil {
		return nil
	}
	path, ok := graph.Windows(g, topo, p.Start, p.End)
	if ok {
		return nil
	}
	cycle, _ := p.NewFinder(nil).Path(path[0], path[0], nil)
	return cycle
}

// Reasons completes a set of cycles to a proof. For every order of writes that a cycle assumes and that pruning or time
// settled, it adds the cycle that the opposite order closes. For every predicate operation whose base a cycle assumes,
// it adds the cycles that exclude its other options, even if its constraint is still open. It does the same for the
// added cycles. Read as clauses over orders, the result assumes only the orders of open choices.
func (p *Polygraph) Reasons(cycles [][]Edge) [][]Edge {
	var f *Finder
	finder := func() *Finder {
		if f == nil {
			f = p.NewFinder(nil)
		}
		return f
	}
	settled := make(map[int32]bool)
	timed := make(map[[2]int32]bool)
	based := make(map[[2]int32]bool)
	dropped := make(map[int32]bool) // predicate constraint → its reasons are in
	var pairs map[[2]uint32]int32
	out := cycles
	choice := func(by int32) {
		if settled[by] {
			return
		}
		settled[by] = true
		bad := p.Settled[by].Bad
		path, ok := finder().Path(bad.To, bad.From, func(x *Edge) bool { return x.By < by })
		if !ok {
			panic("polygraph: a settled choice has no reason")
		}
		bad.By = ByHistory
		out = append(out, append([]Edge{bad}, path...))
	}
	for i := 0; i < len(out); i++ {
		for _, e := range out[i] {
			if e.Dep == evidence.PWR || e.Dep == evidence.PRW {
				if of := p.Options[e.W].Of; !dropped[of] {
					dropped[of] = true
					out = append(out, p.dropped(finder(), &p.Based[of])...)
				}
			}
			switch {
			case e.By >= 0 && p.Settled[e.By].Based > 0:
				if at := [2]int32{e.By, e.To}; !based[at] {
					based[at] = true
					out = append(out, p.baseReasons(finder(), e)...)
				}
			case e.By >= 0:
				choice(e.By)
			case e.Dep == evidence.PRW:
				// The order of versions that an option assumes may be settled.
				if pairs == nil {
					pairs = p.settledPairs()
				}
				if w, ok := p.target(e); ok {
					if by, ok := pairs[[2]uint32{p.Options[e.W].W, w}]; ok {
						choice(by)
					}
				}
			case e.By == ByTime:
				a := p.WriteNode(e.W)
				if timed[[2]int32{a, e.To}] {
					continue
				}
				timed[[2]int32{a, e.To}] = true
				out = append(out, []Edge{
					{From: e.To, To: p.BeginNode(a), W: e.W, Dep: evidence.WW, By: ByHistory},
					{From: a, To: p.BeginNode(e.To), W: none, Dep: evidence.RT, By: ByHistory},
				})
			}
		}
	}
	return out
}

// ConflictCycles returns the two cycles of a conflict, one for each order of its writes.
func (p *Polygraph) ConflictCycles(c *Conflict) [][]Edge {
	f := p.NewFinder(nil)
	var out [][]Edge
	if c.Based != nil {
		return p.baseConflict(f, c.Based)
	}
	for _, e := range []Edge{c.Either, c.Or} {
		path, ok := f.Path(e.To, e.From, nil)
		if !ok {
			panic("polygraph: a conflict has no cycle")
		}
		e.By = ByHistory
		out = append(out, append([]Edge{e}, path...))
	}
	return out
}

// Evidence converts an edge into an edge of evidence.
func (p *Polygraph) Evidence(e Edge) evidence.Edge {
	v := p.V
	out := evidence.Edge{From: p.Txn[e.From], To: p.Txn[e.To], Key: history.None, Ver: history.None,
		Writer: history.None, Dep: e.Dep}
	if e.W == none {
		return out
	}
	w := e.W
	if e.Dep == evidence.PWR || e.Dep == evidence.PRW {
		w, out.Op = p.Options[e.W].W, p.Based[p.Options[e.W].Of].Op
	}
	out.Key, out.Ver = v.WKey[w], v.WVer[w]
	if e.Dep == evidence.PRW {
		out.Writer = v.WTxn[w]
	}
	if e.Dep == evidence.RW {
		out.Writer = v.WTxn[e.W]
	}
	return out
}

// EvidenceCycle converts a cycle into a cycle of evidence.
func (p *Polygraph) EvidenceCycle(cycle []Edge) []evidence.Edge {
	out := make([]evidence.Edge, 0, len(cycle))
	for _, e := range cycle {
		if e.By != ByInner {
			out = append(out, p.Evidence(e))
		}
	}
	return out
}

// Reached returns those of the given nodes, other than u, that u reaches, real time included.
// Cost: linear in what u reaches.
func (f *Finder) Reached(u int32, among []int32) []int32 {
	p := f.p
	f.epoch++
	f.queue = append(f.queue[:0], u)
	f.mark[u] = f.epoch
	lowest := int32(p.N)
	for i := 0; i < len(f.queue); i++ {
		x := f.queue[i]
		for _, y := range f.g.Succ(x) {
			if f.mark[y] != f.epoch {
				f.mark[y] = f.epoch
				f.queue = append(f.queue, y)
			}
		}
		for p.Start != nil && lowest > 0 && p.End[x] < p.Start[lowest-1] {
			lowest--
			if f.mark[lowest] != f.epoch {
				f.mark[lowest] = f.epoch
				f.queue = append(f.queue, lowest)
			}
		}
	}
	return slice.Filter(among, func(v int32) bool { return v != u && f.mark[v] == f.epoch })
}
