package bcgraph

import (
	"slices"

	"isovet/evidence"
	"isovet/level"
)

// chains has the version order of each key, as far as it is known, and adds the edges that follow from it to the graph.
// Writes are numbers, and each belongs to a key.
//
// A transaction that reads a write and overwrites it makes the next version. So writes form chains. A chain begins with
// the initial version, a blind write, or a write whose writer or predecessor has not arrived. The initial version's
// chain precedes all others of its key. The other chains are assumed to follow each other as their blind writes arrive:
// this is a guess, and its edges have class byGuess. A chain only grows at its end, so that no edge is ever removed.
type chains struct {
	f    family
	time ends
	ids  []uint32 // transaction of the graph → the caller's number

	key    []uint32 // write → its key
	writer []uint32 // its transaction in the graph; none if it is missing so far
	next   []uint32 // the known next version
	other  []uint32 // a chain's first write → its last one, and back
	after  []uint32 // a chain's first write → the next chain's first write
	reads  []int32  // write → its last reader, as an index into reader
	reader []readerOf

	initial []uint32 // key → its initial version's write; none if not numbered yet
	last    []uint32 // key → first write of the last chain of its order
	open    uint32   // the first write whose place is a guess
	// fork are two writes that overwrote one version.
	fork [2]uint32
	mine map[uint32]uint32 // key → the write that the present transaction read, if it has many reads
}

// readerOf is an entry of a list of readers.
type readerOf struct {
	txn  uint32
	next int32
}

// arrival is a transaction that arrives, as the writes that it saw and the writes that it makes, one per key.
type arrival struct {
	id          uint32 // the caller's number
	before      uint32 // the transaction of the graph before it in its session, none
	timed       bool
	start, end  int64
	saw, writes []uint32
}

// add adds a transaction and returns its number in the graph.
func (c *chains) add(a *arrival) (t uint32) {
	t = c.f.txn()
	c.mine = nil
	c.ids = append(c.ids, a.id)
	if a.before != none {
		c.session(a.before, t)
	}
	if a.timed {
		c.time.add(t, a.start, a.end, func(u, v int32) { c.f.edge(logged{u, v, none, evidence.RT, byTime}) })
	}
	for _, w := range a.writes {
		c.writer[w] = t
		for r := c.reads[w]; r >= 0; r = c.reader[r].next {
			c.dep(t, c.reader[r].txn, w, evidence.WR, 0)
		}
	}
	for _, w := range a.saw { // reads first, so that a cycle of reads alone is found as such
		if from := c.writer[w]; from != none {
			c.dep(from, t, w, evidence.WR, 0)
		}
	}
	// Record the next versions before the reads, so that a transaction is not ordered before its own write.
	for _, w := range a.writes {
		if from := c.seen(a.saw, c.key[w]); from != none {
			c.extend(from, w)
		} else {
			c.place(w)
		}
	}
	for _, w := range a.saw {
		c.read(t, w)
	}
	return t
}

// session says that t is before u in their session.
func (c *chains) session(t, u uint32) {
	c.f.edge(logged{node(t, commitNode), node(u, beginNode), none, evidence.SO, bySession})
}

// manyReads is the number of reads from which seen uses a map.
const manyReads = 32

// seen returns the write of key among those that a transaction saw, or none.
func (c *chains) seen(saw []uint32, key uint32) uint32 {
	if len(saw) < manyReads {
		for _, w := range saw {
			if c.key[w] == key {
				return w
			}
		}
		return none
	}
	if c.mine == nil {
		c.mine = make(map[uint32]uint32, len(saw))
		for _, w := range saw {
			c.mine[c.key[w]] = w
		}
	}
	if w, ok := c.mine[key]; ok {
		return w
	}
	return none
}

// dep adds an edge of a read, an overwrite or an anti-dependency about write w.
func (c *chains) dep(from, to, w uint32, dep evidence.Dep, class mask) {
	if from == to {
		return
	}
	e := logged{node(from, commitNode), node(to, beginNode), w, dep, class}
	if dep == evidence.RW {
		e.u, e.v = node(from, beginNode), node(to, commitNode)
	}
	c.f.edge(e)
}

func (c *chains) read(t, w uint32) {
	c.reader = append(c.reader, readerOf{t, c.reads[w]})
	c.reads[w] = int32(len(c.reader) - 1)
	if next := c.next[w]; next != none {
		// If t itself wrote the next version, dep skips this edge; its overwriter comes after t's commit.
		c.dep(t, c.writer[next], w, evidence.RW, 0)
	} else if head := c.other[w]; c.after[head] != none {
		c.dep(t, c.writer[c.after[head]], w, evidence.RW, c.classAfter(head))
	}
}

