package replay

import (
	"isovet/graph"
	"isovet/solver/acyclic"
)

// maxScans bounds the pairs of writers that a round of saturation looks at.
const maxScans = 1 << 26

// saturation is what saturating found: edges that every order of the history obeys, beyond the known ones, and the reachability of
// both, which later searches go on from.
type saturation struct {
	facts []fact
	batch []int32         // where each batch of facts begins: it follows from those before it
	base  *graph.CSR      // known edges, those of real time, and facts but the last ones
	last  []fact          // these
	reach *acyclic.Window // of all of them; nil if its windows are too wide to keep
	rank  []int64         // graph node → a guess of when: what reaches it less what it reaches
}

// fact is an edge that follows from known edges and earlier facts: because from reaches to, and read r saw a's version, and b wrote the
// key too. For reads of initial versions from is -1, and a too.
type fact struct {
	graph.Edge
	from, to int32
	a, b, r  int32
}

// saturate finds edges that every order of the history obeys: while another writer b of the key reaches a read r of version a, b is
// before a; and while a reaches b, r is before b. Reads of initial versions are before all writers. ok is false if they close a
// cycle, which the last batch does.
//
// Many edges at once make a new closure, whose windows are narrower; a few are added to the old one, and then only reads that they
// touch are looked at again.
//
// Source: the pruning rules of Cobra and PolySI, in batches.
// Cost: a round, the words of the closure's windows, and for each read the writers of its key in the windows of version and read;
// done says when to stop early, with what was found so far.
func (e *engine) saturate(done func() bool) (s *saturation, ok bool) {
	s = &saturation{rank: make([]int64, e.total)}
	for x := range s.rank {
		s.rank[x] = int64(e.ord.Pos(int32(x)))
	}
	var more []fact
	for all := true; ; {
		s.base = graph.BuildFunc(e.total, func(emit func(u, v int32)) {
			e.certain(emit)
			for _, f := range s.facts {
				emit(f.From, f.To)
			}
		})
		topo, acyclical := graph.TopologicalBy(s.base, s.rank)
		if !acyclical {
			return s, false
		}
		s.reach = acyclic.NewWindow(s.base, topo)
		if s.reach == nil || !all || done() {
			return s, true
		}
		for x := range s.rank {
			s.rank[x] = s.reach.Middle(int32(x))
		}
		more, all = e.implied(s.reach, done, nil)
		s.batch = append(s.batch, int32(len(s.facts)))
		s.facts = append(s.facts, more...)
		if all && len(more) <= e.total/4 {
			break
		}
	}
	for all := true; len(more) > 0 && all; {
		s.last = append(s.last, more...)
		s.reach.Rest()
		for _, f := range more {
			if s.reach.Know(f.From, f.To) {
				return s, false
			}
		}
		more, all = e.implied(s.reach, done, s.reach.Touched)
		s.batch = append(s.batch, int32(len(s.facts)))
		s.facts = append(s.facts, more...)
	}
	s.last = s.facts[len(s.facts)-len(s.last)-len(more):]
	for x := range s.rank {
		s.rank[x] = s.reach.Middle(int32(x))
	}
	return s, true
}

// renew makes the closure again as saturation left it.
func (s *saturation) renew() {
	s.reach = acyclic.NewWindow(s.base, s.reach.Order())
	for _, f := range s.last {
		s.reach.Know(f.From, f.To)
	}
}

// certain calls f for the known edges and those of real time.
func (e *engine) certain(f func(u, v int32)) {
	e.known(f)
	if e.o.Level.RealTime() {
		rel, due := e.windows()
		_, chain := graph.TimeChain(rel, due)
		for _, c := range chain {
			f(c.From, c.To)
		}
	}
}

