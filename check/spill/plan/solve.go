package plan

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"isovet/check/prepass"
	"isovet/check/replay"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/solver"
)

// Answer is the outcome for a window.
type Answer uint8

const (
	Stuck    Answer = iota // time or conflicts ran out
	Solved                 // the window has an order that leaves the rest of the history as it is
	Unsolved               // it has no such order
)

// Options say how to solve windows.
type Options struct {
	Level level.Level
	Skew  int64
	// Conflicts bounds the search for a window's order; 0: no bound.
	Conflicts int64
}

// order returns the level at which package replay looks for an order, and whether the order keeps sessions.
// Transactions on single keys are linearizable if and only if some order of all keys keeps real time (Herlihy and Wing
// 1990, Theorem 1).
func (o *Options) order() (l level.Level, sessions bool) {
	if o.Level == level.Linearizable {
		return level.StrictSerializable, false
	}
	return o.Level, true
}

// Solve looks for an order of a window's transactions that leaves the same state to the rest of the history. A window
// has all transactions between two places, in their current order. The answer is a list of events: each is twice a
// transaction's index, plus 1 for a commit.
//
// known has the values at the window's begin of the keys that its transactions read. If it is nil, Solve guesses them
// from the reads. The guess may be wrong if a value is written twice, so the caller must replay the keys.
//
// wish has the values that keys must have at the window's end; other keys must have the value of their last writer, or,
// with free, any value.
//
// Package replay solves the window as a history of its own. An initial transaction writes the state at the begin. A
// last one reads the state at the end, and a key of each other transaction, so that it comes after all.
func Solve(ctx context.Context, txns []*Txn, known, wish map[Value]Value, free bool, o Options) (a Answer,
	events []int32, err error) {
	asked, sessions := o.order()
	w := newSmall(txns)
	w.before(known)
	h, err := w.history(wish, free, sessions)
	if err != nil {
		return Stuck, nil, err
	}
	v := prepass.Run(h)
	if len(v.Anomalies) > 0 {
		return Unsolved, nil, nil
	}
	hint := make([]int64, h.NumTxns())
	for t := range hint {
		if hint[t] = int64(len(txns)); t < len(w.members) {
			hint[t] = int64(w.members[t])
		}
	}
	got, err := replay.Run(ctx, v, replay.Options{Level: asked, Skew: o.Skew, Hint: hint, GiveUpAfter: o.Conflicts})
	switch {
	case err != nil:
		return Stuck, nil, err
	case got.Status == solver.Unsat:
		return Unsolved, nil, nil
	case got.Status != solver.Sat:
		return Stuck, nil, nil
	}
	last := uint32(len(w.members))
	if !o.Level.Snapshot() {
		for _, e := range got.Order {
			if e < last {
				events = append(events, w.members[e]<<1, w.members[e]<<1|1)
			}
		}
		return Solved, events, nil
	}
	for _, e := range got.Order {
		if e>>1 < last {
			events = append(events, w.members[e>>1]<<1|int32(e&1))
		}
	}
	return Solved, Late(txns, events), nil
}

// small is a window as a history of its own: an initial transaction writes the state before it, a last one reads the
// state that must hold after it.
type small struct {
	txns      []*Txn
	members   []int32 // transaction of the small history → index; sessions are in the order of places
	installed map[Want]bool
	final     map[Value]Value
	keys      []Value // of final
	outer     map[Value]bool
	state     []Want  // values of keys before the window
	absent    []Value // keys that some read as null and a transaction of the window installs
}

func newSmall(txns []*Txn) *small {
	w := &small{txns: txns, members: make([]int32, 0, len(txns)), installed: make(map[Want]bool),
		final: make(map[Value]Value), outer: make(map[Value]bool)}
	for i, x := range txns {
		if !x.TakesPart() {
			continue
		}
		w.members = append(w.members, int32(i))
		x.External(func(*Op) {}, func(op *Op) {
			w.installed[Want{op.Key, op.Value}] = true
			if _, ok := w.final[op.Key]; !ok {
				w.keys = append(w.keys, op.Key)
			}
			w.final[op.Key] = op.Value
		})
	}
	return w
}

// before finds the values of keys before the window: the known values, or values that some in the window read and none
// install.
func (w *small) before(known map[Value]Value) {
	for _, i := range w.members {
		w.txns[i].External(func(op *Op) {
			if v, is := known[op.Key]; is {
				w.holds(op.Key, v)
			} else if !w.installed[Want{op.Key, op.Value}] && !w.outer[op.Key] {
				w.holds(op.Key, op.Value)
			} else if op.Value.Kind == history.Null {
				w.absent = append(w.absent, op.Key)
			}
		}, func(*Op) {})
	}
	slices.SortFunc(w.members, func(i, j int32) int { return cmp.Compare(w.txns[i].Place, w.txns[j].Place) })
}

// holds sets a key's value before the window, unless it is set.
func (w *small) holds(k, v Value) {
	if !w.outer[k] {
		w.outer[k] = true
		w.state = append(w.state, Want{k, v})
	}
}