// extend makes w the next version after from.
func (c *chains) extend(from, w uint32) {
	if c.next[from] != none {
		if c.fork[0] == none {
			c.fork = [2]uint32{c.next[from], w}
			c.f.fail(0, nil)
			c.f.settle(nil)
		}
		return
	}
	c.next[from] = w
	c.overwrite(from, w, 0, false)
	head, tail := c.other[from], c.other[w]
	c.other[head], c.other[tail] = tail, head
	if c.after[head] != none {
		c.overwrite(tail, c.after[head], c.classAfter(head), true)
	}
}

// place puts a blind write after the last chain of its key.
func (c *chains) place(w uint32) {
	k := c.key[w]
	head := c.last[k]
	c.after[head], c.last[k] = w, w
	class := c.classAfter(head)
	if class != 0 && c.open == none {
		c.open = w
	}
	c.overwrite(c.other[head], w, class, true)
}

// classAfter returns the class of the edges from a chain to the next chain.
func (c *chains) classAfter(head uint32) mask {
	if head == c.initial[c.key[head]] {
		return 0
	}
	return byGuess
}

// overwrite adds that next comes after w: after the readers of w and, if next is a blind write, after its writer. Else
// a read of w by next implies that.
func (c *chains) overwrite(w, next uint32, class mask, blind bool) {
	to := c.writer[next]
	if from := c.writer[w]; blind && from != none {
		c.dep(from, to, next, evidence.WW, class)
	}
	for r := c.reads[w]; r >= 0; r = c.reader[r].next {
		c.dep(c.reader[r].txn, to, w, evidence.RW, class)
	}
}

// order returns an order of a level's graph, in the form of evidence.Result.
func (c *chains) order(l level.Level) []uint32 {
	nodes := c.f.order(maskOf(l) | byGuess)
	out := make([]uint32, 0, len(nodes))
	for _, u := range nodes {
		t := c.ids[u/nodesEach]
		if l.Snapshot() {
			t = t<<1 | uint32(u%nodesEach)
		}
		out = append(out, t)
	}
	return out
}

// straight removes detours from a cycle that has an anti-dependency about a version and also passes that version's
// writer. The overwriter read the version too, so a direct edge leads from the writer to it. A detour would rest on the
// order of the two, which reads may not show.
func (c *chains) straight(cycle []logged) []logged {
	for i := 0; i < len(cycle); i++ {
		e := cycle[i]
		if e.dep != evidence.RW || c.writer[e.w] == none || c.next[e.w] == none {
			continue
		}
		from, to := c.writer[e.w], c.writer[c.next[e.w]]
		if to != uint32(e.v/nodesEach) {
			continue // it comes after the whole chain
		}
		before := slices.Concat(cycle[i+1:], cycle[:i])
		for j, b := range before {
			if uint32(b.v/nodesEach) == from && b.v%nodesEach != endNode {
				cycle = append(before[:j+1], logged{node(from, commitNode), node(to, beginNode), e.w, evidence.WR, 0})
				i = -1
				break
			}
		}
	}
	return cycle
}

// forcing returns the cycles that justify the place of blind writes in a cycle. A blind write comes after all of the
// initial version's chain, because each writer in that chain read the version before its own: at any other place it
// would close a cycle.
func (c *chains) forcing(cycle []logged) (out [][]logged) {
	for _, e := range cycle {
		if e.dep != evidence.RW && e.dep != evidence.WW {
			continue
		}
		first := c.initial[c.key[e.w]]
		to := uint32(e.v / nodesEach)
		if blind := c.after[first]; blind == none || c.writer[blind] != to {
			continue
		}
		until := uint32(e.u / nodesEach) // the writer of the last version before
		if e.dep == evidence.RW {
			if until = c.writer[e.w]; until == none {
				continue // the initial version, or one without a writer so far
			}
		}
		for w := first; c.next[w] != none && (w == first || c.writer[w] != until); w = c.next[w] {
			t := c.writer[c.next[w]]
			out = append(out, []logged{
				{u: node(t, beginNode), v: node(to, commitNode), w: w, dep: evidence.RW},
				{u: node(to, commitNode), v: node(t, beginNode), w: c.next[w], dep: evidence.WW}})
		}
	}
	return out
}
