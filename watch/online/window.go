package online

import (
	"cmp"
	"context"
	"math"
	"slices"

	"isovet/check/prepass"
	"isovet/check/replay"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/solver"
)

// answer is the result of solving a window.
type answer uint8

const (
	stuck answer = iota
	solved
	unsolved
)

// window is the stretch at the end of the order that is being solved.
type window struct {
	from    int64
	members []uint32 // in the order, then those of the pool
	hint    []int64  // of members
	by      []int32  // members in the order of sessions
	keys    []uint32
	state   []uint64 // of keys, at the begin
	keyAt   map[uint32]int32
	seed    []uint32 // members that the refutation of the last order used
}

// gather makes the window from position from, or from an earlier one if a transaction would begin before the window
// and commit in it.
func (e *Engine) gather(from int64) {
	w := &e.w
	for p := e.tail() - 1; p >= from; p-- {
		if v := e.order[p-e.first]; v&3 == commits {
			from = min(from, e.slots[v.slot()].begin)
		}
	}
	e.members(from, e.tail()-1)
	e.addUnknown()
	e.stats.Largest = max(e.stats.Largest, len(w.members))
}

// members makes the transactions that begin or commit between two positions the window's members. It leaves gaps
// between their hints.
func (e *Engine) members(from, to int64) {
	w := &e.w
	w.from = from
	e.stamp++
	w.members, w.hint = w.members[:0], w.hint[:0]
	for p := from; p <= to; p++ {
		v := e.order[p-e.first]
		if v&3 == 0 {
			continue
		}
		t := v.slot()
		if x := &e.slots[t]; x.stamp != e.stamp {
			x.stamp = e.stamp
			w.members, w.hint = append(w.members, t), append(w.hint, 2*(p-from)+1)
		}
	}
	e.stats.Windows++
	e.stats.Largest = max(e.stats.Largest, len(w.members))
}

// addUnknown adds the transactions of the pool from which members may have read.
func (e *Engine) addUnknown() {
	w := &e.w
	if e.unknown.nPool == 0 {
		return
	}
	for i := 0; i < len(w.members); i++ {
		for _, r := range e.slots[w.members[i]].reads {
			if r.state != counts {
				continue
			}
			for _, t := range e.unknown.pool[kv{r.key, r.val}] {
				if x := &e.slots[t]; x.stamp != e.stamp && x.commit == nowhere {
					x.stamp = e.stamp
					e.unknowable(x)
					w.members, w.hint = append(w.members, t), append(w.hint, w.hint[i]-1)
				}
			}
		}
	}
}

// unknowable stops checking those reads of x, a transaction that may have committed, whose writers cannot be known.
func (e *Engine) unknowable(x *txn) {
	for i := range x.reads {
		if r := &x.reads[i]; e.mayUnseen(r.key, x.start) && r.state == counts && !e.exists(kv{r.key, r.val}) {
			r.state = excused
		}
	}
}

// begin finds the values of keys at the begin of the window.
func (e *Engine) begin() {
	w := &e.w
	slice.MakeMap(&w.keyAt)
	clear(w.keyAt)
	w.keys, w.state = w.keys[:0], w.state[:0]
	touch := func(k uint32) {
		if _, ok := w.keyAt[k]; ok {
			return
		}
		w.keyAt[k] = int32(len(w.keys))
		w.keys = append(w.keys, k)
		c := &e.cells[k]
		val := c.val
		for at := c.head; at != none; {
			y, v := e.at(at)
			if y.commit < w.from {
				val = v.val
				break
			}
			at = v.prev
		}
		w.state = append(w.state, val)
	}
	for _, t := range w.members {
		x := &e.slots[t]
		for i := range x.reads {
			if x.reads[i].state == counts {
				touch(x.reads[i].key)
			}
		}
	}
}

// sessions sorts the members session by session.
func (e *Engine) sessions(txns []uint32, by []int32) []int32 {
	by = by[:0]
	for i := range txns {
		by = append(by, int32(i))
	}
	if e.o.Level.Sessions() {
		for _, t := range txns {
			e.unrank(e.slots[t].sess)
		}
		for _, t := range txns {
			e.rank(e.slots[t].sess, e.slots[t].line)
		}
		slices.SortFunc(by, func(i, j int32) int {
			a, b := &e.slots[txns[i]], &e.slots[txns[j]]
			return cmp.Or(cmp.Compare(e.rankOf(a.sess), e.rankOf(b.sess)), cmp.Compare(a.seq, b.seq),
				cmp.Compare(a.line, b.line))
		})
	}
	return by
}

