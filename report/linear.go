package report

import (
	"fmt"
	"strings"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/sorts"
	"isovet/level"
)

// What the search for the longest order takes and shows at most.
const (
	maxLinearSteps = 200_000
	maxLinearShown = 12
)

// pageLinear is how far an order of the operations on a register comes in real time, and where it gets stuck, in the
// manner of Porcupine's pictures.
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

// linearSearch is Wing and Gong's search, with Lowe's memory of what was tried, for the longest order.
type linearSearch struct {
	h     *history.History
	txns  []linearTxn
	used  []bool
	tried map[string]bool
	path  []int
	best  []int
	left  int // steps that may be taken
	state uint32
}

// linearOf finds the longest order of the operations on a register that a violation of linearizability is about, nil
// where they are not plain reads and writes, or the search is too long.
func linearOf(r *evidence.Result, a *evidence.Anomaly) *pageLinear {
	h := r.H
	if a.Kind != level.NonLinearizable || len(a.Ops) == 0 || h.Txns.Start == nil {
		return nil
	}
	until := h.End(h.TxnOf(a.Ops[0]))
	s := &linearSearch{h: h, tried: map[string]bool{}, left: maxLinearSteps, state: history.None}
	for op := range uint32(h.NumOps()) {
		if kind := h.Ops.Kind[op]; kind != history.Read && kind != history.Write {
			if kind == history.PredRead || kind == history.PredWrite || h.OpKey(op) == a.Key {
				return nil
			}
			continue
		}
		t := h.TxnOf(op)
		if h.OpKey(op) != a.Key || h.Txns.Status[t] == history.Aborted {
			continue
		}
		if t == h.Init {
			s.state = h.Ops.Ver[op]
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
	s.used = make([]bool, len(s.txns))
	sorts.Stable(s.txns, func(a, b linearTxn) int {
		if a.start < b.start {
			return -1
		} else if a.start > b.start {
			return 1
		}
		return 0
	})
	start := s.state
	if s.search(0) || s.left <= 0 {
		return nil
	}
	return s.page(a, start)
}

// apply tells what the register has after a transaction, and whether it read what there was before.
func (s *linearSearch) apply(i int, state uint32) (uint32, bool) {
	for _, op := range s.txns[i].ops {
		v := s.h.Ops.Ver[op]
		if s.h.Ops.Kind[op] == history.Write {
			state = v
		} else if v != state && !(state == history.None && s.h.VerKind[v] == history.Null) {
			return state, false
		}
	}
	return state, true
}

// next lists the transactions that may come next: those that began before any other that has to come has ended.
func (s *linearSearch) next(low int) (out []int) {
	end := int64(1<<63 - 1)
	for i := low; i < len(s.txns) && s.txns[i].start <= end; i++ {
		if x := &s.txns[i]; !s.used[i] && x.must {
			end = min(end, x.end)
		}
	}
	for i := low; i < len(s.txns) && s.txns[i].start <= end; i++ {
		if !s.used[i] {
			out = append(out, i)
		}
	}
	return out
}

// search tries all orders; low is the first transaction that may not have been placed yet.
func (s *linearSearch) search(low int) bool {
	for low < len(s.txns) && s.used[low] {
		low++
	}
	if s.left--; s.left <= 0 {
		return false
	}
	if len(s.path) > len(s.best) {
		s.best = append(s.best[:0], s.path...)
	}
	if s.done(low) {
		return true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d", low, s.state)
	for i := low; i < len(s.txns); i++ {
		if s.used[i] {
			fmt.Fprintf(&b, " %d", i)
		}
	}
	if s.tried[b.String()] {
		return false
	}
	s.tried[b.String()] = true
	for _, i := range s.next(low) {
		state, ok := s.apply(i, s.state)
		if !ok {
			continue
		}
		before := s.state
		s.used[i], s.state, s.path = true, state, append(s.path, i)
		if s.search(low) {
			return true
		}
		s.used[i], s.state, s.path = false, before, s.path[:len(s.path)-1]
	}
	return false
}

func (s *linearSearch) done(low int) bool {
	for i := low; i < len(s.txns); i++ {
		if s.txns[i].must && !s.used[i] {
			return false
		}
	}
	return true
}

// page shows the end of the longest order, and what of the rest may not come next, and why.
func (s *linearSearch) page(a *evidence.Anomaly, state uint32) *pageLinear {
	h := s.h
	text := func(i int) string {
		var ops []string
		for _, op := range s.txns[i].ops {
			if h.Ops.Kind[op] == history.Write {
				ops = append(ops, "wrote "+clip(h.ValueString(h.Ops.Ver[op]), 24))
			} else {
				ops = append(ops, "read "+clip(h.ValueString(h.Ops.Ver[op]), 24))
			}
		}
		return strings.Join(ops, ", ")
	}
	value := func(v uint32) string {
		if v == history.None {
			return "null"
		}
		return clip(h.ValueString(v), 24)
	}
	p := &pageLinear{Key: clip(keyName(h, a.Key), 60), Left: max(0, len(s.best)-maxLinearShown)}
	clear(s.used)
	for n, i := range s.best {
		state, _ = s.apply(i, state)
		s.used[i] = true
		if n >= p.Left {
			p.Steps = append(p.Steps, linearStep{s.txns[i].t, txnName(h, s.txns[i].t), text(i), value(state)})
		}
	}
	for _, i := range s.next(0) {
		why := "leads nowhere: what had to come then could not"
		if _, ok := s.apply(i, state); !ok {
			why = "is not possible: the value is " + value(state)
		} else if !s.txns[i].must {
			why = "may be left out, and leads nowhere"
		}
		if len(p.Stuck) < maxLinearShown {
			p.Stuck = append(p.Stuck, linearStep{s.txns[i].t, txnName(h, s.txns[i].t), text(i), why})
		}
	}
	return p
}
