package replay

import (
	"slices"

	"isovet/internal/graph"
)

// look applies the rules to the reads and writes that new edges touch, or to all of them.
func (s *settling) look(all bool) {
	e, v := s.e, s.e.v
	r := s.reach
	for i, t := range e.txn {
		i := int32(i)
		if e.open[i] {
			continue
		}
		if e.si && (all || r.Touched(e.begin(i))) {
			for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
				s.overwritten(i, v.WKey[w])
			}
		}
		came := all || r.Touched(e.begin(i))
		for q := v.ROff[t]; q < v.ROff[t+1]; q++ {
			w := s.rw[q]
			if w == none {
				continue
			}
			a := e.writer(w)
			if a < 0 && !all || a >= 0 && (e.open[a] || !came && !r.Touched(e.commit(a))) {
				continue
			}
			s.read(q, i, a)
		}
	}
	for j := range v.Amb {
		if s.left[j] <= 1 || e.open[s.reader[j]] {
			continue
		}
		touched := all || r.Touched(e.begin(s.reader[j]))
		for c := v.CandOff[j]; c < v.CandOff[j+1] && !touched; c++ {
			if a := e.writer(v.Cand[c]); a >= 0 && s.gone[c] == 0 {
				touched = r.Touched(e.commit(a))
			}
		}
		if touched {
			if s.choose(j); s.none > 0 || s.steps > stepsAtOnce && s.stops() {
				return
			}
		}
	}
}

// stepsAtOnce is the number of steps between two calls of done: a few ms.
const stepsAtOnce = 1 << 20

func (s *settling) propose(from, to int32, rule why, read uint32, cand, a, b int32) {
	s.next = append(s.next, finding{graph.Edge{From: from, To: to}, rule, int32(len(s.found)), read, cand, a, b})
}

// overwritten finds the writers of a key that must come after transaction a, which began before they committed.
func (s *settling) overwritten(a int32, key uint32) {
	e := s.e
	by := &s.by
	after, done := s.reach.After(e.begin(a)), s.reach.After(e.commit(a))
	for g := by.group[key]; g < by.group[key+1]; g++ {
		c := by.chain[g]
		at := by.first(g, after[c]-1) // its commit is one place after its begin
		if at == by.off[g+1] {
			continue
		}
		if b := by.node[at]; b != a && done[c] > by.place[at] {
			s.propose(e.commit(a), e.begin(b), overwrites, none, -1, a, b)
		}
	}
}

// read applies the rules to read q by transaction r, which saw a's version; a is -1 for an initial version.
func (s *settling) read(q uint32, r, a int32) {
	e := s.e
	by := &s.by
	key := e.v.RKey[q]
	d := e.commit(0) - e.begin(0) // from begin to commit in a chain
	begin := e.begin(r)
	to := s.reach.After(begin)
	if a < 0 {
		for g := by.group[key]; g < by.group[key+1]; g++ {
			if at := by.off[g]; by.node[at] != r && to[by.chain[g]] > by.place[at]+d {
				s.propose(begin, e.commit(by.node[at]), isAfter, q, -1, -1, by.node[at])
			}
		}
		return
	}
	before, after := s.reach.Before(begin), s.reach.After(e.commit(a))
	known := s.reach.Before(e.begin(a))
	for g := by.group[key]; g < by.group[key+1]; g++ {
		c := by.chain[g]
		// The last writer of the chain that reaches the read is before a, and so are its predecessors in the chain.
		if lim := before[c] - d; lim > by.place[by.off[g]] {
			at := by.first(g, lim) - 1
			if by.node[at] == r {
				at--
			}
			if at >= by.off[g] {
				if b := by.node[at]; b != a && known[c] <= by.place[at]+d {
					s.propose(e.commit(b), e.begin(a), isBefore, q, -1, a, b)
				}
			}
		}
		// The first writer of the chain that a reaches is after the read, and so are its successors in the chain.
		if lim := after[c]; lim <= by.place[by.off[g+1]-1] {
			at := by.first(g, lim)
			if by.node[at] == a {
				at++
			}
			if at < by.off[g+1] {
				if b := by.node[at]; b != r && to[c] > by.place[at]+d {
					s.propose(begin, e.commit(b), isAfter, q, -1, a, b)
				}
			}
		}
	}
}

