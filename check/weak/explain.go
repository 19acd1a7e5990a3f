package weak

import (
	"slices"

	"isovet/check/events"
	"isovet/evidence"
	"isovet/internal/graph"
	"isovet/level"
)

// missed returns the cycle that justifies a demanded order. A path makes d.from visible to the reader. If d.from came
// after the version read, an anti-dependency from the reader to it would close a cycle.
func (c *checker) missed(d demand) []evidence.Edge {
	v := c.v
	reader := v.Reader(d.read)
	e := edge(int32(reader), d.from, evidence.RW)
	if v.IsImplied(d.read) {
		e.Dep, e.Op = evidence.PRW, c.against(d.read, d.from)
	}
	e.Key, e.Ver = v.RKey[d.read], v.RVer(d.read)
	if d.to >= 0 {
		e.Writer = uint32(d.to)
	}
	return append([]evidence.Edge{e}, c.path(d.from, int32(reader))...)
}

func edge(u, v int32, dep evidence.Dep) evidence.Edge { return events.Bare(uint32(u), uint32(v), dep) }

// path explains why u is visible to t: by a read, by session order, or (at causal) by a shortest path of both.
func (c *checker) path(u, t int32) []evidence.Edge {
	if e, ok := c.hop(u, t); ok {
		return []evidence.Edge{e}
	}
	if c.reads == nil {
		c.reads, c.paths = graph.BuildFunc(c.n, c.known), graph.NewSearcher(c.n)
	}
	return c.hops(c.paths.ShortestPath(c.reads, u, t))
}

// hops turns a path of known edges into evidence. It joins consecutive steps along one session.
func (c *checker) hops(nodes []int32) []evidence.Edge {
	var out []evidence.Edge
	for i := 0; i+1 < len(nodes); i++ {
		e, ok := c.hop(nodes[i], nodes[i+1])
		if !ok {
			panic("weak: an edge without a reason")
		}
		if n := len(out); n > 0 && e.Dep == evidence.SO && out[n-1].Dep == evidence.SO {
			out[n-1].To = e.To
			continue
		}
		out = append(out, e)
	}
	return out
}

// hop returns the edge from u to t: the first read of t from u, or their session order. It prefers edges that do not
// depend on a picked writer, except at read-committed, where the first read matters.
func (c *checker) hop(u, t int32) (evidence.Edge, bool) {
	v := c.v
	read := func(picked bool) (evidence.Edge, bool) {
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			if c.src[r] == u && (picked || c.ambAt == nil || c.ambAt[r] == 0) {
				e := edge(u, t, evidence.WR)
				if v.IsImplied(r) {
					e.Dep, e.Op = evidence.PWR, v.ROp(r)
				}
				e.Key, e.Ver = v.RKey[r], v.RVer(r)
				return e, true
			}
		}
		return evidence.Edge{}, false
	}
	if e, ok := read(c.level == level.ReadCommitted); ok {
		return e, true
	}
	for p := c.prev[t]; p >= 0; p = c.prev[p] {
		if p == u {
			return edge(u, t, evidence.SO), true
		}
	}
	return read(true)
}

// searchWork bounds the work of the search for a cycle with the fewest edges.
const searchWork = 4 << 20

// explained returns the anomaly for a cycle of known and demanded edges through the given nodes. It has that cycle, and
// for each demanded order in it the cycle that justifies the order. If there is only one such order, its cycle is the
// better explanation and comes first.
func (c *checker) explained(nodes []int32) evidence.Anomaly {
	on := make(map[[2]int32]int)
	for i, u := range nodes {
		on[[2]int32{u, nodes[(i+1)%len(nodes)]}] = -1
	}
	for i, d := range c.demands {
		if at, ok := on[[2]int32{d.from, d.to}]; ok && at < 0 {
			on[[2]int32{d.from, d.to}] = i
		}
	}
	var main []evidence.Edge
	var reasons [][]evidence.Edge
	from := 0 // a cycle begins after a demanded order, so that steps of a session stay together
	for i, u := range nodes {
		v := nodes[(i+1)%len(nodes)]
		if _, ok := c.hop(u, v); !ok {
			from = i + 1
			break
		}
	}
	for i := range nodes {
		u, v := nodes[(from+i)%len(nodes)], nodes[(from+i+1)%len(nodes)]
		e, ok := c.hop(u, v)
		if !ok {
			e, ok = c.shown(u, v)
		}
		if !ok {
			d := c.demands[on[[2]int32{u, v}]]
			e = edge(u, v, evidence.WW)
			e.Key, e.Ver = c.v.RKey[d.read], c.v.RVer(d.read)
			reasons = append(reasons, c.missed(d))
		} else if n := len(main); n > 0 && e.Dep == main[n-1].Dep && e.Key == main[n-1].Key &&
			e.Dep != evidence.WR && e.Dep != evidence.PWR {
			e.From = main[n-1].From // steps along a session, or along a list, become one
			main = main[:n-1]
		}
		main = append(main, e)
	}
	if len(reasons) != 1 {
		return evidence.Anomaly{Cycle: main, Cycles: reasons}
	}
	if other := slices.IndexFunc(main, func(e evidence.Edge) bool { return e.Dep != evidence.WW }); len(main) == 2 &&
		other >= 0 &&
		(c.ambAt == nil || main[other].Dep == evidence.SO) {
		// The main cycle only says that one writer precedes the other, which is evident from a read or a session.
		return evidence.Anomaly{Cycle: reasons[0]}
	}
	return evidence.Anomaly{Cycle: reasons[0], Cycles: [][]evidence.Edge{main}}
}

// shown returns a ww edge from t to u, if the known version order of a key has one.
func (c *checker) shown(t, u int32) (evidence.Edge, bool) {
	v := c.v
	for a := v.WOff[t]; a < v.WOff[t+1] && c.o.Known.Rank != nil; a++ {
		for b := v.WOff[u]; b < v.WOff[u+1]; b++ {
			if v.WKey[a] == v.WKey[b] && c.rank(a) < c.rank(b) && c.rank(b) != none {
				e := edge(t, u, evidence.WW)
				e.Key, e.Ver = v.WKey[b], v.WVer[b]
				return e, true
			}
		}
	}
	return evidence.Edge{}, false
}

func (c *checker) rank(w uint32) uint32 { return c.o.Known.Rank[c.v.WVer[w]] }
