package history

import "cmp"

// Copier copies operations of other histories into a builder.
type Copier struct {
	To *Builder
	// Key and Value return a key and a version's value for the builder, and Elem says whether an element of a list is
	// copied. If they are nil, everything is copied as it is.
	Key   func(h *History, k uint32) uint32
	Value func(h *History, ver uint32) Value
	Elem  func(h *History, ver uint32) bool

	elems []Value
	rows  []PredRow
}

// ValueOf returns a value of another history for the builder.
func (b *Builder) ValueOf(h *History, v Value) Value {
	if v.Kind == String || v.Kind == Row {
		v.N = int64(b.Text(h.Texts.Text(uint32(v.N))))
	}
	return v
}

// KeyOf returns a key of another history in the builder.
func (b *Builder) KeyOf(h *History, k uint32) uint32 { return b.Key(b.ValueOf(h, h.Keys[k])) }

// HeadOf returns what another history says of a transaction, without its place in its session, its node, its name and
// its locking reads.
func (b *Builder) HeadOf(h *History, t uint32) TxnHead {
	head := NewTxnHead()
	head.ID, head.HasID = h.Txns.ID[t], true
	head.Line, head.Status, head.Init = h.Txns.Line[t], h.Txns.Status[t], t == h.Init
	head.Start, head.Commit, head.End = h.Start(t), h.Commit(t), h.End(t)
	head.StartTS, head.CommitTS = h.StartTS(t), h.CommitTS(t)
	if name := h.LevelName(t); name != "" {
		head.Level = b.Text([]byte(name))
	}
	if name := h.SessName[h.Txns.Sess[t]]; name != NoTime && !head.Init {
		head.Session, head.HasSess = name, true
	}
	return head
}

func (c *Copier) key(h *History, k uint32) uint32 {
	if c.Key != nil {
		return c.Key(h, k)
	}
	return c.To.KeyOf(h, k)
}

func (c *Copier) value(h *History, ver uint32) Value {
	if c.Value != nil {
		return c.Value(h, ver)
	}
	return c.To.ValueOf(h, h.VerValue(ver))
}

// Op adds an operation of another history. Cost: linear in its elements or rows.
func (c *Copier) Op(h *History, op uint32) {
	v := h.Ops.Ver[op]
	switch kind := h.Ops.Kind[op]; kind {
	case Read, Write, Append:
		c.To.Item(kind, c.key(h, h.VerKey[v]), c.value(h, v))
	case ReadList:
		c.elems = c.elems[:0]
		for _, e := range h.Elems(v) {
			if c.Elem == nil || c.Elem(h, e) {
				c.elems = append(c.elems, c.value(h, e))
			}
		}
		c.To.ReadList(c.key(h, h.Lists.Key[v]), c.elems)
	default:
		c.rows = c.rows[:0]
		for i := h.Preds.Off[v]; i < h.Preds.Off[v+1]; i++ {
			was, now := h.Preds.Old[i], h.Preds.New[i]
			r := PredRow{OldUnknown: was == None}
			if was != None {
				r.Key, r.Old = c.key(h, h.VerKey[was]), c.value(h, was)
			}
			if now != None {
				r.Key, r.New = c.key(h, h.VerKey[now]), c.value(h, now)
			}
			c.rows = append(c.rows, r)
		}
		c.To.Predicate(kind, h.Texts.Text(h.Preds.Pred[v]), c.rows)
	}
}

// Times adds the times of another history's operation to the last one, if there are any.
func (c *Copier) Times(h *History, op uint32) {
	if start, end := h.OpStart(op), h.OpEnd(op); start != NoTime || end != NoTime {
		c.To.OpTimes(start, end)
	}
}

// Owned is a value or a key with its own text, so that it means the same in every history.
type Owned struct {
	N    int64
	Kind ValueKind
	Text string // of a string or row
}

// Own returns a value with its text.
func (h *History) Own(v Value) Owned {
	if v.Kind == String || v.Kind == Row {
		return Owned{Kind: v.Kind, Text: string(h.Texts.Text(uint32(v.N)))}
	}
	return Owned{Kind: v.Kind, N: v.N}
}

// In adds the value's text to a builder.
func (o Owned) In(b *Builder) Value {
	switch o.Kind {
	case String:
		return b.StringValue([]byte(o.Text))
	case Row:
		return b.RowValue([]byte(o.Text))
	}
	return Value{Kind: o.Kind, N: o.N}
}

// Compare orders values, arbitrarily but consistently.
func (o Owned) Compare(p Owned) int {
	return cmp.Or(cmp.Compare(o.Kind, p.Kind), cmp.Compare(o.N, p.N), cmp.Compare(o.Text, p.Text))
}

// String returns the value as JSON.
func (o Owned) String() string {
	b := Builder{}
	return string(b.Texts.AppendValue(nil, o.In(&b)))
}
