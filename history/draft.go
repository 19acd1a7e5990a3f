package history

import "fmt"

// Draft collects some thousand transactions of a stream at a time, as they were read. It does not make what needs a
// whole history: sessions, unique ids, numbered versions. It is emptied and reused, so that a transaction needs no
// allocation. Only one goroutine may use it.
type Draft struct {
	// Heads are what the lines say of the transactions, except for their operations: whether they have an id, their
	// session and place, whether one is the initial transaction.
	Heads []TxnHead

	b     *Builder
	h     History
	refs  int // references of transactions that are settled
	lists int // of Lists and Preds
	preds int
	ver   []uint32
	extra []uint32 // extra reference → version
	elem  []uint32
	old   []uint32
	new   []uint32
	use   []uint8 // of a key, in the present transaction
}

// DraftMark is a position in a draft, for Undo.
type DraftMark struct {
	heads, kinds, refs, n, extra, lists, elems, preds, rows int
}

// NewDraft returns an empty draft.
func NewDraft() *Draft {
	d := &Draft{b: NewBuilder()}
	d.b.join.own.draft = true
	return d
}

// Builder returns the builder to which a reader adds keys, texts and operations. Its transactions are ended with
// Draft.End.
func (d *Draft) Builder() *Builder { return d.b }

// Mark returns the position to which Undo can go back.
func (d *Draft) Mark() DraftMark {
	b := d.b
	return DraftMark{len(d.Heads), len(b.kind), len(b.join.own.small), b.join.own.n, int(b.extra), len(b.lists.Key),
		len(b.lists.Elem), len(b.preds.Pred), len(b.preds.Old)}
}

// Undo removes the transactions and operations added since the mark. Keys and texts stay.
func (d *Draft) Undo(m DraftMark) {
	b := d.b
	b.kind = b.kind[:m.kinds]
	b.opStart = b.opStart[:min(len(b.opStart), m.kinds)]
	b.opEnd = b.opEnd[:min(len(b.opEnd), m.kinds)]
	b.join.own.small, b.join.own.n, b.extra = b.join.own.small[:m.refs], m.n, uint32(m.extra)
	b.lists.Key, b.lists.Elem = b.lists.Key[:m.lists], b.lists.Elem[:m.elems]
	b.lists.Off = b.lists.Off[:min(len(b.lists.Off), m.lists+1)]
	b.preds.Pred, b.preds.Old, b.preds.New = b.preds.Pred[:m.preds], b.preds.Old[:m.rows], b.preds.New[:m.rows]
	b.preds.Off = b.preds.Off[:min(len(b.preds.Off), m.preds+1)]
	b.rowAgain = false
	// What was last seen of a key may have been taken out.
	clear(b.lastList)
	clear(b.lastRows)
	d.Heads = d.Heads[:m.heads]
	b.txns.cut(m.heads)
	d.ver = d.ver[:min(len(d.ver), m.kinds)]
	d.extra = d.extra[:min(len(d.extra), m.extra)]
	d.refs, d.lists, d.preds = m.refs, m.lists, m.preds
}

// cut keeps the first n transactions.
func (x *Txns) cut(n int) {
	x.ID, x.Line, x.Status = x.ID[:n], x.Line[:n], x.Status[:n]
	if n == 0 {
		x.OpOff = x.OpOff[:0] // which begins anew with the first
	} else {
		x.OpOff = x.OpOff[:n+1]
	}
	for _, c := range []*[]int64{&x.Start, &x.Commit, &x.End, &x.StartTS, &x.CommitTS} {
		*c = (*c)[:min(len(*c), n)]
	}
	x.Node, x.Name = x.Node[:min(len(x.Node), n)], x.Name[:min(len(x.Name), n)]
	x.Locking, x.Level = x.Locking[:min(len(x.Locking), n)], x.Level[:min(len(x.Level), n)]
}

// End ends a transaction, which has all operations since the last call of End. It returns an error, an *InputError, if
// Builder.Build would refuse this transaction; the caller must then Undo it.
func (d *Draft) End(head TxnHead) error {
	b := d.b
	d.Heads = append(d.Heads, head)
	plain := head
	plain.HasID, plain.HasSess, plain.HasSeq, plain.Init = true, false, false, false
	b.EndTxn(plain)
	b.sess.of = b.sess.of[:0]
	if err := d.check(&head); err != nil {
		return err
	}
	if err := d.settle(); err != nil || !b.rowAgain {
		return err
	}
	b.rowAgain = false
	return d.checkRows()
}

