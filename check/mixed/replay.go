package mixed

import (
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/solver"
	"isovet/solver/acyclic"
)

type replaying struct {
	pos   []int32    // node → its place
	seq   [][]uint32 // key → its writes in the order of commits, the initial one left out
	rank  []uint32   // write → its place in that, from 1; 0: initial, or not yet committed
	stale []uint32   // reads of the transaction at hand of versions that are not current
	alone []evidence.Edge
	// stamp: transaction → the epoch of the reader that sees it; by: the read or session through which. walked:
	// transaction → the epoch in which all before it in its session were visited.
	stamp  []uint32
	by     []evidence.Edge
	walked []uint32
	epoch  uint32
	stack  []uint32
}

// fewOver is how many of the first and of the last overwriters of a version get a constraint per round.
const fewOver = 6

// replay walks the events and turns failures into constraints. It returns the order of the counting events.
func (e *engine) replay(nodes []int32) (events []uint32) {
	for i, x := range nodes {
		e.pos[x] = int32(i)
	}
	for k := range e.seq {
		e.seq[k] = e.seq[k][:0]
	}
	clear(e.rank)
	for _, x := range nodes {
		t := uint32(x) / 2
		if int(t) >= e.h.NumTxns() || !e.takesPart(t) || x&1 == 0 && !e.at[t].Snapshot() {
			continue
		}
		if x == e.begin(t) {
			events = append(events, 2*t)
			if e.reads(t); e.alone != nil {
				return nil
			}
		}
		if x&1 == 0 {
			continue
		}
		events = append(events, 2*t+1)
		for w := e.v.WOff[t]; w < e.v.WOff[t+1]; w++ {
			k := e.v.WKey[w]
			if e.at[t].Snapshot() {
				e.concurrent(t, k)
			}
			e.seq[k] = append(e.seq[k], w)
			e.rank[w] = uint32(len(e.seq[k]))
		}
	}
	return events
}

// over returns the writes so far that come after the version that r read.
func (e *engine) over(r uint32) []uint32 { return e.seq[e.v.RKey[r]][e.rank[e.v.RW[r]]:] }

// reads examines the reads of t at its begin event, or at its commit.
func (e *engine) reads(t uint32) {
	e.stale = e.stale[:0]
	for r := e.v.ROff[t]; r < e.v.ROff[t+1]; r++ {
		if len(e.over(r)) > 0 {
			e.stale = append(e.stale, r)
		}
	}
	if len(e.stale) == 0 {
		return
	}
	switch e.at[t] {
	case level.ReadCommitted:
		e.readCommitted(t)
	case level.ReadAtomic:
		e.readAtomic(t)
	case level.Causal:
		e.causal(t)
	default:
		for _, r := range e.stale {
			over := e.over(r)
			for i, w := range over {
				if i < fewOver || i >= len(over)-fewOver {
					e.before(t, r, w)
				}
			}
		}
	}
}

// before adds the constraint that t precedes write w, which overwrote what r read, unless w precedes that version.
func (e *engine) before(t, r, w uint32) {
	b := e.v.WTxn[w]
	if !e.fresh(r, b) {
		return
	}
	key := e.v.RKey[r]
	why := edge(t, b, evidence.RW)
	why.Key, why.Ver, why.Writer = key, e.v.RVer(r), e.v.WTxn[e.v.RW[r]]
	from, to := e.begin(t), e.commit(b)
	if slices.Contains(e.v.WKey[e.v.WOff[t]:e.v.WOff[t+1]], key) {
		from, to = e.commit(t), e.begin(b)
	}
	l := e.top
	if why.Writer != none {
		l = e.pair(e.v.RW[r], w)
	}
	e.guard(acyclic.Guard{Lit: l, From: from, To: to}, why, nil)
}

// fresh reports whether a constraint is new.
func (e *engine) fresh(r, b uint32) bool {
	k := [2]uint32{r, b}
	if e.made[k] {
		return false
	}
	e.made[k] = true
	return true
}

func (e *engine) guard(g acyclic.Guard, why evidence.Edge, proof []evidence.Edge) {
	e.guards, e.says, e.proofs = append(e.guards, g), append(e.says, why), append(e.proofs, proof)
}

// pair returns the literal "v's transaction commits before w's" for two writes of one key.
func (e *engine) pair(v, w uint32) solver.Lit {
	a, b := e.v.WTxn[v], e.v.WTxn[w]
	if a > b {
		return e.pair(w, v).Not()
	}
	x, ok := e.pairs[[2]uint32{a, b}]
	if !ok {
		x = e.s.NewVar()
		e.pairs[[2]uint32{a, b}] = x
		e.s.SetPhase(x, e.pos[e.commit(a)] < e.pos[e.commit(b)])
		e.guard(acyclic.Guard{Lit: solver.Pos(x), From: e.commit(a), To: e.begin(b)}, e.ww(v, w), nil)
		e.guard(acyclic.Guard{Lit: solver.Neg(x), From: e.commit(b), To: e.begin(a)}, e.ww(w, v), nil)
	}
	return solver.Pos(x)
}

