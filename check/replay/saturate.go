package replay

import (
	"math"

	"isovet/internal/graph"
	"isovet/solver/acyclic"
)

// bounds limit saturation and the search after it. Only arena can change an answer. A round that is stopped is
// continued from where it stopped, over a closure with the facts found so far. If saturation is stopped as a whole, its
// facts are still true, and later searches do not rely on their being complete (see escalate).
type bounds struct {
	roundScans int64 // pairs of writers that a round of saturation examines before the closure is made anew
	scans      int64 // pairs that saturation examines in all
	facts      int   // edges that it may find
	words      int   // words of the closure's windows
	guards     int   // guarded edges of all open choices together
	arena      int   // words of a solver's clauses, see solver.Options; beyond there is no answer
}

// defaultBounds: 2^33 pairs take half a minute; 2^24 facts take half a GiB, 2^23 words a quarter, and 2^22 guards with
// their theory half a GiB.
var defaultBounds = bounds{roundScans: 1 << 26, scans: 1 << 33, facts: 1 << 24, words: acyclic.MaxWindowWords,
	guards: 1 << 22, arena: 0}

// firstScans is the number of pairs that the first round examines in the search for a serial order at a snapshot level.
// If there is none, an early closure shows it. Each round examines eight times as many as the one before. For YCSB A at
// snapshot isolation 2^20 pairs suffice, and the whole first pass takes 50 million.
const firstScans = 1 << 20

// fewScans and fewGuards are the bounds if another search can follow (Options.AllAtOnce): some seconds.
const (
	fewScans  = 1 << 30
	fewGuards = 1 << 21
)

// saturation is the result of saturate: edges beyond the known ones that every order of the history obeys, and the
// reachability of all these edges, from which later searches continue.
type saturation struct {
	facts []fact
	batch []int32         // where each batch of facts begins; a batch follows from those before it
	base  *graph.CSR      // known edges, those of real time, and all facts but the last ones
	last  []fact          // the last facts
	reach *acyclic.Window // closure of base and last; nil if its windows are too wide
	rank  []int64         // graph node → a guess of its time: the nodes that reach it less those that it reaches
	// whole says that no more facts follow about reads with one possible writer. Only then does every order of the
	// writers that obeys the known edges and the facts explain all of these reads.
	whole bool
}

// fact is an edge that follows from known edges and earlier facts: from reaches to, read r saw a's version, and b also
// wrote the key. For reads of initial versions a and from are -1.
type fact struct {
	graph.Edge
	from, to int32
	a, b, r  int32
}

// saturate finds edges that every order of the history obeys, for each read r of version a and each other writer b of
// its key. If b reaches r, then b is before a. If a reaches b, then r is before b. Readers of initial versions are
// before all writers. ok is false if the edges close a cycle, with the last batch.
//
// Many new edges at once lead to a new closure, with narrower windows. A few are added to the old one, and then only
// the reads that they touch are examined again.
//
// It ends. A round of the first loop examines at least one read, so a pass through all reads ends, and only a pass that
// found a fact is followed by another. A round of the second loop is also only followed by another if it found facts. A
// fact orders two nodes that had no order when its round began. Each round knows the facts of the rounds before it, so
// none is found twice. So the rounds with facts are at most the pairs of nodes, whatever the bounds are.
//
// Source: the pruning rules of Cobra and PolySI, in batches. Cost: a round takes the words of the closure's windows,
// and for each read the writers of its key in the windows of version and read. done, and the bounds, may stop it early,
// with the facts found so far.
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
			continue // go on with the facts found so far
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
		// These rounds are not split, since the set of touched nodes would be lost.
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

// scan is the progress of a pass through the reads, with the number of pairs that saturation may still examine and of
// edges that it may still find.
type scan struct {
	at      int // the next transaction
	left    int64
	room    int
	polled  int64 // left at the last call of done
	done    func() bool
	stopped bool // it must not go on: some facts were not derived
}

// pollScans is the number of pairs between two calls of done: some ms.
const pollScans = 1 << 20

// stop reports whether saturation must stop, with this many pairs left and facts found.
func (c *scan) stop(left int64, facts int) bool {
	if c.polled-left >= pollScans || c.polled == 0 {
		c.polled = left
		c.stopped = c.stopped || c.done()
	}
	c.stopped = c.stopped || left <= 0 || facts >= c.room
	return c.stopped
}

// certain calls f for the known edges, including those of real time.
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

// implied returns the edges that follow from reachability, for all reads from c.at on, or for those with a touched end.
// After about round pairs it stops and sets c.at to the next transaction; at the end it sets c.at to 0.
func (e *engine) implied(reach *acyclic.Window, c *scan, round int64, touched func(x int32) bool) (facts []fact) {
	ws := e.writersBy(reach.Order(), e.commit)
	v := e.v
	scans := int64(0)
	defer func() {
		c.left -= scans
		c.room -= len(facts)
	}()
	// first returns the first write of in whose commit has this rank or a later one.
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
	// after puts r before the writers b of in that must follow it. Of writers that reach one another it takes only the
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
			// The ranks are those of the base. If the base does not order the two, the later one may come first by now.
			from, _ := reach.Span(begin)
			after(r, a, in[first(in, min(from, reach.Rank(e.commit(a)))):])
			// Writers before the read are before the version; of writers that reach one another, only the last is
			// taken.
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

// writers has the writes of each key by transactions of known outcome, in some order.
type writers struct {
	off []int32
	w   []uint32
}

func (ws *writers) of(key uint32) []uint32 { return ws.w[ws.off[key]:ws.off[key+1]] }

// writersBy lists these writes in the order of their transactions' nodes, at(i) for node i.
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
		if i := e.nodeOf(x); int(i) < len(e.txn) && x == at(i) {
			each(i, func(w uint32) { ws.w[by.Place(int32(v.WKey[w]))] = w })
		}
	}
	ws.off = by.Off()
	return ws
}

// nodeOf returns the transaction node of a graph node. For a node of real time it is beyond all transaction nodes.
func (e *engine) nodeOf(x int32) int32 {
	if e.si {
		return x >> 1
	}
	return x
}
