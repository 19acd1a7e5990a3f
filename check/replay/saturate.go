package replay

import (
	"math"

	"isovet/internal/graph"
	"isovet/solver/acyclic"
)

// bounds are what saturation and the search after it may take. None of them but arena changes an answer: a round that
// is stopped goes on behind where it stopped, over a closure that knows what was found so far; saturation that is
// stopped altogether leaves its facts, all of which hold, to searches that do not rely on there being no others (see
// escalate).
type bounds struct {
	roundScans int64 // pairs of writers that a round of saturation examines before the closure is made anew
	scans      int64 // pairs that saturation examines in all
	facts      int   // edges that it may find
	words      int   // words of the closure's windows
	guards     int   // guarded edges of all open choices together
	arena      int   // words of a solver's clauses, see solver.Options; beyond there is no answer
}

// defaultBounds: 2^33 pairs take half a minute, 2^24 facts half a GiB, 2^23 words a quarter, 2^22 guards and their
// theory half a GiB.
var defaultBounds = bounds{roundScans: 1 << 26, scans: 1 << 33, facts: 1 << 24, words: acyclic.MaxWindowWords,
	guards: 1 << 22, arena: 0}

// firstScans is the number of pairs that the first round examines, if a serial order is asked for on behalf of a
// snapshot level: if there is none, an early closure shows it. Each round examines eight times as many as the one
// before. For YCSB A run at snapshot isolation 2^20 pairs suffice, where the whole first pass takes 50 million.
const firstScans = 1 << 20

// fewScans and fewGuards are the bounds where another search can follow (Options.AllAtOnce): some seconds.
const (
	fewScans  = 1 << 30
	fewGuards = 1 << 21
)

// saturation is the result of saturate: edges that every order of the history obeys, beyond the known ones, and the
// reachability of both, from which later searches go on.
type saturation struct {
	facts []fact
	batch []int32         // where each batch of facts begins; a batch follows from those before it
	base  *graph.CSR      // known edges, those of real time, and all facts but the last ones
	last  []fact          // the last facts
	reach *acyclic.Window // of all of them; nil if its windows are too wide to keep
	rank  []int64         // graph node → a guess of its time: the nodes that reach it less those that it reaches
	// whole: nothing follows any more, from what is known and the facts, about reads with one possible writer. Only
	// then does every order of the writers that obeys both explain all of those reads.
	whole bool
}

// fact is an edge that follows from known edges and earlier facts: because from reaches to, and read r saw a's version,
// and b wrote the key too. For reads of initial versions from is -1, and a too.
type fact struct {
	graph.Edge
	from, to int32
	a, b, r  int32
}

// saturate finds edges that every order of the history obeys: while another writer b of the key reaches a read r of
// version a, b is before a; and while a reaches b, r is before b. Reads of initial versions are before all writers. ok
// is false if they close a cycle, which the last batch does.
//
// Many edges at once make a new closure, whose windows are narrower; a few are added to the old one, and then only
// reads that they touch are looked at again.
//
// It ends. A round of the first loop looks at one read at least, so that a pass through all reads ends; a pass after
// which there is another found a fact. A round of the second loop that is followed by another did so too. A fact orders
// two nodes that nothing ordered when its round began; that a pass of several rounds finds it twice is ruled out since
// each round knows the facts of those before it. So there are at most as many rounds with facts as pairs of nodes,
// whatever the bounds.
//
// Source: the pruning rules of Cobra and PolySI, in batches. Cost: a round, the words of the closure's windows, and for
// each read the writers of its key in the windows of version and read; done says when to stop early, with what was
// found so far, and so do the bounds.
func (e *engine) saturate(done func() bool) (s *saturation, ok bool) {
	s = &saturation{rank: make([]int64, e.total)}
	for x := range s.rank {
		s.rank[x] = int64(e.ord.Pos(int32(x)))
	}
	c := &scan{left: e.o.bounds.scans, room: e.o.bounds.facts, done: done}
	round := e.o.bounds.roundScans
	if e.o.serial {
		round = min(round, firstScans)
	}
	var more []fact
	rounds, found := 0, 0 // of the present pass
	for {
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
		s.reach = acyclic.NewWindow(s.base, topo, e.o.bounds.words)
		if s.reach == nil || c.stopped {
			return s, true
		}
		for x := range s.rank {
			s.rank[x] = s.reach.Middle(int32(x))
		}
		more = e.implied(s.reach, c, round, nil)
		s.batch = append(s.batch, int32(len(s.facts)))
		s.facts = append(s.facts, more...)
		rounds, found = rounds+1, found+len(more)
		switch {
		case c.stopped || c.at > 0:
			if e.o.serial {
				round = doubled(doubled(doubled(round)))
			}
			continue // with the facts so far
		case rounds == 1 && found <= e.total/4 || found == 0:
		default:
			if rounds > 1 {
				round = doubled(round) // in the end a pass is one round
			}
			rounds, found = 0, 0
			continue
		}
		break
	}
	for len(more) > 0 {
		s.last = append(s.last, more...)
		s.reach.Rest()
		for _, f := range more {
			if s.reach.Know(f.From, f.To) {
				return s, false
			}
		}
		if c.stopped {
			break
		}
		// These rounds are not split: the touched nodes would be forgotten.
		more = e.implied(s.reach, c, math.MaxInt64, s.reach.Touched)
		s.batch = append(s.batch, int32(len(s.facts)))
		s.facts = append(s.facts, more...)
	}
	s.whole = !c.stopped
	s.last = s.facts[len(s.facts)-len(s.last):]
	for x := range s.rank {
		s.rank[x] = s.reach.Middle(int32(x))
	}
	return s, true
}

