package minitxn

import (
	"isovet/check/events"
	"isovet/evidence"
	"isovet/internal/graph"
	"isovet/level"
)

// maxWork bounds the search for the shortest cycle, in edges; past it, a short one is enough.
var maxWork = 1 << 22

// diverged returns the violation by two transactions that overwrote one version. At the serializable levels it is the
// cycle in which each read the version that the other overwrote. At the snapshot levels that cycle proves nothing;
// instead, whichever of the two versions came first, the writer of the other missed it.
func (d *dependencies) diverged(l level.Level) evidence.Anomaly {
	v, g := d.v, d.div
	key := v.WKey[g.read]
	ver := v.WVer[g.read]
	a, b := g.first, g.second
	if !l.Snapshot() {
		return evidence.Anomaly{Cycle: []evidence.Edge{d.anti(a, b, g.read, ver), d.anti(b, a, g.read, ver)}}
	}
	ww := func(from, to uint32) evidence.Edge {
		e := evidence.Edge{From: from, To: to, Dep: evidence.WW, Key: key, Ver: none, Writer: none}
		for w := v.WOff[to]; w < v.WOff[to+1]; w++ {
			if v.WKey[w] == key {
				e.Ver = v.WVer[w]
			}
		}
		return e
	}
	return evidence.Anomaly{Cycles: [][]evidence.Edge{
		{ww(a, b), d.anti(b, a, g.read, ver)},
		{ww(b, a), d.anti(a, b, g.read, ver)},
	}}
}

// violation returns the anomaly. It first looks for cycles of reads and sessions, and of real time with these, which
// order transactions directly. Only if there is none are anti-dependencies sound: the version that the reader saw is
// before the overwriter's.
func (d *dependencies) violation(l level.Level) evidence.Anomaly {
	for _, rw := range [...]bool{false, true} {
		if rw && d.div != nil {
			return d.diverged(l)
		}
		for _, so := range [...]bool{false, true} {
			want := func(why *evidence.Edge) bool {
				return why.From == none || why.Dep == evidence.WR || why.Dep == evidence.SO && so ||
					why.Dep == evidence.RW && rw
			}
			g := d.graph(want)
			topo, ok := graph.Topological(g)
			if !ok {
				return evidence.Anomaly{Cycle: d.reasons(d.cycle(g), want)}
			}
			if !d.timed || !so {
				continue
			}
			if path := d.late(g, topo); path != nil {
				c := d.reasons(path, want)
				return evidence.Anomaly{Cycle: append(c, events.Bare(d.Txn(path[len(path)-1]), d.Txn(path[0]),
					evidence.RT))}
			}
		}
	}
	panic("minitxn: a violation without a cycle")
}

// cycle returns a short cycle of a graph that has one. Its last node is the first one, repeated.
func (d *dependencies) cycle(g *graph.CSR) []int32 {
	var best []int32
	s := graph.NewSearcher(g.N())
	work := maxWork
	for _, in := range graph.Cyclic(g) {
		if work <= 0 {
			break
		}
		cycle, _ := s.ShortestCycle(g, in, work)
		work -= min(len(in)*len(in), maxWork/16)
		if cycle == nil { // the work was used up before a cycle was found
			cycle = s.ShortestCycleThrough(g, in[0])
		}
		if best == nil || len(cycle) < len(best) {
			best = cycle
		}
	}
	return append(best, best[0])
}

// graph builds the graph of the edges that want selects.
func (d *dependencies) graph(want func(why *evidence.Edge) bool) *graph.CSR {
	return graph.BuildFunc(d.Base, func(emit func(u, v int32)) {
		for t := range uint32(d.H.NumTxns()) {
			if !d.v.Counts[t] {
				continue
			}
			for node := d.Begin(t); node <= d.Commit(t); node++ {
				d.edges(node, func(to int32, why evidence.Edge) {
					if want(&why) {
						emit(node, to)
					}
				})
			}
		}
	})
}

// late returns a path of the graph, with few edges, whose last transaction ended before its first began; or nil.
func (d *dependencies) late(g *graph.CSR, order []int32) []int32 {
	n := d.Base
	late := make([]int64, n)
	source, hops := make([]int32, n), make([]int32, n)
	for node := range int32(n) {
		source[node] = node
		late[node], _ = d.H.Window(d.Txn(node), d.Skew)
	}
	best, bestHops := int32(-1), int32(0)
	for _, node := range order {
		_, until := d.H.Window(d.Txn(node), d.Skew)
		if d.v.Counts[d.Txn(node)] && late[node] > until && (!d.Split || node&1 == 1) &&
			(best < 0 || hops[node] < bestHops) {
			best, bestHops = node, hops[node]
		}
		for _, to := range g.Succ(node) {
			if late[to] < late[node] || late[to] == late[node] && hops[to] > hops[node]+1 {
				late[to], source[to], hops[to] = late[node], source[node], hops[node]+1
			}
		}
	}
	if best < 0 {
		return nil
	}
	first := d.Begin(d.Txn(source[best]))
	if first == best {
		return []int32{first}
	}
	return graph.ShortestPath(g, first, best)
}

// reasons returns the edges of a walk. If a step has several wanted reasons, it prefers a read or an overwritten read
// to session order. Steps from begin to commit have none.
func (d *dependencies) reasons(walk []int32, want func(why *evidence.Edge) bool) []evidence.Edge {
	var out []evidence.Edge
	for i, u := range walk[:len(walk)-1] {
		found := evidence.Edge{From: none}
		seen := false
		d.edges(u, func(to int32, why evidence.Edge) {
			if to == walk[i+1] && want(&why) && !(seen && found.Dep != evidence.SO) {
				found, seen = why, true
			}
		})
		if found.From != none {
			out = append(out, found)
		}
	}
	return out
}
