package mechanism

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"isovet/history"
	"isovet/internal/heap"
	"isovet/internal/sorts"
)

// MissingTimes is the error that the mechanisms cannot be verified because a transaction has no client times.
type MissingTimes struct{ Txn int64 }

func (m *MissingTimes) Error() string {
	return fmt.Sprintf("transaction %d has no start or no end time", m.Txn)
}

// Nothing is the value of a version that nobody wrote and no operation names, such as a list before its first element.
const Nothing = ^uint64(0)

// Verify verifies a history's traces under a profile. Transactions, keys and operations in the report are the history's
// transactions, keys and operations, Val its versions. Options.Initial and Duplicates are the history's own.
//
// Committed transactions need start and end times. If the time of the commit or an operation is missing or contradicts
// the transaction's, its interval is the whole transaction: fewer violations are found then, but no false ones. Errors:
// *MissingTimes; ctx's. Cost: linear, one merge over the sessions; memory as long as transactions overlap.
func Verify(ctx context.Context, h *history.History, o Options) (*Report, error) {
	s, err := newSource(h)
	if err != nil {
		return nil, err
	}
	o.Initial = func(k uint32) uint64 {
		if v := h.InitVer[k]; v != history.None {
			return uint64(v)
		}
		return Nothing
	}
	o.Duplicates = o.Duplicates || duplicates(h)
	v := NewVerifier(len(s.lanes), o)
	v.keys = make([]keyState, h.NumKeys())
	// Verification depends only on the order of ends and on the begins of open transactions. So whole transactions are
	// merged by their ends, after their begins are passed on: one step a transaction, where merge has one a trace.
	t := newTree(len(s.lanes))
	for n := 0; ; n++ {
		w := int(t.at[0]) // the client with the least time
		if t.key[w] == Forever {
			return v.Close(), nil
		}
		if n&0xfff == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if b := s.lanes[w]; len(b) > 0 {
			v.Dispatch(w, b)
		}
		b := s.next(w)
		if len(b) == 0 {
			t.set(Forever)
			continue
		}
		t.set(b[len(b)-1].Bef)
		v.Dispatch(w, b[:1])
		s.lanes[w] = b[1:]
	}
}

// Traces returns a history's traces, each slice a client's in its order. Cost: 40 bytes a trace.
func Traces(h *history.History) ([][]Trace, error) {
	s, err := newSource(h)
	if err != nil {
		return nil, err
	}
	out := make([][]Trace, len(s.txns))
	for i := range out {
		for _, t := range s.txns[i] {
			x, _ := s.times(t)
			out[i] = s.txn(out[i], t, &x)
		}
	}
	return out, nil
}

// duplicates reports whether some version was written twice, or the initial one again.
func duplicates(h *history.History) bool {
	seen := make([]bool, h.NumVersions())
	twice := false
	wrote := func(v uint32) {
		twice = twice || seen[v]
		seen[v] = true
	}
	for _, v := range h.InitVer {
		if v != history.None { // each once
			wrote(v)
		}
	}
	for t := range uint32(h.NumTxns()) {
		if t == h.Init || h.Txns.Status[t] == history.Aborted {
			continue
		}
		for op := range h.EachOp(t) {
			switch h.Ops.Kind[op] {
			case history.Write, history.Append:
				wrote(h.Ops.Ver[op])
			case history.PredWrite:
				p := h.Ops.Ver[op]
				for r := h.Preds.Off[p]; r < h.Preds.Off[p+1]; r++ {
					wrote(h.Preds.New[r])
				}
			}
		}
	}
	return twice
}

// source turns a history into traces: lanes of transactions one after another, as clients send them. A session is a
// lane, or several if its transactions overlap. Sessions that do not overlap may share a lane, so that there are no
// more lanes than transactions at a time.
type source struct {
	h     *history.History `freeze:"-"`
	timed bool             // some operation has times
	txns  [][]uint32       // of a lane
	bufs  [][]Trace
	lanes [][]Trace // the rest of the current transaction, to be dispatched
}

// chain is a piece of a session whose transactions do not overlap.
type chain struct {
	start, end int64
	txns       []uint32
}

func newSource(h *history.History) (*source, error) {
	s := &source{h: h, timed: h.Ops.End != nil}
	var chains []chain
	for ses := range h.NumSessions() {
		var c chain
		for _, t := range h.SessTxn[h.SessOff[ses]:h.SessOff[ses+1]] {
			if t == h.Init {
				continue
			}
			start, last := h.Start(t), h.Commit(t)
			if start == history.NoTime || last == history.NoTime || h.End(t) == history.NoTime {
				x, ok := s.times(t)
				if !ok {
					if h.Txns.Status[t] == history.Committed {
						return nil, &MissingTimes{h.Txns.ID[t]}
					}
					continue
				}
				last = x.last
			}
			last = max(last, start)
			if len(c.txns) > 0 && start < c.end {
				chains = append(chains, c)
				c = chain{}
			}
			if len(c.txns) == 0 {
				c.start = start
			}
			c.txns = append(c.txns, t)
			c.end = last
		}
		if len(c.txns) > 0 {
			chains = append(chains, c)
		}
	}
	s.pack(chains)
	s.lanes = make([][]Trace, len(s.txns))
	s.bufs = make([][]Trace, len(s.txns))
	return s, nil
}

