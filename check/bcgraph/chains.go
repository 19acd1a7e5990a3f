package bcgraph

import (
	"slices"

	"isovet/evidence"
	"isovet/level"
)

// chains are the versions of each key, as far as they are known, and the edges that follow from them. Writes are
// numbers; each is of a key.
//
// A transaction that reads a write and overwrites it makes the next version. So writes form chains; the first of a
// chain is the initial version, a blind write, or one whose writer, or whose predecessor, has not come yet. The initial
// version's chain is before all others of its key; these are taken to follow each other as their blind writes come,
// which is a guess, and an edge of it is one of class byGuess. More can only be put behind the end of a chain, so that
// an edge once made is never taken back.
type chains struct {
	f    family
	time ends
	ids  []uint32 // transaction of the graph → the caller's number

	key    []uint32 // of a write
	writer []uint32 // the transaction of the graph; none: it has not come, or there is none
	next   []uint32 // the known next version
	other  []uint32 // of a chain's first write its last one, and the other way round
	after  []uint32 // of a chain's first write, the first one of the chain behind it
	reads  []int32  // → readers, the last one
	reader []readerOf

	initial []uint32 // of a key, none if it has no number yet
	last    []uint32 // of a key, the first write of the last chain in line
	open    uint32   // the first write whose place is a guess
	// Two writes that overwrote one version.
	fork [2]uint32
	mine map[uint32]uint32 // key → the write that was read, of the present transaction if it has many reads
}

// readerOf is an entry of a list of readers.
type readerOf struct {
	txn  uint32
	next int32
}

func newChains() *chains { return &chains{open: none, fork: [2]uint32{none, none}} }

// newKey makes a key, whose initial version is the given write.
func (c *chains) newKey(initial uint32) {
	c.initial = append(c.initial, initial)
	c.last = append(c.last, initial)
}

// arrival is a transaction: the writes that it saw, and those that it makes, one a key.
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
		c.time.add(t, a.start, a.end, func(u, v int32) {
			c.f.edge(logged{u, v, none, evidence.RT, byTime})
		})
	}
	for _, w := range a.writes {
		c.writer[w] = t
		for r := c.reads[w]; r >= 0; r = c.reader[r].next {
			c.dep(t, c.reader[r].txn, w, evidence.WR, 0)
		}
	}
	for _, w := range a.saw { // before the edges that rest on it, so that a cycle of reads alone is found as one
		if from := c.writer[w]; from != none {
			c.dep(from, t, w, evidence.WR, 0)
		}
	}
	// Who overwrites what it read makes the next version before it is one of the readers that are before that.
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

// manyReads is from how many on they are looked up.
const manyReads = 32

// seen is which of the writes is of a key, or none.
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

// dep adds an edge of reads and versions.
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

// read adds that t read write w.
func (c *chains) read(t, w uint32) {
	c.reader = append(c.reader, readerOf{t, c.reads[w]})
	c.reads[w] = int32(len(c.reader) - 1)
	if next := c.next[w]; next != none {
		// If t itself wrote the next version, its overwriter comes after t's commit, which is stronger.
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

// place puts a blind write in line.
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

// classAfter is the class of the edges to what is in line behind a chain.
func (c *chains) classAfter(head uint32) mask {
	if head == c.initial[c.key[head]] {
		return 0
	}
	return byGuess
}

// overwrite adds that next comes after w: behind the readers of w and, if next is a blind write, behind its writer.
// Otherwise an edge through a reader implies the latter.
func (c *chains) overwrite(w, next uint32, class mask, blind bool) {
	to := c.writer[next]
	if from := c.writer[w]; blind && from != none {
		c.dep(from, to, next, evidence.WW, class)
	}
	for r := c.reads[w]; r >= 0; r = c.reader[r].next {
		c.dep(c.reader[r].txn, to, w, evidence.RW, class)
	}
}

// order is an order of a level's graph, as evidence.Result has it.
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

// straight is a cycle without the detours by which it passes the writer of what an anti-dependency is about: who
// overwrote that read it too. A detour would rest on the order of the two, and where each read from the other there is
// none.
func (c *chains) straight(cycle []logged) []logged {
	for i := 0; i < len(cycle); i++ {
		e := cycle[i]
		if e.dep != evidence.RW || c.writer[e.w] == none || c.next[e.w] == none {
			continue
		}
		from, to := c.writer[e.w], c.writer[c.next[e.w]]
		if to != uint32(e.v/nodesEach) {
			continue // it is behind the whole chain
		}
		before := slices.Concat(cycle[i+1:], cycle[:i])
		for j, b := range before {
			if uint32(b.v/nodesEach) == from && b.v%nodesEach != endNode {
				direct := logged{node(from, commitNode), node(to, beginNode), e.w, evidence.WR, 0}
				cycle = append(before[:j+1], direct)
				i = -1
				break
			}
		}
	}
	return cycle
}

// forcing has the cycles that exclude other orders of versions than a cycle of what is known has: that a blind write
// is behind all of the initial version's chain is known as it can be nowhere in it, for each there read the one before.
func (c *chains) forcing(cycle []logged) (out [][]logged) {
	for _, e := range cycle {
		if e.dep != evidence.RW && e.dep != evidence.WW {
			continue
		}
		key := c.key[e.w]
		first := c.initial[key]
		to := uint32(e.v / nodesEach)
		blind := c.after[first]
		if blind == none || c.writer[blind] != to {
			continue
		}
		until := uint32(e.u / nodesEach) // the writer of the last one before
		if e.dep == evidence.RW {
			if until = c.writer[e.w]; until == none {
				continue // it is the initial version, or nobody's yet
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
