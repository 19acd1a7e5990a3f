package weak

import "isovet/level"

// fresh reports whether first can make the first guess. It can if the order has to keep only sessions and reads, and no
// writers were picked.
func (c *checker) fresh() bool {
	return !c.o.NoGuess && c.o.Known.Rank == nil && c.ambAt == nil && len(c.demands) == 0
}

// first does the work of arrange and (below causal) of direct in one walk. It installs a transaction's writes as soon
// as it places it, so that a read of the current version needs no look-up of its writer. ok reports that the order
// keeps sessions and reads, or that the context ended; current, that each read sees the current version.
//
// Invariant: as in arrange. Cost: linear; one look at the key of each read and write.
func (p *past) first(near []int32, budget *int) (order []int32, current, ok bool) {
	v, prev, cur, at := p.v, p.prev, p.cur, p.at
	p.restart()
	for t := range at {
		at[t] = -1
	}
	var seen []uint32 // node → how many of its reads are known to have come; this and the next two are nil until needed
	var waits, next []int32
	// missing returns a predecessor of t that is not placed, or -1. now reports that t reads only current versions.
	missing := func(t int32) (u int32, now bool) {
		if u := prev[t]; u >= 0 && at[u] < 0 {
			return u, false
		}
		lo, now := v.ROff[t], true
		if seen != nil && seen[t] > 0 {
			lo, now = lo+seen[t], false
		}
		for r := lo; r < v.ROff[t+1]; r++ {
			if v.RW[r] == cur[v.RKey[r]] {
				continue
			}
			now = false
			if u := p.source(r); u >= 0 && at[u] < 0 {
				if seen != nil {
					seen[t] = r - v.ROff[t]
				}
				return u, false
			}
		}
		return -1, now
	}
	current = true
	order = make([]int32, 0, p.n)
	come := func(t int32, now bool) {
		at[t] = int32(len(order))
		order = append(order, t)
		if !v.Counts[t] {
			return
		}
		if !now {
			for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
				if v.RW[r] != cur[v.RKey[r]] {
					if current = false; p.level != level.Causal {
						p.stale(t, r, budget)
					}
				}
			}
		}
		p.install(t)
	}
	wait := func(t, u int32) {
		if seen == nil {
			seen, waits, next = make([]uint32, p.n), make([]int32, p.n), make([]int32, p.n)
		}
		waits[u], next[t] = t+1, waits[u]
	}
	for i, t := range near {
		if p.stop(i) {
			return order, false, true
		}
		u, now := missing(t)
		if u >= 0 {
			wait(t, u)
			continue
		}
		from := len(order)
		come(t, now)
		for ; waits != nil && from < len(order); from++ { // placed nodes may free others
			for w := waits[order[from]]; w > 0; {
				t := w - 1
				w = next[t]
				if u, now := missing(t); u >= 0 {
					wait(t, u)
				} else {
					come(t, now)
				}
			}
		}
	}
	return order, current, len(order) == p.n
}

// maxSerial bounds the serial orders that serial tries, and serialWalk the writers that it examines per operation. It
// gives up if more than one read in serialStale misses the current version.
var maxSerial, serialWalk, serialStale = 4, 2, 16

// serial looks for a serial order, near topo, that keeps sessions and reads. Most histories have one, and then no
// clocks are needed. It moves a reader before the writer that overwrote its version, until each read sees the current
// version. It returns false if that takes too long; causal may hold nevertheless.
func (p *past) serial(topo []int32) (order []int32, ok bool) {
	c, v := p.checker, p.v
	defer func() { c.demands = c.demands[:0] }()
	left, most := serialWalk*(len(v.RW)+c.n), 64+len(v.RW)/serialStale
	for range maxSerial {
		before := len(c.demands)
		p.order(topo)
		for i, t := range topo {
			if p.stop(i) || left < 0 || len(c.demands)-before > most {
				return nil, false
			}
			if !v.Counts[t] {
				continue
			}
			for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
				w := p.cur[v.RKey[r]]
				if w == v.RW[r] {
					continue
				}
				for p.older[w] != v.RW[r] && !v.Initial(p.older[w]) && left >= 0 {
					w = p.older[w]
					left--
				}
				c.demands = append(c.demands, demand{t, int32(v.WTxn[w]), r})
			}
			p.install(t)
		}
		if len(c.demands) == before {
			return topo, true
		}
		if topo, ok = c.arrange(topo); !ok {
			return nil, false
		}
	}
	return nil, false
}
