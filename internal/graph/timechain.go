package graph

// TimeChain gives real-time order as edges over auxiliary nodes, for algorithms that must see edges
// (an incremental order, say). For n = len(rel) nodes it returns aux more, numbered n … n+aux−1, and
// at most 2n+aux edges: a path leads from u to v over auxiliary nodes alone iff dl(u) < rel(v).
//
// Merge the ends and the starts in time order, starts before ends at equal time, and cut the line
// into runs of ends followed by starts. A run is one auxiliary node: the nodes that end in it lead
// to it, it leads to the nodes that start in it and to the next run. Nodes released at [NoStart] or
// due at [NoEnd] take no part on that side.
//
// Source: errata B6, with one node a run in place of one an event.
// Cost:   two sorts (see [SortIndex]) and O(n).
func TimeChain(rel, dl []int64) (aux int, edges []Edge) {
	n := len(rel)
	starts, ends := SortIndex(rel), SortIndex(dl)
	for len(ends) > 0 && dl[ends[len(ends)-1]] == NoEnd {
		ends = ends[:len(ends)-1]
	}
	if len(ends) == 0 {
		return 0, nil
	}
	// What starts no later than the first end follows nothing.
	s := 0
	for s < n && rel[starts[s]] <= dl[ends[0]] {
		s++
	}
	edges = make([]Edge, 0, len(ends)+(n-s)+16)
	for e := 0; e < len(ends) && s < n; {
		run := int32(n + aux)
		if aux > 0 {
			edges = append(edges, Edge{run - 1, run})
		}
		aux++
		for ; e < len(ends) && dl[ends[e]] < rel[starts[s]]; e++ {
			edges = append(edges, Edge{ends[e], run})
		}
		for ; s < n && (e == len(ends) || rel[starts[s]] <= dl[ends[e]]); s++ {
			edges = append(edges, Edge{run, starts[s]})
		}
	}
	return aux, edges
}
