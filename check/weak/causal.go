package weak

import (
	"isovet/history"
	"isovet/internal/graph"
	"isovet/internal/slice"
)

var (
	// maxGuesses bounds the commit orders that causal guesses before it computes all orders that the axiom demands.
	maxGuesses = 6
	// maxWalk bounds the writers that a guess examines, per read on average: those between the version that a read saw
	// and the reader.
	maxWalk = 64
)

// causal guesses a commit order that keeps sessions, reads and the orders demanded so far, and replays it. A read that
// sees the current version of its key obeys the axiom, because no other writer of the key is between its writer and the
// reader. For any other read, each writer between the two that is visible to the reader must precede the version read:
// causal demands that order. If no read demands an order, the guess is a commit order.
//
// After a few guesses, or if too many writers are in between, causal computes all orders that the axiom demands: for
// each read one from each session, of its last writer of the key that is visible to the reader.
func (c *checker) causal() Answer {
	topo := graph.SortIndex(c.hint())
	budget := maxWalk * (len(c.v.RW) + c.n)
	p := newPast(c)
	for {
		var ok bool
		current := false
		if c.rounds == 0 && c.fresh() {
			if topo, current, ok = p.first(topo, &budget); ok && !current && !c.stopped {
				if order, ok := p.serial(topo); ok {
					return c.holds(order)
				}
			}
		} else if topo, ok = c.arrange(topo); ok && c.rounds == 0 && !c.o.NoGuess {
			p.order(topo)
			current = p.current()
		}
		switch {
		case c.stopped:
			return c.answer(Stopped)
		case !ok:
			return c.violated(c.graph())
		}
		if c.o.NoGuess || c.rounds == maxGuesses || budget <= 0 {
			break
		}
		c.rounds++
		before := len(c.demands)
		if current {
			return c.holds(topo)
		}
		c.sources()
		p.order(topo)
		p.replay(&budget)
		switch {
		case c.stopped:
			return c.answer(Stopped)
		case len(c.broken) > 0:
			return c.violated(nil)
		case len(c.demands) == before && budget > 0:
			return c.holds(topo)
		}
	}
	c.demands = c.demands[:0]
	c.sources()
	p.order(topo)
	p.all()
	switch {
	case c.stopped:
		return c.answer(Stopped)
	case len(c.broken) > 0:
		return c.violated(nil)
	}
	if topo, ok := c.arrange(topo); ok {
		return c.holds(topo)
	}
	return c.violated(c.graph())
}

// past says which transactions are visible to each transaction. A session with two or more counting transactions is a
// chain: a transaction's clock says how much of each chain it sees. A transaction without a chain, such as one of
// unknown outcome, is visible only through its readers, and sees searches those.
//
// Invariant: uses of a node counts the readers and the successor that topo has not reached yet. When it falls to zero,
// the node's clock is dropped.
type past struct {
	*checker
	topo []int32
	at   []int32 // node → place in topo

	cur   []uint32 // key → the last write so far, which may be the initial one
	older []uint32 // write → the one of its key before it

	chain, place []int32 // node → its chain or -1, and its place in it from 1
	chains       int
	row          []int32  // node → its clock's place in rows, or -1
	used, uses   []uint32 // node → how many need its clock; how many of them are still to come
	rows         []int32
	free         []int32
	now          []int32 // the clock of the node at hand
	rdOff        []uint32
	rd           []int32
	mark         []int32 // of a look-up, by node
	asked        int32
	stack        []int32
}

func newPast(c *checker) *past {
	return &past{checker: c, at: make([]int32, c.n), cur: make([]uint32, c.h.NumKeys()), older: make([]uint32,
		len(c.v.WKey))}
}

// order sets topo, the guess that the next replay walks.
func (p *past) order(topo []int32) {
	p.topo = topo
	for i, t := range topo {
		p.at[t] = int32(i)
	}
	p.restart()
}

// restart makes the initial version of every key current.
func (p *past) restart() {
	for k := range p.cur {
		p.cur[k] = uint32(k)
	}
}