func (e *engine) ww(v, w uint32) evidence.Edge {
	why := edge(e.v.WTxn[v], e.v.WTxn[w], evidence.WW)
	why.Key, why.Ver = e.v.WKey[w], e.v.WVer[w]
	return why
}

// concurrent adds constraints if another transaction committed key k between the begin and the commit of t.
func (e *engine) concurrent(t, k uint32) {
	seq := e.seq[k]
	i := len(seq)
	for i > 0 && e.pos[e.commit(e.v.WTxn[seq[i-1]])] > e.pos[e.begin(t)] {
		i--
	}
	if i == len(seq) {
		return
	}
	for w := e.v.WOff[t]; w < e.v.WOff[t+1]; w++ {
		if e.v.WKey[w] == k {
			e.pair(seq[i], w)
			e.pair(seq[len(seq)-1], w)
		}
	}
}

// visible adds the fact that write w comes before the version that read r of t saw. w is visible to t, as path shows.
func (e *engine) visible(t, r, w uint32, path func() []evidence.Edge) {
	b, seen := e.v.WTxn[w], e.v.RW[r]
	if !e.fresh(r, b) {
		return
	}
	why := edge(t, b, evidence.RW)
	why.Key, why.Ver, why.Writer = e.v.RKey[r], e.v.RVer(r), e.v.WTxn[seen]
	proof := append([]evidence.Edge{why}, path()...)
	if why.Writer == none {
		e.alone = proof
		return
	}
	e.guard(acyclic.Guard{Lit: e.top, From: e.commit(b), To: e.begin(why.Writer)}, e.ww(w, seen), proof)
}

// direct calls visible for the writers after r's version that are stamped.
func (e *engine) direct(t, r uint32) {
	for _, w := range e.over(r) {
		if u := e.v.WTxn[w]; e.stamp[u] == e.epoch && e.alone == nil {
			e.visible(t, r, w, func() []evidence.Edge { return e.path(t, u) })
		}
	}
}

// path returns the evidence that u is in the past of t.
func (e *engine) path(t, u uint32) (c []evidence.Edge) {
	for u != t {
		c = append(c, e.by[u])
		u = e.by[u].To
	}
	return c
}

// readCommitted adds the facts for the stale reads of t, which sees the transactions that it read from before the read.
func (e *engine) readCommitted(t uint32) {
	e.epoch++
	for r := e.v.ROff[t]; r < e.v.ROff[t+1] && e.alone == nil; r++ {
		e.direct(t, r)
		if u := e.v.WTxn[e.v.RW[r]]; u != none && e.stamp[u] != e.epoch {
			e.stamp[u], e.by[u] = e.epoch, e.wr(r, t)
		}
	}
}

// readAtomic adds the facts for the stale reads of t at read-atomic, where t sees the transactions that it read from
// and those before it in its session.
func (e *engine) readAtomic(t uint32) {
	e.epoch++
	for r := e.v.ROff[t]; r < e.v.ROff[t+1]; r++ {
		if u := e.v.WTxn[e.v.RW[r]]; u != none {
			e.stamp[u], e.by[u] = e.epoch, e.wr(r, t)
		}
	}
	for _, r := range e.stale {
		for _, w := range e.over(r) {
			u := e.v.WTxn[w]
			if e.alone == nil && e.stamp[u] != e.epoch && e.h.Txns.Sess[u] == e.h.Txns.Sess[t] &&
				e.h.Txns.Status[u] == history.Committed && e.place[u] < e.place[t] {
				e.stamp[u], e.by[u] = e.epoch, edge(u, t, evidence.SO)
			}
		}
		if e.alone == nil {
			e.direct(t, r)
		}
	}
}

// causal adds the facts for the stale reads of t at causal, where t sees all transactions that precede it by reads, or
// by session order where levels ask for that.
func (e *engine) causal(t uint32) {
	e.epoch++
	oldest := e.pos[e.commit(t)]
	for _, r := range e.stale {
		oldest = min(oldest, e.pos[e.commit(e.v.WTxn[e.over(r)[0]])])
	}
	push := func(why evidence.Edge) {
		if u := why.From; e.stamp[u] != e.epoch && e.pos[e.commit(u)] >= oldest {
			e.stamp[u], e.by[u] = e.epoch, why
			e.stack = append(e.stack, u)
		}
	}
	e.stack = append(e.stack[:0], t)
	for len(e.stack) > 0 {
		u := e.stack[len(e.stack)-1]
		e.stack = e.stack[:len(e.stack)-1]
		for r := e.v.ROff[u]; r < e.v.ROff[u+1]; r++ {
			if e.v.WTxn[e.v.RW[r]] != none {
				push(e.wr(r, u))
			}
		}
		if !e.at[u].Sessions() {
			continue
		}
		for q := e.prev[u]; q != none && e.walked[q] != e.epoch; q = e.prev[q] {
			e.walked[q] = e.epoch
			push(edge(q, u, evidence.SO))
			if e.at[q].Sessions() && e.pos[e.commit(q)] < oldest {
				break // those before it are earlier
			}
		}
	}
	for _, r := range e.stale {
		if e.alone == nil {
			e.direct(t, r)
		}
	}
}
