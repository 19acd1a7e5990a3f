package timestamp

import (
	"cmp"
	"context"
	"slices"
	"time"

	"isovet/history"
	"isovet/internal/slice"
	"isovet/predicates"
)

// Feed turns the transactions of a history into arrivals, one at a time.
type Feed struct {
	h   *history.History
	seq []uint32 // place in the session
	buf Arrival
}

// NewFeed returns a feed, and gives a the initial values of its keys. Errors: *history.InputError for a malformed
// predicate.
func NewFeed(h *history.History, a *Aion) (*Feed, error) {
	if h.HasPredicates() {
		x, err := predicates.NewTruths(h)
		if err != nil {
			return nil, err
		}
		a.KeepRows(func(p uint64, key uint32, val uint64) predicates.Truth { return x.Of(uint32(p), key, uint32(val)) })
	}
	f := &Feed{h: h, seq: h.SessionPlaces()}
	for k, v := range h.InitVer {
		a.SetInitial(uint32(k), uint64(v))
		a.Name(uint32(k))
	}
	if h.HasLists() {
		for _, k := range h.Lists.Key {
			a.asList(a.key(k))
		}
	}
	if h.Init != history.None {
		for op := range h.EachOp(h.Init) {
			if h.Ops.Kind[op] == history.Append {
				a.AppendInitial(h.OpKey(op), uint64(h.Ops.Ver[op]))
			}
		}
	}
	return f, nil
}

// Arrival returns transaction t, with the history's indices as its name and values. It is valid until the next call.
func (f *Feed) Arrival(t uint32) *Arrival {
	h, x := f.h, &f.buf
	*x = Arrival{ID: int64(t), Session: h.Txns.Sess[t], Seq: int64(f.seq[t]), Start: h.StartTS(t),
		Commit: commitTS(h, t), Ops: x.Ops[:0], Lists: x.Lists[:0], Preds: x.Preds[:0]}
	x.NoPart = x.Commit == history.NoTime
	for op, v := range h.EachOp(t) {
		o := ArrivalOp{Kind: h.Ops.Kind[op]}
		switch o.Kind {
		case history.PredRead, history.PredWrite:
			p := ArrivalPred{Pred: uint64(v)}
			for row := h.Preds.Off[v]; row < h.Preds.Off[v+1]; row++ {
				p.Rows = append(p.Rows, ArrivalRow{uint64(h.Preds.Old[row]), uint64(h.Preds.New[row]), rowKey(h, row)})
			}
			o.Key, o.Val = history.None, uint64(len(x.Preds))
			x.Preds = append(x.Preds, p)
		case history.ReadList:
			o.Key, o.Val = h.Lists.Key[v], uint64(len(x.Lists))
			x.Lists = append(x.Lists, slice.Map(h.Elems(v), func(e uint32) uint64 { return uint64(e) }))
		default:
			o.Key, o.Val = h.VerKey[v], uint64(v)
		}
		x.Ops = append(x.Ops, o)
	}
	return x
}

// AionOver runs Aion over a history in the order of its commits, as a collector would see them; the file may be in any
// other order. The watermark is the least start still to come, so that no transaction is late, and the violations are
// the same as Chronos finds. Errors as Chronos.
func AionOver(ctx context.Context, h *history.History, o Options) (*Report, error) {
	order := slice.Numbers[uint32](h.NumTxns())
	// NoTime first
	slices.SortStableFunc(order, func(a, b uint32) int { return cmp.Compare(commitTS(h, a), commitTS(h, b)) })
	return aionOver(ctx, h, o, order, func(int) bool { return true })
}

// aionOver takes the transactions in the given order and advances the watermark when advance says so.
func aionOver(ctx context.Context, h *history.History, o Options, order []uint32, advance func(i int) bool) (*Report,
	error) {
	a, err := NewAion(o)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	l, err := newTimeline(h, o)
	if err != nil {
		return nil, err
	}
	f, err := NewFeed(h, a)
	if err != nil {
		return nil, err
	}
	least := make([]int64, len(order)+1) // i → the least of the transactions from i on
	least[len(order)] = int64(^uint64(0) >> 1)
	for i := len(order) - 1; i >= 0; i-- {
		if least[i] = least[i+1]; l.in[order[i]] {
			least[i] = min(least[i], l.begin(order[i]))
		}
	}
	sorted := time.Now()
	var finals []Final
	for i, t := range order {
		if i&0xfff == 0xfff && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if t != h.Init {
			a.Add(f.Arrival(t))
		}
		if i+1 < len(order) && least[i+1] < least[len(order)] && advance(i) {
			a.Advance(least[i+1])
		}
		finals = append(finals, a.Take()...)
	}
	a.Close()
	finals = append(finals, a.Take()...)
	r := &Report{Order: l.entries(), Stages: map[string]time.Duration{"sorting": sorted.Sub(began),
		"checking": time.Since(sorted)}, Online: a.Stats()}
	w := &widener{h: h, l: l}
	for i := range finals {
		r.Violations = append(r.Violations, w.violation(&finals[i]))
	}
	r.w = w.w
	r.finish()
	return r, nil
}

// widener completes violations with how a read is wrong, which only the whole history shows.
type widener struct {
	h *history.History
	l *timeline
	w *writers
}

func (x *widener) violation(f *Final) Violation {
	h := x.h
	t := uint32(f.Txn)
	v := broken(f.Axiom, t, history.None, f.Key)
	if f.Other != NoID {
		v.Other = uint32(f.Other)
	}
	if f.Axiom != INT && f.Axiom != EXT {
		return v
	}
	v.Op = h.Txns.OpOff[t] + f.Op
	if x.w == nil {
		x.w = newWriters(h)
	}
	if h.Ops.Kind[v.Op] != history.ReadList {
		v.Got, v.Want = uint32(f.Got), uint32(f.Want)
		if v.Kind = f.Kind; f.Axiom == EXT && f.Kind != Phantom {
			v.Kind = x.w.kind(t, v.Got, x.l.begin(t))
		}
		return v
	}
	if f.Axiom == EXT {
		v.Kind = x.listKind(t, v.Op, f.Key)
	}
	return v
}

// listKind builds the list that t should have read.
func (x *widener) listKind(t, op, key uint32) Kind {
	h := x.h
	s := &sweep{h: h, w: x.w}
	var committed []uint32
	add := func(u uint32) {
		for o := range h.EachOp(u) {
			if h.Ops.Kind[o] == history.Append && h.OpKey(o) == key {
				committed = append(committed, h.Ops.Ver[o])
			}
		}
	}
	if h.Init != history.None {
		add(h.Init)
	}
	for _, m := range x.l.moments {
		if m>>1 == t && (m&1 == 0 || x.l.o.Level.Serial()) {
			break
		}
		if m&1 == 1 {
			add(m >> 1)
		}
	}
	got := h.Elems(h.Ops.Ver[op])
	lo, _ := h.TxnOps(t)
	for o := op; o > lo; o-- {
		if h.Ops.Kind[o-1] == history.Append && h.OpKey(o-1) == key {
			got = got[:len(got)-1]
		}
	}
	return s.listKind(t, got, committed, x.l.begin(t))
}

// entries returns the moments in the form of a Report.
func (l *timeline) entries() []uint32 {
	out := slices.Clone(l.moments)
	if l.o.Level.Serial() {
		for i, m := range out {
			out[i] = m >> 1
		}
	}
	return out
}