// unrank, and then rank for each transaction of a selection, order sessions by their first lines in it.
func (e *Engine) unrank(sess uint32) {
	if sess != NoSession {
		e.session(sess).rank = math.MaxInt64
	}
}

func (e *Engine) rank(sess uint32, line int64) {
	if sess != NoSession {
		s := e.session(sess)
		s.rank = min(s.rank, line)
	}
}

func (e *Engine) rankOf(sess uint32) int64 {
	if sess == NoSession {
		return math.MaxInt64
	}
	return e.sess[sess].rank
}

func value(v uint64) history.Value {
	if v == 0 {
		return history.Value{}
	}
	return history.IntValue(int64(v))
}

func keyOf(b *history.Builder, k uint32) uint32 { return b.Key(history.IntValue(int64(k))) }

func (x *txn) head() history.TxnHead {
	head := history.NewTxnHead()
	head.Status, head.Start, head.End = x.status, x.start, x.end
	if x.sess != NoSession {
		head.Session, head.HasSess = int64(x.sess), true
	}
	return head
}

// reorder looks for an order of the positions from from on, and changes the order to it.
func (e *Engine) reorder(from int64) answer {
	e.gather(from)
	e.begin()
	w := &e.w
	w.by = e.sessions(w.members, w.by)
	b := history.NewBuilder()
	hint := make([]int64, 0, len(w.members)+1)
	for _, i := range w.by {
		x := &e.slots[w.members[i]]
		for j := range x.reads {
			if r := &x.reads[j]; r.state == counts {
				b.Read(keyOf(b, r.key), value(r.val))
			}
		}
		for j := range x.writes {
			if o := &x.writes[j]; e.o.Level.Snapshot() || w.reads(o.key) {
				b.Write(keyOf(b, o.key), value(o.val))
			}
		}
		b.EndTxn(x.head())
		hint = append(hint, w.hint[i])
	}
	a := e.solveWindow(b, hint)
	w.seed = w.seed[:0]
	for _, t := range a.seed {
		if int(t) < len(w.by) {
			w.seed = append(w.seed, w.members[w.by[t]])
		}
	}
	if a.status != solved {
		return a.status
	}
	e.adopt(a.order)
	return solved
}

// reads reports whether a member reads the key. At the serializable levels the writes of other keys may have any order.
func (w *window) reads(key uint32) bool { _, ok := w.keyAt[key]; return ok }

type outcome struct {
	status answer
	order  []uint32
	seed   []uint32
}

// giveUpAfter bounds the conflicts of a search, so that a hard window does not block the judge.
const giveUpAfter = 20_000

// solveWindow calls solve with an initial transaction that writes the values of keys at the window's begin.
func (e *Engine) solveWindow(b *history.Builder, hint []int64) outcome {
	for i, k := range e.w.keys {
		if v := e.w.state[i]; v != 0 {
			b.Write(keyOf(b, k), value(v))
		}
	}
	head := history.NewTxnHead()
	head.Init = true
	b.EndTxn(head)
	return e.solve(b, append(hint, -1))
}

// solve looks for an order with package replay.
func (e *Engine) solve(b *history.Builder, hint []int64) outcome {
	h, err := b.Build()
	if err != nil {
		panic(err) // the input is isovet's own
	}
	e.use(stepsOp * int64(h.NumOps()))
	v := prepass.Run(h)
	if len(v.Anomalies) > 0 {
		return outcome{status: unsolved, seed: v.Anomalies[0].Txns}
	}
	if e.budget.steps <= 0 {
		return outcome{}
	}
	ctx, end := solver.WithSteps(context.Background(), e.budget.steps)
	got, err := replay.Run(ctx, v, replay.Options{Level: e.o.Level, Skew: e.o.Skew, Hint: hint,
		GiveUpAfter: giveUpAfter})
	e.use(e.budget.steps - end())
	switch {
	case err != nil || got.Status == solver.Unknown:
		return outcome{}
	case got.Status == solver.Unsat:
		return outcome{status: unsolved, seed: got.Seed}
	}
	return outcome{status: solved, order: got.Order}
}