// install makes t's writes the current versions.
func (p *past) install(t int32) {
	v := p.v
	for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
		k := v.WKey[w]
		p.older[w], p.cur[k] = p.cur[k], w
	}
}

// current reports whether each read of the guess sees the current version. If so, the clocks, which cost sessions ×
// transactions, are not needed.
func (p *past) current() bool {
	v := p.v
	for i, t := range p.topo {
		if p.stop(i) {
			return false
		}
		if !v.Counts[t] {
			continue
		}
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			if p.cur[v.RKey[r]] != v.RW[r] {
				return false
			}
		}
		p.install(t)
	}
	return true
}

// replay walks the guess. For each read of an older version than the current one, it finds the writers in between that
// are visible to the reader, and demands that they precede that version.
func (p *past) replay(budget *int) {
	v := p.v
	p.startClocks()
	for i, t := range p.topo {
		if p.stop(i) || p.enough() {
			return
		}
		if !v.Counts[t] {
			continue
		}
		p.tick(t)
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			for w := p.cur[v.RKey[r]]; w != v.RW[r] && !v.Initial(w) && *budget > 0; w = p.older[w] {
				*budget--
				if p.sees(t, int32(v.WTxn[w])) {
					p.demand(w, r)
				}
			}
		}
		p.install(t)
		p.keep(t)
	}
}

// startClocks computes the chains at the first call, and drops all clocks.
func (p *past) startClocks() {
	p.rows, p.free = p.rows[:0], p.free[:0]
	if p.chain == nil {
		p.makeChains()
	}
	copy(p.uses, p.used)
	for t := range p.row {
		p.row[t] = -1
	}
}

func (p *past) makeChains() {
	v, h := p.v, p.h
	p.chain, p.place = make([]int32, p.n), make([]int32, p.n)
	p.row, p.uses, p.used = make([]int32, p.n), make([]uint32, p.n), make([]uint32, p.n)
	p.mark = make([]int32, p.n)
	for t := range p.chain {
		p.chain[t] = -1
		p.mark[t] = -1
	}
	for _, u := range p.prev {
		if u >= 0 {
			p.used[u]++
		}
	}
	for s := range h.NumSessions() {
		n := int32(0)
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			// A transaction that only transactions of unknown outcome follow needs a chain too: they see it.
			if v.Counts[t] && h.Txns.Status[t] != history.Unknown && (p.prev[t] >= 0 || p.used[t] > 0) {
				n++
				p.chain[t], p.place[t] = int32(p.chains), n
			}
		}
		if n > 0 {
			p.chains++
		}
	}
	loners := false
	for _, u := range p.src {
		if u >= 0 {
			p.used[u]++
			loners = loners || p.chain[u] < 0
		}
	}
	p.now = make([]int32, p.chains)
	if loners {
		p.rdOff, p.rd = v.Readers(slice.Numbers[uint32](int(p.n)))
	}
}

// clock returns the stored clock of node t.
func (p *past) clock(t int32) []int32 {
	at := int(p.row[t]) * p.chains
	return p.rows[at : at+p.chains]
}

// tick sets now to the clock of t: how much of each chain t sees.
func (p *past) tick(t int32) {
	if u := p.prev[t]; u >= 0 {
		copy(p.now, p.clock(u))
		p.see(u)
		p.drop(u)
	} else {
		clear(p.now)
	}
	v := p.v
	for _, u := range p.src[v.ROff[t]:v.ROff[t+1]] {
		if u < 0 {
			continue
		}
		if s := p.chain[u]; s < 0 || p.now[s] < p.place[u] {
			for i, x := range p.clock(u) {
				p.now[i] = max(p.now[i], x)
			}
			p.see(u)
		}
		p.drop(u)
	}
}

func (p *past) see(u int32) {
	if s := p.chain[u]; s >= 0 {
		p.now[s] = max(p.now[s], p.place[u])
	}
}

// drop counts one user of u's clock less, and frees the clock after the last one.
func (p *past) drop(u int32) {
	if p.uses[u]--; p.uses[u] == 0 {
		p.free = append(p.free, p.row[u])
		p.row[u] = -1
	}
}