// choose drops candidates that ambiguous read j cannot have seen, and finds edges that hold for all others.
func (s *settling) choose(j int) {
	e, v := s.e, s.e.v
	by := &s.by
	q, r := v.Amb[j], s.reader[j]
	key := v.RKey[q]
	d := e.commit(0) - e.begin(0)
	begin := e.begin(r)
	before, to := s.reach.Before(begin), s.reach.After(begin)
	g0, g1 := by.group[key], by.group[key+1]
	s.steps += int64(v.CandOff[j+1]-v.CandOff[j]) * int64(g1-g0+int32(len(to)))
	s.last = s.last[:0]
	for g := g0; g < g1; g++ {
		at := int32(-1)
		if lim := before[by.chain[g]] - d; lim > by.place[by.off[g]] {
			at = by.first(g, lim) - 1
			if by.node[at] == r {
				at--
			}
			if at < by.off[g] {
				at = -1
			}
		}
		s.last = append(s.last, at)
	}
	keep := int32(-1) // the last candidate left
	for c := v.CandOff[j]; c < v.CandOff[j+1]; c++ {
		if s.gone[c] > 0 {
			continue
		}
		a := e.writer(v.Cand[c])
		if a >= 0 {
			if in, p := s.reach.Chain(e.commit(a)); to[in] <= p {
				s.drop(j, int32(c), notLater, a, -1)
				continue
			}
		}
		var after []int32
		if a >= 0 {
			after = s.reach.After(e.commit(a))
		}
		dropped := false
		for g, at := range s.last {
			if at >= 0 && by.node[at] != a && (a < 0 || after[by.chain[g0+int32(g)]] <= by.place[at]) {
				s.drop(j, int32(c), notOld, a, by.node[at])
				dropped = true
				break
			}
		}
		if !dropped {
			keep = int32(c)
		}
	}
	switch s.left[j] {
	case 0:
		s.none = int32(j) + 1
	case 1:
		s.only(q, r, keep)
	default:
		s.common(j, key, begin, r, to, before)
	}
}

// only settles that read q of node r saw its last candidate left.
func (s *settling) only(q uint32, r, keep int32) {
	e := s.e
	w := e.v.Cand[keep]
	a := e.writer(w)
	if a >= 0 && e.open[a] {
		return // its selection says that it counts
	}
	s.rw[q] = w
	if a >= 0 {
		s.propose(e.commit(a), e.begin(r), saw, q, keep, a, -1)
	}
	s.read(q, r, a)
}

// drop records that ambiguous read j did not see candidate cand, of transaction a. The rule explains b.
func (s *settling) drop(j int, cand int32, rule why, a, b int32) {
	s.found = append(s.found, finding{graph.Edge{From: -1, To: -1}, rule, int32(len(s.found)), s.e.v.Amb[j], cand, a,
		b})
	s.gone[cand] = int32(len(s.found))
	s.left[j]--
}

// common finds transactions that are before, or after, an ambiguous read for each candidate left.
func (s *settling) common(j int, key uint32, begin, r int32, to, before []int32) {
	e, v := s.e, s.e.v
	by := &s.by
	d := e.commit(0) - e.begin(0)
	initial := false
	least, most := slices.Clone(before), make([]int32, len(to)) // cuts that all candidates share
	first := true
	for c := v.CandOff[j]; c < v.CandOff[j+1]; c++ {
		if s.gone[c] > 0 {
			continue
		}
		a := e.writer(v.Cand[c])
		if a < 0 {
			initial = true
			continue
		}
		b, t := s.reach.Before(e.commit(a)), s.reach.After(e.commit(a))
		for x := range least {
			if first {
				least[x] = b[x]
			} else {
				least[x] = min(least[x], b[x])
			}
			most[x] = max(most[x], t[x])
		}
		first = false
	}
	if !initial {
		for x, p := range least {
			if p > before[x] {
				u := s.reach.At(int32(x), p-1)
				s.propose(u, begin, afterAny, v.Amb[j], -1, -1, e.nodeOf(u))
			}
		}
	}
	for g := by.group[key]; g < by.group[key+1]; g++ {
		c := by.chain[g]
		for at := by.first(g, most[c]); at < by.off[g+1] && to[c] > by.place[at]+d; at++ {
			b := by.node[at]
			if b == r {
				break
			}
			if !s.candidate(j, b) {
				s.propose(begin, e.commit(b), beforeAny, v.Amb[j], -1, -1, b)
				break
			}
		}
	}
}

// candidate reports whether b's write is among the candidates left of an ambiguous read.
func (s *settling) candidate(j int, b int32) bool {
	for c := s.e.v.CandOff[j]; c < s.e.v.CandOff[j+1]; c++ {
		if s.gone[c] == 0 && s.e.writer(s.e.v.Cand[c]) == b {
			return true
		}
	}
	return false
}