func doubled(n int64) int64 {
	if n > math.MaxInt64/2 {
		return math.MaxInt64
	}
	return 2 * n
}

// scan is the progress of a pass through the reads, with the pairs that saturation may still examine and the edges that
// it may still find.
type scan struct {
	at      int // the next transaction
	left    int64
	room    int
	polled  int64 // left at the last call of done
	done    func() bool
	stopped bool // for good: some facts were not derived
}

// pollScans is the number of pairs between two calls of done: some ms.
const pollScans = 1 << 20

// stop reports whether to stop for good, with this many pairs left and facts found.
func (c *scan) stop(left int64, facts int) bool {
	if c.polled-left >= pollScans || c.polled == 0 {
		c.polled = left
		c.stopped = c.stopped || c.done()
	}
	c.stopped = c.stopped || left <= 0 || facts >= c.room
	return c.stopped
}

// renew makes the closure again as saturation left it.
func (s *saturation) renew(words int) {
	s.reach = acyclic.NewWindow(s.base, s.reach.Order(), words)
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

// implied returns the edges that follow from reachability, for all reads from c.at on or for those with a touched end.
// After about round pairs it ends, sets c.at to the next transaction, and otherwise to 0.
func (e *engine) implied(reach *acyclic.Window, c *scan, round int64, touched func(x int32) bool) (facts []fact) {
	ws := e.writersBy(reach.Order(), e.commit)
	v := e.v
	scans := int64(0)
	defer func() {
		c.left -= scans
		c.room -= len(facts)
	}()
	// first returns the first write in in whose commit has this rank or a later one.
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
	// after puts r before the writers b in in that must follow it; of those that one another reaches, only the
	// first.
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
	from := c.at
	c.at = 0
	for i := from; i < len(e.txn); i++ {
		t := e.txn[i]
		if e.open[i] {
			continue
		}
		if scans >= round && i > from {
			c.at = i
			return facts
		}
		r := int32(i)
		for q := v.ROff[t]; q < v.ROff[t+1]; q++ {
			w := v.RW[q]
			if w == none {
				continue
			}
			if c.stop(c.left-scans, len(facts)) {
				return facts
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
			// The ranks are those of the base: if it leaves two open, the later one may come first by now.
			from, _ := reach.Span(begin)
			after(r, a, in[first(in, min(from, reach.Rank(e.commit(a)))):])
			// Writers before the read are before the version; of those that reach one another, only the
			// last.
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
	return facts
}

// writers are the writes of each key by transactions of known outcome, in some order.
type writers struct {
	off []int32
	w   []uint32
}

func (ws *writers) of(key uint32) []uint32 { return ws.w[ws.off[key]:ws.off[key+1]] }

// writersBy lists these writes by the places at of their graph nodes in an order.
func (e *engine) writersBy(order []int32, at func(i int32) int32) writers {
	v := e.v
	by := graph.NewGroups[int32](e.h.NumKeys())
	var ws writers
	each := func(i int32, f func(w uint32)) {
		if !e.open[i] {
			for w := v.WOff[e.txn[i]]; w < v.WOff[e.txn[i]+1]; w++ {
				f(w)
			}
		}
	}
	for i := range int32(len(e.txn)) {
		each(i, func(w uint32) { by.Count(int32(v.WKey[w])) })
	}
	ws.w = make([]uint32, by.Sum())
	for _, x := range order {
		i := e.nodeOf(x)
		if int(i) < len(e.txn) && x == at(i) {
			each(i, func(w uint32) { ws.w[by.Place(int32(v.WKey[w]))] = w })
		}
	}
	ws.off = by.Off()
	return ws
}

// nodeOf returns the transaction node of a graph node; for one of real time, a number beyond all of them.
func (e *engine) nodeOf(x int32) int32 {
	if e.si {
		return x >> 1
	}
	return x
}