func (w *small) history(wish map[Value]Value, free, sessions bool) (*history.History, error) {
	b := history.NewBuilder()
	for _, i := range w.members {
		x := w.txns[i]
		for j := range x.Ops {
			x.Ops[j].add(b)
		}
		b.Write(marker(b, int(i)), history.IntValue(1))
		head := x.head()
		head.HasID = false
		head.HasSess = head.HasSess && sessions
		b.EndTxn(head)
	}
	if free {
		w.keys = slices.DeleteFunc(w.keys, func(k Value) bool { _, is := wish[k]; return !is })
	}
	for _, k := range w.keys {
		v := w.final[k]
		if want, ok := wish[k]; ok && (w.installed[Want{k, want}] || !w.outer[k]) {
			if v = want; !w.installed[Want{k, want}] {
				w.holds(k, want)
			}
		}
		b.Read(b.Key(k.In(b)), v.In(b))
	}
	for _, i := range w.members {
		b.Read(marker(b, int(i)), history.IntValue(1))
	}
	head := history.NewTxnHead()
	head.Start, head.End = behindAll, behindAll
	b.EndTxn(head)
	for _, s := range w.state {
		if s.Value.Kind != history.Null {
			b.Write(b.Key(s.Key.In(b)), s.Value.In(b))
		}
	}
	slices.SortFunc(w.absent, Value.Compare)
	for _, k := range slices.Compact(w.absent) {
		if !w.outer[k] { // a value that the key must not have before the window
			b.Write(b.Key(k.In(b)), b.StringValue([]byte("\x00isovet state")))
		}
	}
	head = history.NewTxnHead()
	head.Init = true
	b.EndTxn(head)
	return b.Build()
}

// Late makes each transaction of a window's order begin as late as its reads allow. Adjacent events need fewer
// exceptions, and only reads forbid a later begin.
func Late(txns []*Txn, events []int32) []int32 {
	at := make([]int, len(events)) // for each place, twice the index of the event that its event must precede
	begun := make([]int, len(txns))
	commits := make(map[Value][]int) // key → places of the commits that install it
	for p, e := range events {
		if e&1 == 0 {
			begun[e>>1] = p
			continue
		}
		txns[e>>1].External(func(*Op) {}, func(op *Op) { commits[op.Key] = append(commits[op.Key], p) })
	}
	for p, e := range events {
		at[p] = 2*p + 1
		if e&1 == 0 {
			continue
		}
		to := p
		b := begun[e>>1]
		txns[e>>1].External(func(op *Op) {
			c := commits[op.Key]
			if i, _ := slices.BinarySearch(c, b); i < len(c) {
				to = min(to, c[i])
			}
		}, func(*Op) {})
		at[b] = 2 * to
	}
	by := slice.Numbers[int](len(events))
	slices.SortStableFunc(by, func(x, y int) int { return at[x] - at[y] })
	return slice.Pick(events, by)
}

// half marks the commit of a transaction whose begin is at another place.
const half = 1 << 31

// Place turns a window's new order into places. As many transactions as possible keep their places by the rule; the
// others come after them. All come after the floor, if there is one. It sets each Txn.Now, and returns the exceptions
// and the place of the last event.
func Place(txns []*Txn, events []int32, floor *Pos) (moved []*Txn, last Pos) {
	if len(events) == 0 {
		if floor != nil {
			last = *floor
		}
		return nil, last
	}
	// The transactions that keep their places form a longest ascending sequence of events. The transactions before this
	// sequence get the rule's place of the window's first transaction, which then moves. A transaction that shares a
	// place with another also moves, because the transactions after it need places of their own.
	first := txns[events[0]>>1]
	for _, e := range events {
		if x := txns[e>>1]; x.Rule.Less(first.Rule) {
			first = x
		}
	}
	leads := txns[events[0]>>1] == first || floor != nil
	stay := ascending(events, func(a, b int32) bool {
		if c := txns[a>>1].Rule.Compare(txns[b>>1].Rule); c != 0 {
			return c < 0
		}
		return a&1 < b&1
	}, func(e int32) bool {
		x := txns[e>>1]
		return x.Rule.Sub == 0 && (leads || x != first) && (floor == nil || floor.Less(x.Rule))
	})
	pos := make([]Pos, len(events))
	began, ended := make([]int, len(txns)), make([]int, len(txns))
	if last = first.Rule; floor != nil {
		last = *floor
	}
	for i, e := range events {
		x := txns[e>>1]
		if stay[i] {
			last = x.Rule
			if e&1 == 1 {
				last.Sub = half
			}
		} else {
			last.Sub++
		}
		pos[i] = last
		if e&1 == 0 {
			began[e>>1] = i
		} else {
			ended[e>>1] = i
		}
	}
	for i, x := range txns {
		if !x.TakesPart() {
			continue
		}
		b, c := began[i], ended[i]
		x.Now = Move{Begin: pos[b], Commit: pos[c]}
		switch {
		case c > b+1:
		case stay[b] && stay[c]:
			x.Now = Move{Begin: x.Rule, Commit: x.Rule}
			if !x.Counts {
				continue
			}
		default:
			x.Now.Begin = x.Now.Commit
		}
		moved = append(moved, x)
	}
	return moved, last
}

// ascending marks a longest ascending subsequence of the events that may be in it.
func ascending(events []int32, less func(a, b int32) bool, may func(e int32) bool) []bool {
	var tails []int // i → the least last event of an ascending sequence of length i+1
	prev := make([]int, len(events))
	for i, e := range events {
		if !may(e) {
			continue
		}
		lo := sort.Search(len(tails), func(i int) bool { return !less(events[tails[i]], e) })
		prev[i] = -1
		if lo > 0 {
			prev[i] = tails[lo-1]
		}
		if lo == len(tails) {
			tails = append(tails, i)
		} else {
			tails[lo] = i
		}
	}
	in := make([]bool, len(events))
	if len(tails) > 0 {
		for i := tails[len(tails)-1]; i >= 0; i = prev[i] {
			in[i] = true
		}
	}
	return in
}
