package graph

// TimeChain expresses real-time order by edges over auxiliary nodes, for algorithms that must see edges (such as an
// incremental order). For n = len(rel) nodes it returns the number aux of auxiliary nodes, numbered n … n+aux−1, and
// at most 2n+aux edges: there is a path from u to v over auxiliary nodes only iff dl(u) < rel(v).
//
// Merge the ends and the starts in time order, starts before ends at equal times, and cut the sequence into runs of
// ends followed by starts. Each run is one auxiliary node, with edges from the nodes that end in it, to the nodes that
// start in it, and to the next run. Starts at [NoStart] and ends at [NoEnd] are left out.
//
// Source: errata B6, with one node a run instead of one an event. Cost:   two sorts (see [SortIndex]) and O(n).
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
