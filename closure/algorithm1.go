package closure

import "slices"

// Algorithm1 builds the compact closure exactly as Vbox prints it, to be measured beside [PurdomPlus], which was
// developed from it: a depth-first search over edges and time successors, then for each transaction the sorted list of
// what it reaches up to a bound d, merged from those of its successors and written to its row.
//
// Source:  Vbox §4.4, Algorithm 1; lists as the text below it has them. Lines 14, 16 and 22 as errata V21 corrects
// them: as printed they lose and invent pairs (paper_test.go).
// Differs: rows are those of [Compact], with bits instead of bytes, and end at d instead of being filled up with ones;
// the minimum time-successor comes from one pass; the search keeps its own stack. There are no stragglers.
// Cost:    O(d²·n) for rows of d transactions, as the paper says, and 4 bytes for each pair in a list.
func Algorithm1(in Input, opt Options) (*Compact, []Step, error) {
	p, _, cycle, err := ordered(in)
	if err != nil || cycle != nil {
		return nil, cycle, err
	}
	t := p.timeline()
	opt.Stragglers = -1
	c, err := layOut(p, t, t.bounds(), opt) // rows are [l, r] of the paper
	if err != nil {
		return nil, nil, err
	}
	a := &printed{p: p, t: t, c: c, reached: make([][]int32, p.n)}
	a.search()
	if err := a.merge(opt); err != nil {
		return nil, nil, err
	}
	return c, nil, nil
}

// printed is the state of Algorithm1. Transactions are numbered by their places in start order, as in the paper.
type printed struct {
	p       *problem
	t       *timeline
	c       *Compact
	queue   []int32   // Q: everything that a place reaches precedes it
	reached [][]int32 // S, sorted
}

// edges returns the targets, as nodes, of the edges of E′ from place i.
func (a *printed) edges(i int32) []int32 { return a.p.known.Succ(a.t.nodes[i]) }

// after returns r_i + 1 of the paper: the first place that starts after i ended.
func (a *printed) after(i int32) int32 { return a.t.due[a.t.nodes[i]] }

// search is the paper's lines 1 to 4 and its function DFS.
func (a *printed) search() {
	n := int32(a.p.n)
	type frame struct {
		place, edge, next int32 // next of its edges; next of its time successors
	}
	var stack []frame
	visited := make([]bool, n)
	last := n - 1 // o_g
	visit := func(i int32) {
		visited[i] = true // on entry: there is no cycle (V10)
		stack = append(stack, frame{i, 0, a.after(i)})
	}
	for root := range n {
		if visited[root] {
			continue
		}
		visit(root)
	walk:
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			for to := a.edges(f.place); int(f.edge) < len(to); {
				j := a.t.place[to[f.edge]]
				if f.edge++; !visited[j] {
					visit(j)
					continue walk
				}
			}
			for f.next <= last { // line 22
				j := f.next
				if f.next++; !visited[j] {
					visit(j)
					continue walk
				}
			}
			a.queue = append(a.queue, f.place)
			last = min(last, a.after(f.place)-1)
			stack = stack[:len(stack)-1]
		}
	}
}

// merge is the paper's lines 5 to 17.
func (a *printed) merge(opt Options) error {
	n := int32(a.p.n)
	least := make([]int32, n+1) // place → r + 1 of the first to end from there on
	least[n] = n
	for i := n - 1; i >= 0; i-- {
		least[i] = min(least[i+1], a.after(i))
	}
	listed := int64(0)
	var merged, spare []int32
	for k, i := range a.queue {
		if k&1023 == 0 {
			if opt.Stop != nil && opt.Stop() {
				return ErrStopped
			}
			if err := checkSize(4*listed, opt); err != nil {
				return err
			}
		}
		merged = append(merged[:0], i)
		d := a.after(i) // d_i + 1
		union := func(j int32) {
			merged, spare = unite(spare[:0], merged, a.reached[j]), merged
			d = min(d, a.c.rows[j].hi)
		}
		until := least[d] // r of the minimum time-successor, + 1
		for _, v := range a.edges(i) {
			if j := a.t.place[v]; j < until {
				union(j)
			}
		}
		for j := a.after(i); j < until; j++ {
			union(j)
		}
		end, _ := slices.BinarySearch(merged, d) // line 14: the row ends at d
		a.reached[i] = slices.Clone(merged[:end])
		listed += int64(end)
		row := &a.c.rows[i]
		row.hi = d // lines 15 and 16
		for _, x := range merged[:end] {
			a.c.bits[row.base+int(x>>6)] |= 1 << (uint(x) & 63)
		}
	}
	return nil
}

// unite appends the union of two sorted lists.
func unite(out, x, y []int32) []int32 {
	for len(x) > 0 && len(y) > 0 {
		switch {
		case x[0] < y[0]:
			out, x = append(out, x[0]), x[1:]
		case x[0] > y[0]:
			out, y = append(out, y[0]), y[1:]
		default:
			out, x, y = append(out, x[0]), x[1:], y[1:]
		}
	}
	return append(append(out, x...), y...)
}