// checkRows is Builder.checkRows for the last transaction.
func (d *Draft) checkRows() error {
	h := d.History()
	for op := range h.EachOp(uint32(h.NumTxns() - 1)) {
		if msg := h.RowRepeated(op); msg != "" {
			return &InputError{Off: -1, Field: "ops", Msg: msg}
		}
	}
	return nil
}

func (d *Draft) check(h *TxnHead) error {
	wrong := func(field, format string, args ...any) error {
		return &InputError{Off: -1, Field: field, Msg: fmt.Sprintf("transaction %d ", h.ID) + fmt.Sprintf(format,
			args...)}
	}
	s, c, e := h.Start, h.Commit, h.End
	switch {
	case s != NoTime && e != NoTime && e < s:
		return wrong("end", "ends at %d, before its start at %d", e, s)
	case c != NoTime && s != NoTime && c < s:
		return wrong("commit", "commits at %d, before its start at %d", c, s)
	case c != NoTime && e != NoTime && e < c:
		return wrong("commit", "commits at %d, after its end at %d", c, e)
	case h.StartTS != NoTime && h.CommitTS != NoTime && h.CommitTS < h.StartTS:
		return wrong("commit_ts", "has commit_ts %d, before its start_ts %d", h.CommitTS, h.StartTS)
	}
	if !h.Init {
		return nil
	}
	if h.Status != Committed {
		return &InputError{Off: -1, Field: "status", Msg: fmt.Sprintf("the initial transaction is %s; expected "+
			"committed", h.Status)}
	}
	for _, k := range d.b.kind[len(d.ver):] {
		if k != Write && k != Append {
			return &InputError{Off: -1, Field: "ops", Msg: fmt.Sprintf("the initial transaction has a %q operation; "+
				"expected only writes", k)}
		}
	}
	return nil
}

// settle sets the references of the operations of the transaction that has ended.
func (d *Draft) settle() error {
	b := d.b
	small := b.join.own.small
	lo := len(d.ver)
	kinds := b.kind[lo:]
	if len(small)-d.refs == len(kinds) && len(b.lists.Key) == d.lists && len(b.preds.Pred) == d.preds {
		appends := false
		for i, k := range kinds {
			d.ver = append(d.ver, uint32(d.refs+i))
			appends = appends || k == Append
		}
		d.refs = len(small)
		if appends {
			return d.settleLists(lo)
		}
		return nil
	}
	ref := d.refs
	for range kinds {
		d.ver = append(d.ver, None)
	}
	for ; ref < len(small); ref++ {
		if at := small[ref].at; at&extraBit == 0 {
			d.ver[at] = uint32(ref)
		} else {
			d.extra = append(d.extra, uint32(ref)) // they are numbered as they come
		}
	}
	d.refs = ref
	for i, k := range kinds {
		switch k {
		case ReadList:
			d.ver[lo+i] = uint32(d.lists)
			d.lists++
		case PredRead, PredWrite:
			d.ver[lo+i] = uint32(d.preds)
			d.preds++
		}
	}
	return d.settleLists(lo)
}

// settleLists is Builder.settleLists for one transaction, whose operations begin at lo. It ignores the header and
// other transactions.
func (d *Draft) settleLists(lo int) error {
	b := d.b
	for len(d.use) < len(b.keys) {
		d.use = append(d.use, 0)
	}
	small := b.join.own.small
	kinds := b.kind[lo:]
	keyOf := func(i int) uint32 {
		if kinds[i] == ReadList {
			return b.lists.Key[d.ver[lo+i]]
		}
		return small[d.ver[lo+i]].keyKind & keyMask
	}
	null := func(i int) bool { return kinds[i] == Read && ValueKind(small[d.ver[lo+i]].keyKind>>kindShift) == Null }
	for i, k := range kinds {
		switch {
		case k == Append || k == ReadList:
			d.use[keyOf(i)] |= list
		case k == Write || k == Read && !null(i):
			d.use[keyOf(i)] |= register
		}
	}
	var err error
	for i, k := range kinds {
		if k == PredRead || k == PredWrite {
			continue
		}
		key := keyOf(i)
		if d.use[key] == list|register && err == nil {
			err = &InputError{Off: -1, Field: "ops", Msg: fmt.Sprintf("key %s is used as a list and as a register; "+
				"expected one of them", b.Texts.AppendValue(nil, b.keys[key]))}
		}
		if d.use[key] == list && null(i) {
			if len(b.lists.Off) == 0 {
				b.lists.Off = append(b.lists.Off, 0)
			}
			kinds[i] = ReadList
			d.ver[lo+i] = uint32(len(b.lists.Key))
			b.lists.Key = append(b.lists.Key, key)
			b.lists.Off = append(b.lists.Off, uint32(len(b.lists.Elem)))
			d.lists = len(b.lists.Key)
		}
	}
	for i, k := range kinds {
		if k != PredRead && k != PredWrite {
			d.use[keyOf(i)] = 0
		}
	}
	return err
}

