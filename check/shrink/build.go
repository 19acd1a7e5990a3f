package shrink

import (
	"fmt"
	"strconv"

	"isovet/history"
)

// part is the rest of the whole as a history, with the indices of the whole.
type part struct {
	h            *history.History
	txn, key, op []uint32
}

// naming renames keys, versions and times. The zero value keeps their names.
type naming struct {
	key         func(b *history.Builder, k uint32) history.Value
	ver         func(b *history.Builder, v uint32) history.Value
	clock, tick func(n int64) int64
}

// build makes a history of the rest. Ids, lines, sessions, orders, outcomes and times stay, except what n renames.
func (w *whole) build(s *state, n naming) (*part, error) {
	b := &builder{w: w, s: s, b: history.NewBuilder(), n: n, keys: map[uint32]uint32{}, used: map[uint32]bool{}}
	b.copier = history.Copier{To: b.b, Key: func(_ *history.History, k uint32) uint32 { return b.key(k) },
		Value: func(_ *history.History, v uint32) history.Value { return b.version(v) },
		Elem:  func(_ *history.History, v uint32) bool { return !s.gone[v] }}
	return b.all()
}

type builder struct {
	w     *whole
	s     *state
	b     *history.Builder
	n     naming
	p     part
	keys  map[uint32]uint32 // the whole's key → the part's
	place []uint32          // of each transaction in its session; None: nothing is left of it
	used  map[uint32]bool   // keys that the part will have; filled where there are predicates
	rows  []history.PredRow

	copier history.Copier
}

func (b *builder) all() (*part, error) {
	h := b.w.h
	b.b.File, b.b.Meta = h.File, h.Meta
	b.b.Initial = b.value(h.Initial)
	ranged := false
	for _, op := range b.w.preds {
		ranged = ranged || b.s.op[op]
	}
	if ranged {
		b.use()
	}
	b.places()
	for t := range uint32(h.NumTxns()) {
		if b.place[t] == history.None {
			continue
		}
		lo, hi := h.TxnOps(t)
		first := len(b.p.op)
		for op := lo; op < hi; op++ {
			if b.s.op[op] {
				b.op(op)
				for len(b.p.op) < b.b.NumOps() {
					b.p.op = append(b.p.op, op)
				}
			}
		}
		b.p.txn = append(b.p.txn, t)
		head := b.head(t)
		head.Locking = b.locking(b.p.op[first:])
		b.b.EndTxn(head)
	}
	g, err := b.b.Build()
	if err != nil {
		return nil, fmt.Errorf("the reduced history is invalid: %w", err)
	}
	g.Positions = h.Positions
	b.p.h = g
	return &b.p, nil
}

// places finds each transaction's place in its session, among those that are left in part.
func (b *builder) places() {
	h := b.w.h
	b.place = make([]uint32, h.NumTxns())
	if h.Init != history.None {
		b.place[h.Init] = history.None
		if b.w.left(b.s, h.Init) > 0 {
			b.place[h.Init] = 0
		}
	}
	for s := range h.NumSessions() {
		n := uint32(0)
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if b.place[t] = history.None; b.w.left(b.s, t) > 0 {
				b.place[t] = n
				n++
			}
		}
	}
}

// use finds the keys that the part will have.
func (b *builder) use() {
	h := b.w.h
	for op := range uint32(h.NumOps()) {
		if !b.s.op[op] {
			continue
		}
		switch v := h.Ops.Ver[op]; h.Ops.Kind[op] {
		case history.PredRead, history.PredWrite:
			for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
				if b.s.matched[j] || b.s.written[j] {
					b.used[b.w.rowKey[j]] = true
				}
			}
		default:
			b.used[h.OpKey(op)] = true
		}
	}
}

func (b *builder) head(t uint32) history.TxnHead {
	h := b.w.h
	head := b.b.HeadOf(h, t)
	clock, tick := b.n.clock, b.n.tick
	head.Start, head.Commit, head.End = moved(clock, h.Start(t)), moved(clock, h.Commit(t)), moved(clock, h.End(t))
	head.StartTS, head.CommitTS = moved(tick, h.StartTS(t)), moved(tick, h.CommitTS(t))
	head.Node, head.Name = b.text(h.Txns.Node, t), b.text(h.Txns.Name, t)
	head.Seq, head.HasSeq = int64(b.place[t]), head.HasSess
	return head
}

// locking says which operations of a transaction are locking reads. ops are the operations of the whole.
func (b *builder) locking(ops []uint32) uint32 {
	var text []byte
	for i, op := range ops {
		if b.w.h.Locking(op) {
			if text != nil {
				text = append(text, ' ')
			}
			text = strconv.AppendInt(text, int64(i), 10)
		}
	}
	if text == nil {
		return history.None
	}
	return b.b.Text(text)
}

