package report

import (
	"cmp"
	"strings"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/sorts"
	"isovet/level"
	"isovet/predicates"
)

// Limits of the search for the longest order, and of its figure.
const (
	maxLinearSteps = 1_000_000
	maxLinearShown = 12
)

// pageLinear is a longest order of the operations on a register that respects real time, and the operations that
// cannot follow it. Porcupine draws such pictures.
type pageLinear struct {
	Key   string
	Left  int // steps before those shown
	Steps []linearStep
	Stuck []linearStep
}

type linearStep struct {
	T               uint32
	Name, Ops, Then string
}

// linearTxn is a transaction's operations on the register.
type linearTxn struct {
	t          uint32
	ops        []uint32
	start, end int64
	must       bool // it had ended when the order ran out
}

// linearSearch finds the longest order with the search of Wing and Gong. Like Lowe's, it remembers states it has tried.
type linearSearch struct {
	h     *history.History
	txns  []linearTxn
	after []int32 // linked list of the transactions not placed, by their begins; entry 0 stands before all
	prev  []int32
	tried map[linearMemo]bool
	path  []int
	best  []int
	left  int // budget: transactions to look at
	state uint32
	key   uint32
	// truths tells of which values a condition is true, such as that of a compare-and-set; nil if there are no
	// conditions.
	truths *predicates.Truths
}

// linearMemo is a state of the search: the set of placed transactions, as two 64-bit hashes, and the register's
// version after them. If two sets had equal hashes, the picture might show a shorter order; no verdict depends on it.
type linearMemo struct {
	a, b  uint64
	state uint32
}

// with adds a transaction to the set, or removes it.
func (m linearMemo) with(i int) linearMemo {
	m.a ^= mix(uint64(i) + 1)
	m.b ^= mix(^uint64(i))
	return m
}

// mix scrambles 64 bits: it is the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// linearOf finds the longest order of a register's operations for a violation of linearizability. It returns nil if
// the register has other operations than reads, writes and conditions, if a history with conditions has several keys,
// or if the search takes too long.
func linearOf(r *evidence.Result, a *evidence.Anomaly) *pageLinear {
	h := r.H
	if a.Kind != level.NonLinearizable || len(a.Ops) == 0 || h.Txns.Start == nil {
		return nil
	}
	until := h.End(h.TxnOf(a.Ops[0]))
	s := &linearSearch{h: h, tried: map[linearMemo]bool{}, left: maxLinearSteps, state: h.InitVer[a.Key], key: a.Key}
	for op := range uint32(h.NumOps()) {
		t := h.TxnOf(op)
		switch kind := h.Ops.Kind[op]; kind {
		case history.PredRead, history.PredWrite:
			if h.NumKeys() > 1 { // it may be of any of them
				return nil
			}
			if s.truths == nil {
				var err error
				if s.truths, err = predicates.NewTruths(h); err != nil {
					return nil
				}
			}
		case history.Read, history.Write:
			if h.OpKey(op) != a.Key {
				continue
			}
		default:
			if h.OpKey(op) == a.Key {
				return nil
			}
			continue
		}
		if h.Txns.Status[t] == history.Aborted || t == h.Init { // what init wrote is the initial version
			continue
		}
		if n := len(s.txns); n > 0 && s.txns[n-1].t == t {
			s.txns[n-1].ops = append(s.txns[n-1].ops, op)
			continue
		}
		x := linearTxn{t: t, ops: []uint32{op}, start: h.Start(t), end: h.End(t)}
		if x.start == history.NoTime || x.start > until {
			continue
		}
		x.must = h.Txns.Status[t] == history.Committed && x.end != history.NoTime && x.end <= until
		s.txns = append(s.txns, x)
	}
	sorts.Stable(s.txns, func(a, b linearTxn) int { return cmp.Compare(a.start, b.start) })
	s.link()
	start := s.state
	if s.search(linearMemo{}) || s.left <= 0 {
		return nil
	}
	return s.page(a, start)
}

// apply returns the register's version after a transaction. It returns false if a read contradicts the one before it.
func (s *linearSearch) apply(i int, state uint32) (uint32, bool) {
	for _, op := range s.txns[i].ops {
		v, kind := s.h.Ops.Ver[op], s.h.Ops.Kind[op]
		if kind == history.PredRead || kind == history.PredWrite {
			next, ok := s.condition(v, state)
			if !ok {
				return state, false
			}
			state = next
		} else if kind == history.Write {
			state = v
		} else if v != state && !(state == history.None && s.h.VerKind[v] == history.Null) {
			return state, false
		}
	}
	return state, true
}

