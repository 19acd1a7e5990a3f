package certify

import (
	"cmp"
	"slices"

	"isovet/history"
	"isovet/level"
)

// causal replays the order. If a transaction reads an older version than the current one, its past must have no later
// writer of the key. Clocks answer this: they say how much of each session a transaction sees. If a later writer has no
// clock, causal walks the past instead.
func (x *commitOrder) causal(o Options) error { return x.causalBy(x.newClocks(), asksAlways, o) }

// causalBy is causal with these clocks. Only transactions that ask for session order see the earlier ones of theirs.
func (x *commitOrder) causalBy(c *clocks, asks func(t uint32) bool, o Options) error {
	cur := make([]uint32, x.h.NumKeys())
	// older has for each place in keys 1 + the place of the previous write of that key, or 0.
	older := make([]uint32, len(x.keys))
	last := make([]uint32, x.h.NumKeys())
	writer := make([]uint32, len(x.keys))
	mark := make([]uint32, len(x.order)+1)
	var stale []weakRead
	var runs *writerRuns
	for p := uint32(1); int(p) <= len(x.order); p++ {
		if p&0xfff == 0 && o.Stop != nil && o.Stop() {
			return ErrStopped
		}
		c.enter(p)
		stale = stale[:0]
		walk := false
		for _, r := range x.readsOf(p) {
			if cur[r.key] == r.from {
				continue
			}
			stale = append(stale, r)
			i, steps := last[r.key], 0
			for ; i > 0 && writer[i-1] > r.from && steps < fewWriters; i, steps = older[i-1], steps+1 {
				if w := writer[i-1]; c.session[w] == history.None {
					walk = true
				} else if c.sees(w) {
					return x.broken(p, r.key, w)
				}
			}
			if steps == fewWriters && i > 0 {
				if runs == nil {
					runs = c.runs()
				}
				w, alone := runs.visible(p, r, c.now)
				if w > 0 {
					return x.broken(p, r.key, w)
				}
				walk = walk || alone
			}
		}
		if walk && x.judged(p, level.Causal) {
			if err := x.walkPast(p, c.before, asks, stale, mark); err != nil {
				return err
			}
		}
		c.leave(p)
		for i := x.wOff[p]; i < x.wOff[p+1]; i++ {
			k := x.keys[i]
			cur[k], writer[i], older[i], last[k] = p, p, last[k], i+1
		}
	}
	return nil
}

// fewWriters is the number of writers of a key that causal examines one by one, latest first. If there are more, it
// searches whole sessions.
var fewWriters = 16

// writerRuns has the places of the writers of each key, sorted by session. The runs of key k are off[k] to off[k+1].
// Run i has the writers in session[i], or those without a clock if that is None: place[lo[i]:lo[i+1]], ascending.
type writerRuns struct {
	off, session, lo, place []uint32
}

func (c *clocks) runs() *writerRuns {
	x := c.x
	nk := x.h.NumKeys()
	at := make([]uint32, nk+1)
	for _, k := range x.keys {
		at[k+1]++
	}
	for k := range nk {
		at[k+1] += at[k]
	}
	r := &writerRuns{off: make([]uint32, nk+1), place: make([]uint32, len(x.keys))}
	next := slices.Clone(at)
	for p := uint32(1); int(p) <= len(x.order); p++ {
		for _, k := range x.wrote(p) {
			r.place[next[k]] = p
			next[k]++
		}
	}
	for k := range nk {
		ps := r.place[at[k]:at[k+1]]
		slices.SortStableFunc(ps, func(a, b uint32) int { return cmp.Compare(c.session[a], c.session[b]) })
		for i, p := range ps {
			if i == 0 || c.session[p] != c.session[ps[i-1]] {
				r.session = append(r.session, c.session[p])
				r.lo = append(r.lo, at[k]+uint32(i))
			}
		}
		r.off[k+1] = uint32(len(r.session))
	}
	r.lo = append(r.lo, uint32(len(r.place)))
	return r
}

// visible returns a writer of the read's key that the clock sees, later than the writer that was read from, or 0. If it
// is 0, alone reports whether a writer without a clock is later. Cost: logarithmic in the number of the key's writers,
// for each session that writes the key.
func (r *writerRuns) visible(p uint32, read weakRead, now []uint32) (w uint32, alone bool) {
	for i := r.off[read.key]; i < r.off[read.key+1]; i++ {
		until := p - 1
		if s := r.session[i]; s != history.None {
			until = now[s]
		}
		ps := r.place[r.lo[i]:r.lo[i+1]]
		n, found := slices.BinarySearch(ps, until)
		if found {
			n++
		}
		if n == 0 || ps[n-1] <= read.from {
			continue
		}
		if r.session[i] != history.None {
			return ps[n-1], false
		}
		alone = true
	}
	return 0, alone
}

