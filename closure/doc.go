// Package closure answers whether one transaction must precede another, in a graph of known edges and real-time order
// to which edges are added one by one.
//
// # Problem
//
// Nodes are dense int32 ids with a window [start, end] each. Node u precedes v in real time iff end(u) + skew <
// start(v), strictly: touching windows overlap. The graph is the union of these time edges, the known edges of the
// [Input] and the edges added later. Reachability includes u = v. A graph with a cycle has no closure: constructors
// return the cycle, AddEdge refuses the edge.
//
// # Three families
//
// [Matrix] keeps one bit for every pair of nodes, in rows by node id: n²/8 bytes. It is built by [Warshall], [Purdom]
// or [Italiano], and exists for comparison.
//
// [Compact] keeps bits only for pairs that windows alone do not decide. Nodes are renumbered by start; the new number
// is the rank. Row u has bits only for the ranks lo(u) ≤ x < hi(u):
//
//	x ≥ hi(u): u reaches x.        hi(u) = first rank that starts after the earliest end
//	                               of what u reaches by edges (u itself included)
//	x < lo(u): u does not reach x. lo(u) = first rank from which on some node ends at or after
//	                               the latest start of what reaches u by edges
//
// Both follow from the time lemma (graph.TimeBounds): u reaches x iff it does so by known and added edges alone, or the
// earliest end of what u reaches by them is before the latest start of what reaches x by them. Rows start at a word
// boundary of the ranks, so merging rows is OR without shifts. It is built by [PurdomPlus] (all edges at once),
// [ItalianoPlus] (edge by edge) or, for comparison, [Algorithm1] (as Vbox prints it).
//
// [Sessions] is for graphs without times that few chains cover, such as sessions: what reaches a node is then described
// by one number per chain.
//
// # Why not one
//
// No family can replace another:
//
//   - Cobra and Viper are defined with the full closure, and [Compact] is measured against its cost. A [Compact] whose
//     windows never close would also measure the bounds of rows, the stragglers and the renumbering. The families do
//     share the input and its cycles, time edges, added edges, paths, undo and integrity checks.
//   - [Compact] without times has no windows that could save bits, and is a [Matrix] with two bounds per row: 1.2 GB
//     for 100,000 nodes. [Sessions] takes 8 bytes per node and chain, 40 MB for 50 sessions, but more than [Matrix]
//     once there are more chains than a 64th of the nodes; and with times it would need real time as edges.
//   - solver/acyclic.Window and Reach have windows too, but of topological ranks, which only say what is not reached:
//     beyond a window's end nothing is implied, unlike by the time lemma here. A theory watches their rows to propagate
//     guards, they have columns beside rows, and they do not import closure.
//
// # Stragglers
//
// One transaction open through the whole run would extend lo of every other row down to itself. So the few longest
// ones, the stragglers, leave the start order: they get the ranks 0 … B−1, below every window, a wide row of their own,
// and a column of the nodes that reach them. All other rows stay narrow, and stay exact, because a merge through a
// straggler's row still falls inside the window of the row merged into. B is chosen by counting the words that each
// choice would take (stragglers.go).
//
// # Growth and undo
//
// An added edge i→j merges row j into the row of each u that reaches i and not j; those u lie between lo(j) and
// min(hi(i), hi(j)). Each changed word is saved on a trail with its old value; undoing restores the words last in first
// out. Paths are found on demand, by a search limited to nodes that lie between the two ends, so nothing is stored per
// pair for them.
//
// # Files
//
//   - closure.go: interfaces, input, options, [New]
//   - problem.go: validation, time edges, cycles of the input
//   - edges.go: added edges; path.go: explanations
//   - matrix.go, warshall.go, purdom.go, italiano.go: full matrices
//   - compact.go, stragglers.go, purdomplus.go, italianoplus.go, algorithm1.go: the compact closure
//   - sessions.go: the closure of a graph that chains cover, for histories without times
//
// Source: Vbox (arXiv:2503.05163) §4.4, with the corrections listed at [PurdomPlus] and [ItalianoPlus].
//
// Experimental: this package may still change.
package closure