// pack puts chains one after another into as few lanes as possible.
func (s *source) pack(chains []chain) {
	sorts.Func(chains, func(a, b chain) int { return cmp.Compare(a.start, b.start) })
	var ends heap.Heap[int64, int] // lanes by the ends of their last chains
	for _, c := range chains {
		at := len(s.txns)
		if ends.Len() > 0 {
			if end, _ := ends.Top(); end <= c.start {
				_, at = ends.Pop()
			}
		}
		if at == len(s.txns) {
			s.txns = append(s.txns, nil)
		}
		s.txns[at] = append(s.txns[at], c.txns...)
		ends.Push(c.end, at)
	}
}

// span is the time of a transaction.
type span struct {
	start, bef, aft int64 // its end was in [bef, aft]
	last            int64 // Bef of its last trace
	ops             bool  // its operations have times, in order
	opAft           int64 // otherwise they ended not after this
}

// times returns a transaction's times; false: it has none.
func (s *source) times(t uint32) (x span, ok bool) {
	h := s.h
	lo, hi := h.TxnOps(t)
	x.start, x.bef, x.aft = h.Start(t), h.Commit(t), h.End(t)
	x.ops = true
	prev := x.start
	if lo < hi && (h.Ops.Start == nil || h.Ops.End == nil) {
		x.ops = false
	} else if lo < hi {
		ends := h.Ops.End[lo:hi]
		for i, a := range h.Ops.Start[lo:hi] {
			b := ends[i]
			if a == history.NoTime || b == history.NoTime || a < prev || b < a {
				x.ops = false
				break
			}
			prev = b
		}
	}
	if x.ops && lo < hi {
		if x.bef == history.NoTime {
			x.bef = prev
		}
		x.ops = prev <= x.bef
	}
	// Statements sent in one message with the commit may end with it.
	together := !x.ops && s.timed
	if x.start == history.NoTime {
		return x, false
	}
	if x.bef == history.NoTime {
		x.bef = x.start
	}
	if x.aft == history.NoTime {
		if h.Txns.Status[t] == history.Committed {
			return x, false
		}
		x.aft = Forever
	}
	x.bef = max(x.bef, x.start)
	x.aft = max(x.aft, x.bef)
	x.last, x.opAft = x.bef, x.bef
	if together || h.Commit(t) == history.NoTime {
		x.opAft = x.aft
	}
	return x, true
}

// next makes the traces of a lane's next transaction, or none. They are valid until the next call.
func (s *source) next(lane int) []Trace {
	if len(s.txns[lane]) == 0 {
		return nil
	}
	x, _ := s.times(s.txns[lane][0])
	b := s.txn(s.bufs[lane][:0], s.txns[lane][0], &x)
	s.txns[lane] = s.txns[lane][1:]
	s.bufs[lane] = b
	return b
}

// txn appends the traces of a transaction with span x.
func (s *source) txn(buf []Trace, t uint32, x *span) []Trace {
	h := s.h
	lo, hi := h.TxnOps(t)
	buf = append(slices.Grow(buf, int(hi-lo)+2), Trace{Kind: Begin, Bef: x.start, Aft: x.start, Val: uint64(t)})
	for op := lo; op < hi; op++ {
		tr := Trace{Bef: x.start, Aft: x.opAft, Op: op}
		if x.ops {
			tr.Bef, tr.Aft = h.Ops.Start[op], h.Ops.End[op]
		}
		ver := h.Ops.Ver[op]
		switch h.Ops.Kind[op] {
		case history.Read:
			buf = append(buf, Trace{Bef: tr.Bef, Aft: tr.Aft, Val: uint64(ver), Key: h.VerKey[ver], Op: op, Kind: Read})
		case history.Write, history.Append:
			buf = append(buf, Trace{Bef: tr.Bef, Aft: tr.Aft, Val: uint64(ver), Key: h.VerKey[ver], Op: op,
				Kind: Write})
		case history.ReadList:
			tr.Kind, tr.Key, tr.Val = Read, h.Lists.Key[ver], Nothing
			if n := h.Lists.Off[ver+1]; n > h.Lists.Off[ver] {
				tr.Val = uint64(h.Lists.Elem[n-1])
			}
			buf = append(buf, tr)
		default: // the rows that a condition matched; those that it missed are not verified (errata L12)
			if h.Preds.Off[ver] == h.Preds.Off[ver+1] {
				tr.Kind = Statement
				if h.Ops.Kind[op] == history.PredRead {
					tr.Val = 1
				}
				buf = append(buf, tr)
			}
			for r := h.Preds.Off[ver]; r < h.Preds.Off[ver+1]; r++ {
				tr.Kind = Read
				if h.Ops.Kind[op] == history.PredWrite {
					tr.Kind = LockedRead
				}
				if old := h.Preds.Old[r]; old != history.None {
					tr.Key, tr.Val = h.VerKey[old], uint64(old)
					buf = append(buf, tr)
				}
				if h.Ops.Kind[op] == history.PredWrite {
					w := h.Preds.New[r]
					tr.Kind, tr.Key, tr.Val = Write, h.VerKey[w], uint64(w)
					buf = append(buf, tr)
				}
			}
		}
	}
	end := Trace{Kind: Commit, Bef: x.bef, Aft: x.aft, Val: uint64(t)}
	switch h.Txns.Status[t] {
	case history.Aborted:
		end.Kind = Abort
	case history.Unknown:
		end.Kind = Unknown
	}
	return append(buf, end)
}
