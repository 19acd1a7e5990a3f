package weak

import (
	"isovet/history"
	"isovet/internal/graph"
	"isovet/level"
)

// maxDirect bounds the same as maxWalk, at the levels below causal, where the rules are cheaper.
var maxDirect = 8

// guessed guesses commit orders at read-committed or read-atomic, as causal does at its level. It returns false if no
// guess is a commit order; the level may hold nevertheless.
func (c *checker) guessed() (order []int32, ok bool) {
	if c.o.NoGuess {
		return nil, false
	}
	order = graph.SortIndex(c.hint())
	budget := maxDirect * (len(c.v.RW) + c.n)
	p := newPast(c)
	for range maxGuesses {
		before := len(c.demands)
		if c.rounds == 0 && c.fresh() {
			if order, _, ok = p.first(order, &budget); !ok {
				break
			}
		} else {
			if order, ok = c.arrange(order); !ok {
				break
			}
			p.order(order)
			p.direct(&budget)
		}
		c.rounds++
		if c.stopped || len(c.broken) > 0 || budget <= 0 {
			break
		}
		if len(c.demands) == before {
			return order, true
		}
	}
	c.demands, c.broken = c.demands[:0], nil // start again, with the rules alone
	return nil, false
}

// direct is replay for the levels where visibility needs no clocks: a writer is visible only by a direct read, or at
// read-atomic also by session order.
func (p *past) direct(budget *int) {
	v := p.v
	for i, t := range p.topo {
		if p.stop(i) || p.enough() {
			return
		}
		if !v.Counts[t] {
			continue
		}
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			if p.cur[v.RKey[r]] != v.RW[r] {
				p.stale(t, r, budget)
			}
		}
		p.install(t)
	}
}

// stale demands, for a read r of t that does not see the current version: each later writer of its key that is visible
// to t, by a read or by session order, precedes r's writer.
func (p *past) stale(t int32, r uint32, budget *int) {
	v := p.v
	lo, hi := v.ROff[t], v.ROff[t+1]
	for w := p.cur[v.RKey[r]]; w != v.RW[r] && !v.Initial(w) && *budget > 0; w = p.older[w] {
		*budget -= 1 + int(hi-lo)/fewWrites
		u := int32(v.WTxn[w])
		if p.level == level.ReadCommitted && p.readsFrom(lo, p.turn(lo, r+1), u) ||
			p.level != level.ReadCommitted && (p.readsFrom(lo, hi, u) || p.follows(t, u)) {
			p.demand(w, r)
		}
	}
}

// readsFrom reports whether a read in lo ≤ r < hi is from u.
func (c *checker) readsFrom(lo, hi uint32, u int32) bool {
	for r := lo; r < hi; r++ {
		if c.source(r) == u {
			return true
		}
	}
	return false
}

// follows reports whether t comes after u in their session, and so sees u. The guess has u before t.
func (p *past) follows(t, u int32) bool {
	h, last := p.h, p.prev[t]
	return last >= 0 && h.Txns.Sess[u] == h.Txns.Sess[t] && h.Txns.Status[u] != history.Unknown && p.at[u] <= p.at[last]
}

// arrange returns an order near the given one that keeps sessions, reads, known version orders and demanded orders. It
// places each transaction as near asks, or as soon after as all its predecessors are placed. It returns false if there
// is a cycle. Function first does the same without looking up the writers of reads.
//
// Invariant: each transaction that waits is in the list of one transaction that it waits for.
// Cost: linear. If near is about the order of the file, memory is read in that order too.
func (c *checker) arrange(near []int32) (order []int32, ok bool) {
	v := c.v
	c.sources()
	more := graph.BuildFunc(c.n, func(emit func(u, v int32)) { // predecessors other than sessions and reads
		if c.o.Known.Rank != nil {
			c.o.Known.Orders(func(t, u int32) { emit(u, t) })
		}
		for _, d := range c.demands {
			emit(d.to, d.from)
		}
	})
	came := make([]bool, c.n)
	seen := make([]uint32, c.n) // node → how many of its reads, then of its successors in more, are placed
	missing := func(t int32) int32 {
		if u := c.prev[t]; u >= 0 && !came[u] {
			return u
		}
		reads := c.src[v.ROff[t]:v.ROff[t+1]]
		i := int(seen[t])
		for ; i < len(reads); i++ {
			if u := reads[i]; u >= 0 && !came[u] {
				seen[t] = uint32(i)
				return u
			}
		}
		for succ := more.Succ(t); i < len(reads)+len(succ); i++ {
			if u := succ[i-len(reads)]; !came[u] {
				seen[t] = uint32(i)
				return u
			}
		}
		return -1
	}
	waits := make([]int32, c.n) // node → 1 + the head of the list of nodes that wait for it
	next := make([]int32, c.n)  // waiting node → 1 + the next node of its list
	order = make([]int32, 0, c.n)
	for _, t := range near {
		if u := missing(t); u >= 0 {
			waits[u], next[t] = t+1, waits[u]
			continue
		}
		from := len(order)
		came[t] = true
		order = append(order, t)
		for ; from < len(order); from++ { // each placed node may free nodes that wait for it
			for w := waits[order[from]]; w > 0; {
				t := w - 1
				w = next[t]
				if u := missing(t); u >= 0 {
					waits[u], next[t] = t+1, waits[u]
				} else {
					came[t] = true
					order = append(order, t)
				}
			}
		}
	}
	return order, len(order) == c.n
}
