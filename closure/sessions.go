package closure

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"isovet/internal/graph"
	"isovet/internal/safego"
)

// Sessions is the closure of a growing DAG that chains cover, such as sessions: each node is in one chain, and follows
// the chain's earlier nodes. Then what reaches a node is a prefix of each chain and what it reaches is a suffix, so
// that reachability is two numbers per node and chain, whatever the number of edges. It serves histories without times
// as [Compact] serves those with them: there time leaves a window undecided, here the sessions leave one cut per
// session.
//
//	u reaches x  ⇔  Before(x, chain(u)) > place(u)  ⇔  After(u, chain(x)) ≤ place(x)
//
// Edges need not be kept. For an added edge u→v, the nodes that v reaches are suffixes of the chains; in each, the new
// cuts are recorded from the first node on, up to the first node for which they are no news, since all after it know
// them too. Likewise in the other direction.
//
// Cost: 8 bytes per node and chain. Building: (nodes + edges) × chains. Adding an edge: chains, and chains again for
// each node of which a cut changes.
//
// Source: vector clocks, one component per process (Fidge; Mattern), in both directions; chain decomposition (Simon
// 1988).
type Sessions struct {
	chains int
	chain  []int32 // node → its chain
	place  []int32 // node → its place there
	nodes  []int32 // chain after chain
	off    []int32 // chain → where its nodes begin
	// before[x·chains+c] is how many nodes of chain c reach x. after[x·chains+c] is the first place in chain c that x
	// reaches, or c's length.
	before, after []int32
	touched       []bool // node → a cut changed since Rest
}

// SessionsSize returns the bytes that a closure of n nodes in so many chains takes.
func SessionsSize(n, chains int) int64 { return 8 * int64(n) * int64(chains) }

// NewSessions closes the graph of g's edges and of those from each node of a chain to its next. Every node must be in
// one chain. ok is false if the graph has a cycle. The error is about chains that break this rule, and about sizes
// beyond 2³¹ entries.
func NewSessions(g *graph.CSR, chains [][]int32) (s *Sessions, ok bool, err error) {
	n := g.N()
	s = &Sessions{chains: len(chains), place: make([]int32, n), off: []int32{0}, touched: make([]bool, n)}
	if int64(n)*int64(len(chains)) > math.MaxInt32 {
		return nil, false, fmt.Errorf("%w: %d nodes in %d chains", ErrTooLarge, n, len(chains))
	}
	s.chain = slices.Repeat([]int32{-1}, n)
	for c, in := range chains {
		for p, x := range in {
			if x < 0 || int(x) >= n || s.chain[x] >= 0 {
				return nil, false, fmt.Errorf("closure: node %d of chain %d is not one of %d, or occurs twice", x, c, n)
			}
			s.chain[x], s.place[x] = int32(c), int32(p)
		}
		s.nodes = append(s.nodes, in...)
		s.off = append(s.off, int32(len(s.nodes)))
	}
	if len(s.nodes) != n {
		return nil, false, errors.New("closure: a node belongs to no chain; expected each node in one")
	}
	s.before, s.after = make([]int32, n*s.chains), make([]int32, n*s.chains)
	return s, s.Rebuild(g), nil
}

// Rebuild closes another graph over the same chains, in place; edges added before are gone. Nodes of which a cut
// changed become touched. If the graph has a cycle, it returns false, and the closure cannot be used until it is
// rebuilt. It pays off for many edges at once: it costs (nodes + edges) × chains in each direction, which run in
// parallel.
func (s *Sessions) Rebuild(g *graph.CSR) bool {
	topo, ok := s.topological(g)
	if !ok {
		return false
	}
	n, k := len(s.chain), s.chains
	was := [2][]int32{slices.Clone(s.before), slices.Clone(s.after)}
	var both safego.Group
	both.Go(func() {
		clear(s.before)
		for _, u := range topo {
			row := s.before[int(u)*k : int(u)*k+k]
			row[s.chain[u]] = s.place[u] + 1
			for _, v := range g.Succ(u) {
				raise(s.before[int(v)*k:int(v)*k+k], row)
			}
			if v := s.next(u); v >= 0 {
				raise(s.before[int(v)*k:int(v)*k+k], row)
			}
		}
	})
	lengths := make([]int32, k)
	for c := range lengths {
		lengths[c] = s.off[c+1] - s.off[c]
	}
	for i := len(topo) - 1; i >= 0; i-- {
		u := topo[i]
		row := s.after[int(u)*k : int(u)*k+k]
		copy(row, lengths)
		for _, v := range g.Succ(u) {
			lower(row, s.after[int(v)*k:int(v)*k+k])
		}
		if v := s.next(u); v >= 0 {
			lower(row, s.after[int(v)*k:int(v)*k+k])
		}
		row[s.chain[u]] = s.place[u]
	}
	both.Wait()
	for x := range n {
		if !s.touched[x] {
			s.touched[x] = !slices.Equal(was[0][x*k:x*k+k], s.before[x*k:x*k+k]) || !slices.Equal(was[1][x*k:x*k+k],
				s.after[x*k:x*k+k])
		}
	}
	return true
}