// keep stores now as t's clock, unless no later transaction needs it.
func (p *past) keep(t int32) {
	if p.uses[t] == 0 {
		return
	}
	if n := len(p.free); n > 0 {
		p.row[t] = p.free[n-1]
		p.free = p.free[:n-1]
	} else if p.row[t] = 0; p.chains > 0 {
		p.row[t] = int32(len(p.rows) / p.chains)
		p.rows = append(p.rows, p.now...)
	}
	copy(p.clock(t), p.now)
}

// sees reports whether u is visible to t. The clock of t must be in now.
func (p *past) sees(t, u int32) bool {
	if s := p.chain[u]; s >= 0 {
		return p.now[s] >= p.place[u]
	}
	if p.rdOff == nil {
		return false // no reader of a transaction without a chain
	}
	p.asked++
	p.stack = append(p.stack[:0], u)
	for len(p.stack) > 0 {
		u := p.stack[len(p.stack)-1]
		p.stack = p.stack[:len(p.stack)-1]
		for w := p.v.WOff[u]; w < p.v.WOff[u+1]; w++ {
			for _, r := range p.rd[p.rdOff[w]:p.rdOff[w+1]] {
				switch s := p.chain[r]; {
				case r == t || s >= 0 && p.now[s] >= p.place[r]:
					return true
				case s < 0 && p.mark[r] != p.asked && p.at[r] < p.at[t]:
					p.mark[r] = p.asked
					p.stack = append(p.stack, r)
				}
			}
		}
	}
	return false
}

// all demands every order that the axiom does. For each read, these transactions must precede the version read: the
// last visible writer of its key in each other chain, and each visible writer without a chain.
//
// Source: [AWDIT], causal consistency. Cost: reads × the chains that write the key, with one binary search each.
func (p *past) all() {
	v := p.v
	p.startClocks()
	// by has the writes of each key, sorted by chain and place; writes without a chain come first.
	nk := p.h.NumKeys()
	sort := graph.NewGroups[uint32](nk)
	for w := nk; w < len(v.WKey); w++ {
		if v.Counts[v.WTxn[w]] { // the view keeps writes of open outcomes that are not seen
			sort.Count(v.WKey[w])
		}
	}
	by := make([]uint32, sort.Sum())
	end := make([]uint32, len(by))
	add := func(t uint32) {
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			by[sort.Place(v.WKey[w])] = w
		}
	}
	for t := range uint32(p.n) {
		if v.Counts[t] && p.chain[t] < 0 {
			add(t)
		}
	}
	for s := range p.h.NumSessions() {
		for _, t := range p.h.SessTxn[p.h.SessOff[s]:p.h.SessOff[s+1]] {
			if v.Counts[t] && p.chain[t] >= 0 {
				add(t)
			}
		}
	}
	off := sort.Off()
	chain := func(i uint32) int32 { return p.chain[v.WTxn[by[i]]] }
	for k := range nk {
		for i := off[k+1]; i > off[k]; i-- {
			if end[i-1] = i; i < off[k+1] && chain(i) == chain(i-1) {
				end[i-1] = end[i]
			}
		}
	}
	for i, t := range p.topo {
		if p.stop(i) || p.enough() {
			return
		}
		if !v.Counts[t] {
			continue
		}
		p.tick(t)
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			k := v.RKey[r]
			for i := off[k]; i < off[k+1]; {
				w, s := by[i], chain(i)
				if s < 0 {
					i++
					if u := int32(v.WTxn[w]); u == p.src[r] || u == t || !p.sees(t, u) {
						continue
					}
				} else {
					lo, hi := i, end[i] // the last one with a place that t sees
					i = hi
					for lo < hi {
						if m := lo + (hi-lo)/2; p.place[v.WTxn[by[m]]] <= p.now[s] {
							lo = m + 1
						} else {
							hi = m
						}
					}
					if lo == 0 || lo == off[k] || chain(lo-1) != s {
						continue
					}
					if w = by[lo-1]; w == v.RW[r] {
						continue
					}
				}
				p.demand(w, r)
			}
		}
		p.keep(t)
	}
}