// walkPast walks the past of the transaction at place p, by sessions and reads. Its error reports a writer in it that
// is later than the version that a stale read of the same key saw.
func (x *commitOrder) walkPast(p uint32, before []uint32, asks func(t uint32) bool, stale []weakRead,
	mark []uint32) error {
	oldest := p
	for _, r := range stale {
		oldest = min(oldest, r.from)
	}
	stack := []uint32{p}
	look := func(w uint32) error {
		if w <= oldest || mark[w] == p {
			return nil
		}
		mark[w] = p
		stack = append(stack, w)
		for _, r := range stale {
			if _, ok := slices.BinarySearch(x.wrote(w), r.key); ok && r.from < w {
				return x.broken(p, r.key, w)
			}
		}
		return nil
	}
	for len(stack) > 0 {
		u := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for q := before[u]; q > 0 && asks(x.order[u-1]); q = before[q] {
			if err := look(q); err != nil {
				return err
			}
			if asks(x.order[q-1]) {
				break // it sees those before it
			}
		}
		for _, r := range x.readsOf(u) {
			if err := look(r.from); err != nil {
				return err
			}
		}
		for _, w := range x.seen[u] {
			if err := look(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// clocks stores the clocks of the transactions that later ones still need. A session has a clock only if two or more of
// its committed transactions are in the order.
type clocks struct {
	x       *commitOrder
	before  []uint32 // place → place of the committed transaction before it in its session, or 0
	session []uint32 // place → its session among those with clocks, None for the others and for unknown outcomes
	n       int
	waiting []uint32   // place → number of its readers and session successors to come
	clock   [][]uint32 // place → for each session, the last place that it sees
	spare   [][]uint32
	now     []uint32
}

func (x *commitOrder) newClocks() *clocks {
	h := x.h
	c := &clocks{x: x, before: x.sessionPredecessors()}
	size := len(x.order) + 1
	c.session, c.waiting, c.clock = make([]uint32, size), make([]uint32, size), make([][]uint32, size)
	for p, b := range c.before {
		c.session[p] = history.None
		c.waiting[b]++
	}
	for s := range h.NumSessions() {
		any := false
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			p := x.pos[t]
			if p != history.None && h.Txns.Status[t] == history.Committed && (c.before[p] > 0 || c.waiting[p] > 0) {
				c.session[p] = uint32(c.n)
				any = true
			}
		}
		if any {
			c.n++
		}
	}
	for _, r := range x.reads {
		c.waiting[r.from]++
	}
	for _, us := range x.seen {
		for _, u := range us {
			c.waiting[u]++
		}
	}
	c.now = make([]uint32, c.n)
	return c
}

// enter sets now to what the transaction at place p sees.
func (c *clocks) enter(p uint32) {
	clear(c.now)
	c.join(c.before[p])
	for _, r := range c.x.readsOf(p) {
		c.join(r.from)
	}
	for _, u := range c.x.seen[p] {
		c.join(u)
	}
}

func (c *clocks) join(u uint32) {
	if u == 0 {
		return
	}
	if s := c.session[u]; s == history.None || c.now[s] < u {
		for i, q := range c.clock[u] {
			c.now[i] = max(c.now[i], q)
		}
		if s != history.None {
			c.now[s] = u
		}
	}
	if c.waiting[u]--; c.waiting[u] == 0 {
		c.spare = append(c.spare, c.clock[u])
		c.clock[u] = nil
	}
}

// sees reports whether the last transaction that entered sees place u of a session. A session's places ascend.
func (c *clocks) sees(u uint32) bool { return c.now[c.session[u]] >= u }

// leave stores now as the clock of place p, if later transactions need it.
func (c *clocks) leave(p uint32) {
	if c.waiting[p] == 0 {
		return
	}
	if n := len(c.spare); n > 0 {
		c.clock[p] = c.spare[n-1]
		c.spare = c.spare[:n-1]
	} else {
		c.clock[p] = make([]uint32, c.n)
	}
	copy(c.clock[p], c.now)
}

// sessionPredecessors returns for each place the place of the committed transaction before it in its session, or 0.
func (x *commitOrder) sessionPredecessors() []uint32 {
	h := x.h
	out := make([]uint32, len(x.order)+1)
	for s := range h.NumSessions() {
		last := uint32(0)
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if p := x.pos[t]; p != history.None {
				out[p] = last
				if h.Txns.Status[t] == history.Committed {
					last = p
				}
			}
		}
	}
	return out
}