// condition is apply for a predicate operation, given by its place in Preds. If it matched the row, its condition must
// not be false of the current version; if it did not match, its condition must not be true.
func (s *linearSearch) condition(q, state uint32) (uint32, bool) {
	preds, truth := &s.h.Preds, s.truths.Of(q, s.key, state)
	row := preds.Off[q]
	if row == preds.Off[q+1] {
		return state, truth != predicates.True
	}
	if truth == predicates.False || preds.Old[row] != history.None && preds.Old[row] != state {
		return state, false
	}
	if w := preds.New[row]; w != history.None {
		state = w
	}
	return state, true
}

// link makes the list of the transactions that are not placed. Transaction i is entry i+1; entry 0 is the head.
func (s *linearSearch) link() {
	n := len(s.txns) + 1
	s.after, s.prev = make([]int32, n), make([]int32, n)
	for i := range n {
		s.after[i], s.prev[i] = int32((i+1)%n), int32((i+n-1)%n)
	}
}

func (s *linearSearch) take(i int) {
	p, q := s.prev[i+1], s.after[i+1]
	s.after[p], s.prev[q] = q, p
}

// putBack undoes the last call of take.
func (s *linearSearch) putBack(i int) {
	p, q := s.prev[i+1], s.after[i+1]
	s.after[p], s.prev[q] = int32(i+1), int32(i+1)
}

// next calls f for each transaction that may come next, until f returns true. Such a transaction began before the end
// of every transaction that must still come. Those that must come are first. If none must come, must is false and f is
// not called.
func (s *linearSearch) next(f func(i int) bool) (must bool) {
	end := int64(1<<63 - 1)
	for j := s.after[0]; j != 0 && s.txns[j-1].start <= end; j = s.after[j] {
		if x := &s.txns[j-1]; x.must {
			must, end = true, min(end, x.end)
		}
		s.left--
	}
	if !must {
		return false
	}
	for _, which := range [2]bool{true, false} {
		for j := s.after[0]; j != 0 && s.txns[j-1].start <= end; j = s.after[j] {
			if s.txns[j-1].must == which && f(int(j-1)) {
				return true
			}
		}
	}
	return true
}

// search tries all orders of the transactions that are not placed yet.
func (s *linearSearch) search(placed linearMemo) (found bool) {
	if s.left <= 0 {
		return false
	}
	placed.state = s.state
	if s.tried[placed] {
		return false
	}
	s.tried[placed] = true
	before, deeper := s.state, false
	must := s.next(func(i int) bool {
		state, ok := s.apply(i, before)
		if !ok {
			return false
		}
		deeper = true
		s.take(i)
		s.state, s.path = state, append(s.path, i)
		found = s.search(placed.with(i))
		s.state, s.path = before, s.path[:len(s.path)-1]
		s.putBack(i)
		return found || s.left <= 0
	})
	if !must {
		return true
	}
	if !deeper && len(s.path) > len(s.best) {
		s.best = append(s.best[:0], s.path...)
	}
	return found
}

// page shows the end of the longest order and says why none of the other transactions can come next.
func (s *linearSearch) page(a *evidence.Anomaly, state uint32) *pageLinear {
	h := s.h
	text := func(i int) string {
		var ops []string
		for _, op := range s.txns[i].ops {
			switch h.Ops.Kind[op] {
			case history.PredRead, history.PredWrite:
				ops = append(ops, OpText(h, op))
			case history.Write:
				ops = append(ops, "wrote "+Clip(h.ValueString(h.Ops.Ver[op]), 24))
			default:
				ops = append(ops, "read "+Clip(h.ValueString(h.Ops.Ver[op]), 24))
			}
		}
		return strings.Join(ops, ", ")
	}
	value := func(v uint32) string {
		if v == history.None { // a version that nobody names
			return Clip(string(h.Texts.AppendValue(nil, h.Initial)), 24)
		}
		return Clip(h.ValueString(v), 24)
	}
	p := &pageLinear{Key: Clip(KeyName(h, a.Key), 60), Left: max(0, len(s.best)-maxLinearShown)}
	for n, i := range s.best {
		state, _ = s.apply(i, state)
		s.take(i)
		if n >= p.Left {
			p.Steps = append(p.Steps, linearStep{s.txns[i].t, txnName(h, s.txns[i].t), text(i), value(state)})
		}
	}
	s.next(func(i int) bool {
		why := "leads to a dead end: an operation that had to come next was impossible"
		if _, ok := s.apply(i, state); !ok {
			why = "is impossible: the value is " + value(state)
		} else if !s.txns[i].must {
			why = "may have had no effect; that is a dead end too"
		}
		if len(p.Stuck) < maxLinearShown {
			p.Stuck = append(p.Stuck, linearStep{s.txns[i].t, txnName(h, s.txns[i].t), text(i), why})
		}
		return false
	})
	return p
}
