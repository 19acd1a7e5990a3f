// Package closure answers whether one transaction must precede another, in a graph of known edges
// and real-time order that grows edge by edge.
//
// # Problem
//
// Nodes are dense int32 ids with a window [start, end] each. Node u precedes v in real time iff
// end(u) + skew < start(v), strictly: touching windows overlap. The graph is the union of these
// time edges, the known edges of the [Input] and the edges added later. Reachability includes
// u = v. A graph with a cycle has no closure: constructors hand the cycle out, AddEdge refuses.
//
// # Three families
//
// [Matrix] keeps one bit for every pair of nodes, in rows by node id. It is built by [Warshall],
// [Purdom] or [Italiano] and is here to be compared with: n²/8 bytes.
//
// [Compact] keeps bits only where windows leave the answer open. Nodes are renamed by start; the
// new name is the rank. Row u has bits for the ranks lo(u) ≤ x < hi(u) only:
//
//	x ≥ hi(u): u reaches x.        hi(u) = first rank that starts after the earliest end
//	                               of what u reaches by edges (u itself included)
//	x < lo(u): u does not reach x. lo(u) = first rank from which on some node ends at or after
//	                               the latest start of what reaches u by edges
//
// Both follow from the time lemma (graph.TimeBounds): u reaches x iff it does so by known and added
// edges alone, or earliest end below u < latest start above x. Rows start at a word boundary of the
// rank space, so merging rows is OR without shifts. It is built by [PurdomPlus] (all edges at once),
// [ItalianoPlus] (edge by edge) or, to be compared with, [Algorithm1] (as Vbox prints it).
//
// [Sessions] is for graphs without times that few chains cover, such as sessions: what reaches a node
// is one number a chain.
//
// # Why not one
//
// Each representation is what its users are about, and none does another's work:
//
//   - Cobra and Viper are defined with the full closure, whose cost is what [Compact] is measured
//     against. It could not be a [Compact] of windows that are never closed: then the two rows of
//     bounds, the stragglers and the renaming would be measured with it. What can be shared is: the
//     input and its cycles, time edges, added edges, paths, undo, integrity checks.
//   - [Compact] without times has no windows to leave bits out of, and is a [Matrix] with two bounds a
//     row: 1.2 GB for 100,000 nodes. [Sessions] takes 8 bytes a node and chain, 40 MB for 50 sessions,
//     but has more than a bit a pair as soon as there are more chains than a 64th of the nodes, and
//     with times it would need real time as edges.
//   - solver/acyclic.Window and Reach have windows too, but of topological ranks, which say only what
//     is not reached: beyond a window's end nothing holds by itself, as it does by the time lemma
//     here. Their rows are what a theory watches to propagate guards, columns beside rows, and they
//     import no closure.
//
// # Stragglers
//
// One transaction open through the whole run would push lo of every other row down to itself. So the
// few longest ones, stragglers, leave the start order: they get ranks 0 … B−1, below every window,
// their own wide row, and a column that says who reaches them. All other rows stay narrow, and stay
// exact, because a merge through a straggler's row still lands inside the window of the row merged
// into. B is chosen by counting the words each choice would take (stragglers.go).
//
// # Growth and undo
//
// An added edge i→j merges row j into the row of each u that reaches i and not j; those u lie between
// lo(j) and min(hi(i), hi(j)). Each changed word goes to a trail with its old value; undoing restores
// them last in first out. Paths are found on demand by a search kept to nodes that lie between the
// two ends, so nothing is stored per pair for them.
//
// # Files
//
//   - closure.go: interfaces, input, options, [New]
//   - problem.go: validation, time edges, cycles of the input
//   - edges.go: added edges; path.go: explanations
//   - matrix.go, warshall.go, purdom.go, italiano.go: full matrices
//   - compact.go, stragglers.go, purdomplus.go, italianoplus.go: the compact closure
//   - sessions.go: the closure of a graph that chains cover, for histories without times
//
// Source: Vbox (arXiv:2503.05163) §4.4, with the corrections listed at [PurdomPlus] and
// [ItalianoPlus].
//
// Experimental: this package may still change.
package closure