// implied returns the edges that one look at reachability shows, at all reads or at those one of whose ends is touched; all is false
// if it was stopped early or the pairs were too many.
func (e *engine) implied(reach *acyclic.Window, done func() bool, touched func(x int32) bool) (facts []fact, all bool) {
	ws := e.writersBy(reach.Order(), e.commit)
	v := e.v
	scans := 0
	// first returns the first of in whose commit is at a rank or later.
	first := func(in []uint32, rank int32) int {
		lo, hi := 0, len(in)
		for lo < hi {
			if m := int(uint(lo+hi) / 2); reach.Rank(e.commit(e.writer(in[m]))) < rank {
				lo = m + 1
			} else {
				hi = m
			}
		}
		return lo
	}
	// after makes r before the writers b of in that must follow it; of those that one another reaches only the first.
	after := func(r int32, a int32, in []uint32) {
		begin := e.begin(r)
		_, end := reach.Span(begin)
		last := int32(-1)
		for _, w := range in {
			b := e.writer(w)
			commit := e.commit(b)
			if reach.Rank(commit) >= end {
				break
			}
			scans++
			if b == r || b == a || a >= 0 && !reach.Reaches(e.commit(a), e.begin(b)) || reach.Reaches(begin, commit) {
				continue
			}
			if last >= 0 && reach.Reaches(last, commit) {
				continue
			}
			last = commit
			f := fact{graph.Edge{From: begin, To: commit}, -1, -1, a, b, r}
			if a >= 0 {
				f.from, f.to = e.commit(a), e.begin(b)
			}
			facts = append(facts, f)
		}
	}
	for i, t := range e.txn {
		if i&1023 == 0 && done() || scans > maxScans {
			return facts, false
		}
		if e.open[i] {
			continue
		}
		r := int32(i)
		for q := v.ROff[t]; q < v.ROff[t+1]; q++ {
			w := v.RW[q]
			if w == none {
				continue
			}
			in := ws.of(v.RKey[q])
			if v.Initial(w) {
				if touched == nil {
					after(r, -1, in)
				}
				continue
			}
			a := e.writer(w)
			if e.open[a] {
				continue
			}
			begin, came := e.begin(r), e.begin(a)
			if touched != nil && !touched(begin) && !touched(e.commit(a)) {
				continue
			}
			// Ranks are those of the base: of two that it leaves open, the later one may come first by now.
			from, _ := reach.Span(begin)
			after(r, a, in[first(in, min(from, reach.Rank(e.commit(a)))):])
			// Writers before the read are before the version; of those that reach one another only the last.
			from, to := reach.Span(came)
			next := int32(-1)
			for j := first(in, max(to, reach.Rank(begin))) - 1; j >= 0; j-- {
				b := e.writer(in[j])
				commit := e.commit(b)
				if reach.Rank(commit) < from {
					break
				}
				scans++
				if b == r || b == a || !reach.Reaches(commit, begin) || reach.Reaches(commit, came) {
					continue
				}
				if next >= 0 && reach.Reaches(commit, e.begin(next)) {
					continue
				}
				next = b
				facts = append(facts, fact{graph.Edge{From: commit, To: came}, commit, begin, a, b, r})
			}
		}
	}
	return facts, true
}

// writers are the writes of each key by transactions whose outcome is known, in some order.
type writers struct {
	off []int32
	w   []uint32
}

func (ws *writers) of(key uint32) []uint32 { return ws.w[ws.off[key]:ws.off[key+1]] }

// writersBy lists them by the places of the graph nodes at in an order.
func (e *engine) writersBy(order []int32, at func(i int32) int32) writers {
	v := e.v
	nk := e.h.NumKeys()
	ws := writers{off: make([]int32, nk+1)}
	each := func(i int32, f func(w uint32)) {
		if !e.open[i] {
			for w := v.WOff[e.txn[i]]; w < v.WOff[e.txn[i]+1]; w++ {
				f(w)
			}
		}
	}
	for i := range int32(len(e.txn)) {
		each(i, func(w uint32) { ws.off[v.WKey[w]+1]++ })
	}
	for k := range nk {
		ws.off[k+1] += ws.off[k]
	}
	ws.w = make([]uint32, ws.off[nk])
	next := append([]int32(nil), ws.off[:nk]...)
	for _, x := range order {
		i := e.nodeOf(x)
		if int(i) < len(e.txn) && x == at(i) {
			each(i, func(w uint32) {
				k := v.WKey[w]
				ws.w[next[k]] = w
				next[k]++
			})
		}
	}
	return ws
}

// nodeOf returns the transaction node of a graph node; for those of real time a number beyond them.
func (e *engine) nodeOf(x int32) int32 {
	if e.si {
		return x >> 1
	}
	return x
}