// History returns the transactions as a history without sessions, in which each reference to a version is a version of
// its own. Init is None, and a missing id is 0. It is valid until the draft changes. Cost: 13 bytes an operation.
func (d *Draft) History() *History {
	b, h := d.b, &d.h
	n := len(b.txns.ID)
	x := &b.txns
	col := func(c *[]int64) []int64 {
		if len(*c) == 0 {
			return nil
		}
		*c = padTimes(*c, n)
		return *c
	}
	text := func(c *[]uint32) []uint32 {
		if len(*c) == 0 {
			return nil
		}
		*c = fullText(*c, n)
		return *c
	}
	h.Txns = Txns{ID: x.ID, Line: x.Line, Status: x.Status, OpOff: x.OpOff, Start: col(&x.Start),
		Commit: col(&x.Commit), End: col(&x.End), StartTS: col(&x.StartTS), CommitTS: col(&x.CommitTS),
		Node: text(&x.Node), Name: text(&x.Name), Locking: text(&x.Locking), Level: text(&x.Level)}
	h.Ops = Ops{Kind: b.kind, Ver: d.ver}
	if len(b.opStart) > 0 {
		b.opStart, b.opEnd = padTimes(b.opStart, len(b.kind)), padTimes(b.opEnd, len(b.kind))
		h.Ops.Start, h.Ops.End = b.opStart, b.opEnd
	}
	h.VerKey, h.VerKind, h.VerN = h.VerKey[:0], h.VerKind[:0], h.VerN[:0]
	for i := range b.join.own.small {
		r := &b.join.own.small[i]
		h.VerKey = append(h.VerKey, r.keyKind&keyMask)
		h.VerKind = append(h.VerKind, ValueKind(r.keyKind>>kindShift))
		h.VerN = append(h.VerN, r.n)
	}
	h.Lists, h.Preds = b.lists, b.preds
	h.Lists.Elem, d.elem = d.resolved(b.lists.Elem, d.elem)
	h.Preds.Old, d.old = d.resolved(b.preds.Old, d.old)
	h.Preds.New, d.new = d.resolved(b.preds.New, d.new)
	h.Keys, h.Texts, h.Init = b.keys, &b.Texts, None
	return h
}

func (d *Draft) resolved(refs, room []uint32) (out, kept []uint32) {
	out = room[:0]
	for _, r := range refs {
		if r != None {
			r = d.extra[r]
		}
		out = append(out, r)
	}
	return out, out
}

// draftRoom bounds the keys, texts and bytes of text for which an emptied draft keeps memory.
const draftRoom = 1 << 18

// Reset empties the draft.
func (d *Draft) Reset() {
	b := d.b
	d.Undo(DraftMark{})
	for _, v := range b.keys {
		if few := b.few[v.Kind]; uint64(v.N) < uint64(len(few)) {
			few[v.N] = 0
		}
	}
	if len(b.keySlot) > draftRoom {
		b.keys, b.keyHash, b.keySlot, b.lastList, b.lastRows, d.use = nil, nil, nil, nil, nil, nil
		clear(b.few[:])
	}
	b.keys, b.keyHash = b.keys[:0], b.keyHash[:0]
	clear(b.keySlot)
	b.lastList, b.lastRows = b.lastList[:0], b.lastRows[:0]
	b.Texts.reset()
}

// reset empties a table of texts.
func (t *Texts) reset() {
	if len(t.arena) > 16*draftRoom || len(t.slot) > draftRoom {
		*t = Texts{}
		return
	}
	t.arena, t.off, t.hash = t.arena[:0], t.off[:min(len(t.off), 1)], t.hash[:0]
	t.shapes, t.shapeHash, t.shapeOf = t.shapes[:0], t.shapeHash[:0], nil
	clear(t.slot)
}