// next returns the node after x in its chain, or -1.
func (s *Sessions) next(x int32) int32 {
	if at := s.off[s.chain[x]] + s.place[x] + 1; at < s.off[s.chain[x]+1] {
		return s.nodes[at]
	}
	return -1
}

// topological returns an order of the nodes that the graph and the chains allow.
func (s *Sessions) topological(g *graph.CSR) (order []int32, ok bool) {
	n := len(s.chain)
	waits := make([]int32, n)
	for _, v := range g.Adj {
		waits[v]++
	}
	order = make([]int32, 0, n)
	for x := range int32(n) {
		if s.place[x] > 0 {
			waits[x]++
		}
		if waits[x] == 0 {
			order = append(order, x)
		}
	}
	for head := 0; head < len(order); head++ {
		u := order[head]
		for _, v := range g.Succ(u) {
			if waits[v]--; waits[v] == 0 {
				order = append(order, v)
			}
		}
		if v := s.next(u); v >= 0 {
			if waits[v]--; waits[v] == 0 {
				order = append(order, v)
			}
		}
	}
	return order, len(order) == n
}

func raise(row, by []int32) {
	row = row[:len(by)]
	for i, x := range by {
		row[i] = max(row[i], x)
	}
}

func lower(row, by []int32) {
	row = row[:len(by)]
	for i, x := range by {
		row[i] = min(row[i], x)
	}
}

// Chain returns the chain of a node and its place there.
func (s *Sessions) Chain(x int32) (chain, place int32) { return s.chain[x], s.place[x] }

// At returns the node at a place of a chain.
func (s *Sessions) At(chain, place int32) int32 { return s.nodes[s.off[chain]+place] }

// Before returns, for each chain, how many of its nodes reach x, itself included. The slice is the closure's own.
func (s *Sessions) Before(x int32) []int32 {
	return s.before[int(x)*s.chains : int(x)*s.chains+s.chains]
}

// After returns, for each chain, the first place that x reaches, itself included, or the chain's length. The slice is
// the closure's own.
func (s *Sessions) After(x int32) []int32 {
	return s.after[int(x)*s.chains : int(x)*s.chains+s.chains]
}

// Reaches implements [Index].
func (s *Sessions) Reaches(u, v int32) bool {
	return s.before[int(v)*s.chains+int(s.chain[u])] > s.place[u]
}

// Middle guesses a node's place in time: the number of nodes that reach it minus the number that it reaches. It
// increases along every path.
func (s *Sessions) Middle(x int32) int64 {
	sum := int64(0)
	for c, b := range s.Before(x) {
		sum += int64(b) + int64(s.After(x)[c])
	}
	return sum
}

// Touched reports whether what reaches x, or what x reaches, changed since the last call of Rest.
func (s *Sessions) Touched(x int32) bool { return s.touched[x] }

// Rest clears what Touched reports.
func (s *Sessions) Rest() { clear(s.touched) }

// AddEdge adds u→v. If that would close a cycle, cycle is true and nothing changes. changed tells whether any pair
// became reachable.
func (s *Sessions) AddEdge(u, v int32) (changed, cycle bool) {
	if s.Reaches(v, u) {
		return false, true
	}
	if s.Reaches(u, v) {
		return false, false
	}
	from, to := s.Before(u), s.After(v)
	for c := range s.chains {
		in := s.nodes[s.off[c]:s.off[c+1]]
		for p := to[c]; p < int32(len(in)); p++ {
			if !s.raised(in[p], from) {
				break
			}
		}
		for p := from[c] - 1; p >= 0; p-- {
			if !s.lowered(in[p], to) {
				break
			}
		}
	}
	return true, false
}

// raised records that what reaches x's new predecessor reaches x; it returns false if that changes nothing.
func (s *Sessions) raised(x int32, from []int32) (changed bool) {
	row := s.Before(x)[:len(from)]
	for c, b := range from {
		if b > row[c] {
			row[c], changed = b, true
		}
	}
	if changed {
		s.touched[x] = true
	}
	return changed
}

// lowered does what raised does, in the other direction.
func (s *Sessions) lowered(x int32, to []int32) (changed bool) {
	row := s.After(x)[:len(to)]
	for c, a := range to {
		if a < row[c] {
			row[c], changed = a, true
		}
	}
	if changed {
		s.touched[x] = true
	}
	return changed
}