func (b *builder) text(col []uint32, t uint32) uint32 {
	if col == nil || col[t] == history.None {
		return history.None
	}
	return b.b.Text(b.w.h.Texts.Text(col[t]))
}

// moved returns a time as a naming has it; without one (nil) it stays.
func moved(by func(int64) int64, n int64) int64 {
	if n == history.NoTime || by == nil {
		return n
	}
	return by(n)
}

// value translates a value of the whole to the part.
func (b *builder) value(v history.Value) history.Value { return b.b.ValueOf(b.w.h, v) }

func (b *builder) key(k uint32) uint32 {
	i, ok := b.keys[k]
	if !ok {
		v := b.w.h.Keys[k]
		if b.n.key != nil {
			v = b.n.key(b.b, k)
		} else {
			v = b.value(v)
		}
		i = b.b.Key(v)
		b.keys[k] = i
		b.p.key = append(b.p.key, k)
	}
	return i
}

func (b *builder) version(v uint32) history.Value {
	if b.n.ver != nil {
		return b.n.ver(b.b, v)
	}
	return b.value(b.w.h.VerValue(v))
}

func (b *builder) op(op uint32) {
	h := b.w.h
	before := b.b.NumOps()
	if k := h.Ops.Kind[op]; k == history.PredRead || k == history.PredWrite {
		b.predicate(op)
	} else {
		b.copier.Op(h, op)
	}
	if start, end := h.OpStart(op), h.OpEnd(op); (start != history.NoTime || end != history.NoTime) &&
		b.b.NumOps() == before+1 {
		b.b.OpTimes(moved(b.n.clock, start), moved(b.n.clock, end))
	}
}

// predicate adds a predicate operation with a condition for the keys over which it still ranges, if there are others.
// Rows that it wrote and no longer matches become writes.
func (b *builder) predicate(op uint32) {
	h, s := b.w.h, b.s
	p := h.Ops.Ver[op]
	b.rows = b.rows[:0]
	for j := h.Preds.Off[p]; j < h.Preds.Off[p+1]; j++ {
		if !s.matched[j] {
			continue
		}
		r := history.PredRow{Key: b.key(b.w.rowKey[j]), OldUnknown: h.Preds.Old[j] == history.None}
		if !r.OldUnknown {
			r.Old = b.version(h.Preds.Old[j])
		}
		if h.Preds.New[j] != history.None {
			r.New = b.version(h.Preds.New[j])
		}
		b.rows = append(b.rows, r)
	}
	text := h.Texts.Text(h.Preds.Pred[p])
	narrow := s.beyond[b.w.predAt[op]] != nil
	for j := h.Preds.Off[p]; j < h.Preds.Off[p+1]; j++ {
		narrow = narrow || !s.matched[j]
	}
	some, ranges := false, []byte(nil)
	if narrow {
		some, ranges = b.ranges(op)
	}
	if some {
		text = fmt.Appendf(nil, `{"and":[%s,%s]}`, text, ranges)
	}
	if !some || ranges != nil {
		b.b.Predicate(h.Ops.Kind[op], text, b.rows)
	}
	for j := h.Preds.Off[p]; j < h.Preds.Off[p+1]; j++ {
		if s.written[j] && !s.matched[j] {
			b.b.Write(b.key(b.w.rowKey[j]), b.version(h.Preds.New[j]))
		}
	}
}

// ranges returns the condition for the keys over which a predicate operation still ranges, if these are not all keys of
// the part. It returns nil if there are none.
func (b *builder) ranges(op uint32) (some bool, condition []byte) {
	h := b.w.h
	var in, out []uint32
	for k := range uint32(h.NumKeys()) {
		if !b.used[k] {
			continue
		}
		beyond := b.s.isBeyond(b.w.predAt[op], k)
		if j, ok := b.w.rowAt[[2]uint32{op, k}]; ok {
			beyond = !b.s.matched[j]
		}
		if beyond {
			out = append(out, k)
		} else {
			in = append(in, k)
		}
	}
	form, list := `{"key":{"in":[%s]}}`, in
	switch {
	case len(out) == 0:
		return false, nil
	case len(in) == 0:
		return true, nil
	case len(out) < len(in):
		form, list = `{"not":{"key":{"in":[%s]}}}`, out
	}
	var keys []byte
	for i, k := range list {
		if i > 0 {
			keys = append(keys, ',')
		}
		keys = h.Texts.AppendValue(keys, h.Keys[k])
	}
	return true, fmt.Appendf(nil, form, keys)
}
