package mechanism

import (
	"math"

	"isovet/internal/safego"
)

// What no transaction that is still to be verified can see is forgotten ([Leopard] §IV-C, Definition 4, with errata
// L11): versions that were surely overwritten before, locks that were released before, and transactions that no cycle
// can enter any more. Every pruneEvery transactions the floor is computed anew: the moment before which nothing begins
// that is still to be verified.
//
// There are two ways to it. Inline, versions and locks go as their keys are used, and transactions at once.
// Asynchronously (Options.AsyncPrune), the verifier hands a batch over: a copy of the times of what may go. A goroutine
// decides, while the verifier goes on, and the verifier takes what was decided off its lists when it hands over the
// next batch. So the two share nothing, and what is forgotten when does not depend on who is faster. What has come in
// the meantime ended after the floor and does not change what was decided, but for a late edge into a transaction that
// was to go: that one stays. Inline, transactions go by the floor before the last, so that both ways forget the same
// ones at the same time.

// pruning is a batch of work for the goroutine.
type pruning struct {
	group safego.Group
	busy  bool
	floor int64

	versDirty, locksDirty []uint32 // keys whose lists have grown to their limits since the last batch

	vers, locks []keyCopy
	ends        []versionTimes // of vers
	rels        []int64        // of locks
	nodes       []nodeCopy     // of transactions from base on
	edges       []uint64       // of nodes, where they lead
	base        uint64

	forget []uint64 // what was decided: transactions, in this order
	stack  []uint32
}

// keyCopy is a key's part of a batch's times, and what was decided: a version that ended before pivot goes; so does a
// lock.
type keyCopy struct {
	key    uint32
	lo, hi int
	pivot  int64
}

type versionTimes struct{ d, maxC int64 }

type nodeCopy struct {
	c, d   int64
	nin    int32
	lo, hi int // edges
	gone   bool
}

// queued is the limit of a list that waits for the goroutine.
const queued = math.MaxInt32

// handOver takes what the goroutine has decided off the lists, and gives it the next batch.
func (v *Verifier) handOver() {
	p := &v.async
	v.settle()
	p.floor = v.floor
	p.vers, p.ends = p.vers[:0], p.ends[:0]
	for _, key := range p.versDirty {
		lo := len(p.ends)
		for i := range v.keys[key].vers {
			w := &v.keys[key].vers[i]
			p.ends = append(p.ends, versionTimes{w.d, w.maxC})
		}
		p.vers = append(p.vers, keyCopy{key: key, lo: lo, hi: len(p.ends)})
	}
	p.locks, p.rels = p.locks[:0], p.rels[:0]
	for _, key := range p.locksDirty {
		lo := len(p.rels)
		for i := range v.keys[key].locks {
			p.rels = append(p.rels, v.keys[key].locks[i].rel)
		}
		p.locks = append(p.locks, keyCopy{key: key, lo: lo, hi: len(p.rels)})
	}
	p.versDirty, p.locksDirty = p.versDirty[:0], p.locksDirty[:0]
	p.nodes, p.edges = p.nodes[:0], p.edges[:0]
	if g := &v.g; g.on {
		p.base = g.base
		for s := g.base; s < g.next; s++ {
			n := g.at(s)
			lo := len(p.edges)
			if !n.gone {
				for i := range n.out {
					p.edges = append(p.edges, n.out[i].to)
				}
			}
			p.nodes = append(p.nodes, nodeCopy{n.c, n.d, n.nin, lo, len(p.edges), n.gone})
		}
	}
	p.busy = true
	p.group.Go(p.decide)
}

// settle waits for the goroutine and forgets what it has decided.
func (v *Verifier) settle() {
	p := &v.async
	if !p.busy {
		return
	}
	p.group.Wait()
	p.busy = false
	for _, c := range p.vers {
		k := &v.keys[c.key]
		n := 0
		for n < len(k.vers) && k.vers[n].d < c.pivot {
			n++
		}
		v.dropVersions(k, n)
		k.versLimit = int32(len(k.vers)+len(k.vers)/2) + 3
	}
	for _, c := range p.locks {
		k := &v.keys[c.key]
		if c.pivot > -Forever {
			v.dropLocks(k, c.pivot)
		}
		k.locksLimit = int32(2*len(k.locks)) + 4
	}
	for left := p.forget; len(left) > 0; {
		stay := left[:0]
		for _, s := range left {
			if v.g.at(s).nin == 0 {
				v.g.forget(s)
			} else {
				stay = append(stay, s) // there is an edge that came since
			}
		}
		if len(stay) == len(left) {
			break
		}
		left = stay
	}
	v.g.advance()
}

// decide is the goroutine.
func (p *pruning) decide() {
	for i := range p.vers {
		c := &p.vers[i]
		c.pivot = -Forever
		n := c.lo
		for n < c.hi && p.ends[n].d < p.floor {
			n++
		}
		if n > c.lo {
			c.pivot = p.ends[n-1].maxC
		}
	}
	for i := range p.locks {
		c := &p.locks[i]
		c.pivot = -Forever
		for _, rel := range p.rels[c.lo:c.hi] {
			if rel < p.floor {
				c.pivot = p.floor
				break
			}
		}
	}
	p.forget, p.stack = p.forget[:0], p.stack[:0]
	for i := range uint32(len(p.nodes)) {
		if n := &p.nodes[i]; n.c >= p.floor {
			break
		} else if !n.gone && n.nin == 0 && n.d < p.floor {
			p.stack = append(p.stack, i)
		}
		for len(p.stack) > 0 {
			n := &p.nodes[p.stack[len(p.stack)-1]]
			p.forget = append(p.forget, p.base+uint64(p.stack[len(p.stack)-1]))
			p.stack = p.stack[:len(p.stack)-1]
			n.gone = true
			for e := n.hi - 1; e >= n.lo; e-- {
				to := uint32(p.edges[e] - p.base)
				m := &p.nodes[to]
				if m.nin--; m.nin == 0 && m.d < p.floor && to <= i {
					p.stack = append(p.stack, to)
				}
			}
		}
	}
}

// dropVersions forgets the first n versions of a key.
func (v *Verifier) dropVersions(k *keyState, n int) {
	if n == 0 {
		return
	}
	for i := range k.vers[:n] {
		v.dropReaders(&k.vers[i])
		v.graves.version(k, i)
	}
	k.vers = k.vers[:copy(k.vers, k.vers[n:])]
	k.last -= int32(n)
	v.versions -= n
}

// dropLocks forgets locks that were released before a moment.
func (v *Verifier) dropLocks(k *keyState, before int64) {
	n := 0
	most := int64(-Forever)
	for _, m := range k.locks {
		if m.rel >= before {
			most = max(most, m.rel)
			m.maxRel = most
			k.locks[n] = m
			n++
		}
	}
	v.locks -= len(k.locks) - n
	k.locks = k.locks[:n]
}