// events converts a solution to events, without the initial transaction and others that are no members.
func (e *Engine) events(order []uint32) (events []event) {
	w := &e.w
	last := uint32(len(w.by))
	if !e.o.Level.Snapshot() {
		for _, t := range order {
			if t < last {
				events = append(events, event(w.members[w.by[t]])<<2|whole)
			}
		}
		return events
	}
	for _, v := range order {
		if t := v >> 1; t < last {
			kind := begins
			if v&1 == 1 {
				kind = commits
			}
			events = append(events, event(w.members[w.by[t]])<<2|kind)
		}
	}
	return e.late(events)
}

// adopt changes the window's part of the order to a solution.
func (e *Engine) adopt(order []uint32) {
	w := &e.w
	events := e.events(order)
	// The window's versions leave the ends of their keys' chains, and return in the new order.
	for _, t := range w.members {
		x := &e.slots[t]
		if x.commit == nowhere {
			continue
		}
		for i := range x.writes {
			c := &e.cells[x.writes[i].key]
			for c.head != none {
				y, v := e.at(c.head)
				if y.commit < w.from {
					break
				}
				c.head = v.prev
			}
			if c.head != none {
				_, v := e.at(c.head)
				v.next = none
			}
		}
	}
	for _, t := range w.members {
		if e.slots[t].commit == nowhere {
			e.unknown.news = append(e.unknown.news, t)
		}
		if x := &e.slots[t]; x.commit != nowhere {
			e.placed--
			e.weights.orderSize.add(x, -1)
			if x.status == history.Unknown {
				e.leave(t)
			}
		}
		e.slots[t].begin, e.slots[t].commit = nowhere, nowhere
	}
	e.order = e.order[:w.from-e.first]
	defer e.marks(w.members)
	for _, v := range events {
		t := v.slot()
		x := &e.slots[t]
		if v&begins != 0 {
			x.begin = e.tail()
		}
		if v&commits != 0 {
			x.commit = e.tail()
			e.placed++
			e.weights.orderSize.add(x, 1)
			for i := range x.writes {
				e.install(t, x, i)
			}
			if x.status == history.Unknown && e.o.Level.Sessions() && x.sess != NoSession {
				e.join(t)
			}
		}
		e.order = append(e.order, v)
	}
	for _, t := range w.members {
		if x := &e.slots[t]; x.commit == nowhere && !x.pooled {
			e.release(t) // nobody reads it any more, and the pool has dropped it
		}
	}
}

// marks notes which versions are read in the new order.
func (e *Engine) marks(members []uint32) {
	for _, t := range members {
		x := &e.slots[t]
		for i := range x.reads {
			r := &x.reads[i]
			for at := e.cells[r.key].head; at != none; {
				y, w := e.at(at)
				if w.val == r.val {
					w.seen = true
				}
				if y.commit < x.begin {
					break
				}
				at = w.prev
			}
		}
	}
}

// late moves each begin as late as the transaction's reads allow. If it reaches the transaction's commit, the two
// become one event.
func (e *Engine) late(events []event) []event {
	installs := map[uint32][]int{} // key → the commits that install it
	at := map[uint32]int{}         // slot → its commit
	for i, v := range events {
		if v&3 == commits {
			t := v.slot()
			at[t] = i
			for _, w := range e.slots[t].writes {
				installs[w.key] = append(installs[w.key], i)
			}
		}
	}
	type keyed struct {
		by int
		v  event
	}
	out := make([]keyed, len(events))
	for i, v := range events {
		if v&3 == commits {
			out[i] = keyed{4*i + 2, v}
			continue
		}
		t := v.slot()
		to := at[t]
		for _, r := range e.slots[t].reads {
			if r.state != counts {
				continue
			}
			l := installs[r.key]
			if j, _ := slices.BinarySearch(l, i); j < len(l) {
				to = min(to, l[j])
			}
		}
		by := 4 * to
		if to == at[t] {
			by++
		}
		out[i] = keyed{by, v}
	}
	slices.SortStableFunc(out, func(a, b keyed) int { return cmp.Compare(a.by, b.by) })
	events = events[:0]
	for _, k := range out {
		if n := len(events); n > 0 && k.v&3 == commits && events[n-1] == k.v&^3|begins {
			events[n-1] |= whole
			continue
		}
		events = append(events, k.v)
	}
	return events
}
