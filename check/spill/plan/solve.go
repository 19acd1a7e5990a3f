package plan

import (
	"cmp"
	"context"
	"slices"

	"isovet/check/prepass"
	"isovet/check/replay"
	"isovet/history"
	"isovet/level"
	"isovet/solver"
)

// Answer is what became of a window.
type Answer uint8

const (
	Stuck    Answer = iota // time or conflicts ran out
	Solved                 // there is an order, the rest of the history staying as it is
	Unsolved               // there is none with the rest as it is
)

// Options are how windows are solved.
type Options struct {
	Level level.Level
	Skew  int64
	// Conflicts after which a window is given up; 0: never.
	Conflicts int64
}

// order is the level of which package replay is asked for an order, and whether that of sessions is kept. Transactions
// on single keys are linearizable exactly if some order of all keeps real time (Herlihy and Wing 1990, Theorem 1).
func (o *Options) order() (l level.Level, sessions bool) {
	if o.Level == level.Linearizable {
		return level.StrictSerializable, false
	}
	return o.Level, true
}

// Solve looks for an order of a window's transactions, all of those that stand between two places, that leaves to what
// comes after it the same state. They are in their present order, and so is the answer: events, each a transaction's
// index, twice, plus 1 where it commits.
//
// known is what the keys hold at the window's begin that its transactions read. If it is nil, what the reads show of
// others is taken for that, which may be wrong where a value is written twice: whoever uses the order replays the keys.
//
// wish says of keys what they are to hold in the end, if not what the last writer installed; with free, what others
// hold then is left open.
//
// The window is given to package replay as a history of its own: an initial transaction writes the state at its begin,
// a last one reads the state at its end, and from each other a key of its own, so that it comes behind them.
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

// small is a window as a history of its own: an initial transaction writes what is held before it, a last one reads
// what is to be held behind it.
type small struct {
	txns      []*Txn
	members   []int32 // transaction of the small history → index: sessions are in order of places
	installed map[Want]bool
	final     map[Value]Value
	keys      []Value // of final
	outer     map[Value]bool
	state     []Want  // what keys hold before
	absent    []Value // keys that are read as null, installed by a transaction of the window
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

// before finds what keys hold before the window: what is known, or what is read of them that nobody in it installs.
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

// holds says what a key holds before the window, unless that has been said.
func (w *small) holds(k, v Value) {
	if !w.outer[k] {
		w.outer[k] = true
		w.state = append(w.state, Want{k, v})
	}
}

// history makes the small history.
func (w *small) history(wish map[Value]Value, free, sessions bool) (*history.History, error) {
	b := history.NewBuilder()
	for _, i := range w.members {
		x := w.txns[i]
		for j := range x.Ops {
			op := &x.Ops[j]
			k, v := op.Key.In(b), op.Value.In(b)
			if op.Kind == history.Read {
				b.Read(b.Key(k), v)
			} else {
				b.Write(b.Key(k), v)
			}
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
	slices.SortFunc(w.absent, Value.compare)
	for _, k := range slices.Compact(w.absent) {
		if !w.outer[k] { // which a key must not hold before the window by itself
			b.Write(b.Key(k.In(b)), b.StringValue([]byte("\x00isovet state")))
		}
	}
	head = history.NewTxnHead()
	head.Init = true
	b.EndTxn(head)
	return b.Build()
}

// Late has each transaction of a window's order begin as late as its reads allow: an order with events at one place is
// told by fewer
// exceptions. A later begin breaks nothing but reads.
func Late(txns []*Txn, events []int32) []int32 {
	at := make([]int, len(events)) // by place: before which event what stands there is to come, times two
	begun := make([]int, len(txns))
	commits := make(map[Value][]int) // key → places of commits that install it
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
	by := make([]int, len(events))
	for p := range by {
		by[p] = p
	}
	slices.SortStableFunc(by, func(x, y int) int { return at[x] - at[y] })
	out := make([]int32, len(events))
	for i, p := range by {
		out[i] = events[p]
	}
	return out
}

// half is where a transaction's commit stands that does not stand where it begins.
const half = 1 << 31

// Place turns a window's new order into places: as many of its transactions as can stay where the rule has them, and
// the others stand behind them; all of them behind the floor, if there is one. It sets each Txn.Now, and returns those
// that are exceptions, and where the last event stands.
func Place(txns []*Txn, events []int32, floor *Pos) (moved []*Txn, last Pos) {
	if len(events) == 0 {
		if floor != nil {
			last = *floor
		}
		return nil, last
	}
	// Which stay: a longest ascending sequence of events by where the rule has them. What comes before all that stay
	// stands where the rule has the window's first transaction, which then is not there. Nor do those stay that share
	// another's place: what comes behind them needs places of its own.
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

// ascending marks a longest ascending subsequence of those that may be in it.
func ascending(events []int32, less func(a, b int32) bool, may func(e int32) bool) []bool {
	var tails []int // of length i+1: where the least last event stands
	prev := make([]int, len(events))
	for i, e := range events {
		if !may(e) {
			continue
		}
		lo, hi := 0, len(tails)
		for lo < hi {
			if m := (lo + hi) / 2; less(events[tails[m]], e) {
				lo = m + 1
			} else {
				hi = m
			}
		}
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
