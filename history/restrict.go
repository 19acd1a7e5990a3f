package history

import "slices"

// Part is a history made of some transactions of another, with the way back.
type Part struct {
	H *History
	// Txn, Op, Key and Ver map the part's indices to the whole's.
	Txn, Op, Key, Ver []uint32
}

// Restrict returns the part of h with the transactions keep, in the order given (a session's in session order), and
// only those of their operations for which op returns true (nil: all); the initial transaction is kept with its writes
// of keys that the part uses, and belongs to keep by itself. Ids, sessions, order in session, times and outcomes stay.
// List operations are left out.
//
// Removing transactions together with the reads that saw their writes keeps a history serializable, or snapshot
// isolated, if it was: restrict the order. So a part that violates a level proves that the whole does.
//
// A predicate operation is kept whole, with every row that it matched. It is also a read of the keys that it did not
// match, so for what is reported above to hold, every writer of a key that the part uses must be in keep with its
// writes of it, once a predicate operation is: one that made a row no longer match must not be removed alone. Keys that
// the part does not use are beyond its predicates' range, which takes nothing but constraints away; but a predicate
// operation also uses the keys that the initial transaction writes, unless op says no to that write. Cost: linear in
// the part's operations, and in the initial transaction's.
func Restrict(h *History, keep []uint32, op func(op uint32) bool) *Part {
	return RestrictKeys(h, keep, op, nil)
}

// RestrictKeys is Restrict, where a predicate operation ranges over fewer keys: those that keys returns, with ok. Its
// predicate then asks for one of them beside what it asked for; a row of another key is left out, or, if it was
// written, becomes a write; and without any key the operation is left out. So it is enough that every write that made a
// row of such a key match, or no longer match, is kept.
func RestrictKeys(h *History, keep []uint32, op func(op uint32) bool, keys func(op uint32) (ks []uint32,
	ok bool)) *Part {
	r := &restriction{h: h, b: NewBuilder(), p: &Part{}, keys: keys, key: make(map[uint32]uint32)}
	r.b.File = h.File
	r.b.Initial = r.value(h.Initial)
	for _, t := range keep {
		if t == h.Init {
			continue
		}
		lo, hi := h.TxnOps(t)
		for o := lo; o < hi; o++ {
			if k := h.Ops.Kind[o]; k != Append && k != ReadList && (op == nil || op(o)) {
				r.add(o)
			}
		}
		r.end(t)
	}
	if h.Init != None {
		lo, hi := h.TxnOps(h.Init)
		for o := lo; o < hi; o++ {
			if h.Ops.Kind[o] == Write {
				if _, used := r.key[h.VerKey[h.Ops.Ver[o]]]; used || r.ranged && (op == nil || op(o)) {
					r.add(o)
				}
			}
		}
		r.end(h.Init)
	}
	return r.build()
}

// restriction makes a part of a history.
type restriction struct {
	h      *History
	b      *Builder
	p      *Part
	keys   func(op uint32) (ks []uint32, ok bool)
	key    map[uint32]uint32 // whole's key → part's
	used   []uint32          // the versions that the part's operations name, in the order in which they do
	rows   []PredRow
	ranged bool // an operation may match any key
}

func (r *restriction) value(v Value) Value {
	if v.Kind == String || v.Kind == Row {
		v.N = int64(r.b.Text(r.h.Texts.Text(uint32(v.N))))
	}
	return v
}

func (r *restriction) keyOf(k uint32) uint32 {
	i, ok := r.key[k]
	if !ok {
		i = r.b.Key(r.value(r.h.Keys[k]))
		r.key[k] = i
		r.p.Key = append(r.p.Key, k)
	}
	return i
}

// add adds an operation.
func (r *restriction) add(o uint32) {
	v := r.h.Ops.Ver[o]
	switch r.h.Ops.Kind[o] {
	case Read:
		r.b.Read(r.keyOf(r.h.VerKey[v]), r.value(r.h.VerValue(v)))
	case Write:
		r.b.Write(r.keyOf(r.h.VerKey[v]), r.value(r.h.VerValue(v)))
	default:
		r.predicate(o)
		return
	}
	r.used = append(r.used, v)
	r.p.Op = append(r.p.Op, o)
}

// predicate adds a predicate operation, of some keys only if keys says so, and writes of what it wrote to others.
func (r *restriction) predicate(o uint32) {
	h := r.h
	var ks []uint32
	some := false
	if r.keys != nil {
		ks, some = r.keys(o)
	}
	r.ranged = r.ranged || !some
	first := len(r.used)
	others := r.matched(h.Ops.Ver[o], ks, some)
	text := h.Texts.Text(h.Preds.Pred[h.Ops.Ver[o]])
	if some {
		text = append(append([]byte(`{"and":[`), text...), `,{"key":{"in":[`...)
		for i, k := range ks {
			if i > 0 {
				text = append(text, ',')
			}
			text = h.Texts.AppendValue(text, h.Keys[k])
		}
		text = append(text, `]}}]}`...)
	}
	if !some || len(ks) > 0 {
		r.b.Predicate(h.Ops.Kind[o], text, r.rows)
		r.p.Op = append(r.p.Op, o)
	} else {
		r.used = r.used[:first]
	}
	for _, v := range others {
		r.b.Write(r.keyOf(h.VerKey[v]), r.value(h.VerValue(v)))
		r.used = append(r.used, v)
		r.p.Op = append(r.p.Op, o)
	}
}

// matched makes the rows that predicate operation q matched, of some keys only if it is so, and returns the versions
// that it wrote to others.
func (r *restriction) matched(q uint32, ks []uint32, some bool) (others []uint32) {
	h := r.h
	r.rows = r.rows[:0]
	for j := h.Preds.Off[q]; j < h.Preds.Off[q+1]; j++ {
		before, after := h.Preds.Old[j], h.Preds.New[j]
		row := PredRow{OldUnknown: before == None}
		k := before
		if before == None {
			k = after
		}
		if k = h.VerKey[k]; some && !slices.Contains(ks, k) {
			if after != None {
				others = append(others, after)
			}
			continue
		}
		row.Key = r.keyOf(k)
		if before != None {
			row.Old = r.value(h.VerValue(before))
		}
		if after != None {
			row.New = r.value(h.VerValue(after))
		}
		r.used = append(r.used, before, after)
		r.rows = append(r.rows, row)
	}
	return others
}

// end ends a transaction.
func (r *restriction) end(t uint32) {
	h := r.h
	head := NewTxnHead()
	head.ID, head.HasID, head.Init = h.Txns.ID[t], true, t == h.Init
	if !head.Init {
		head.Line = h.Txns.Line[t]
		head.Status = h.Txns.Status[t]
		head.Start, head.Commit, head.End = h.Start(t), h.Commit(t), h.End(t)
		head.StartTS, head.CommitTS = h.StartTS(t), h.CommitTS(t)
		head.Level = levelIn(r.b, h, t)
		if s := h.SessName[h.Txns.Sess[t]]; s != NoTime {
			head.Session, head.HasSess = s, true
		}
	}
	r.b.EndTxn(head)
	r.p.Txn = append(r.p.Txn, t)
}

// levelIn is the text of a transaction's level in another history's builder.
func levelIn(b *Builder, h *History, t uint32) uint32 {
	if name := h.LevelName(t); name != "" {
		return b.Text([]byte(name))
	}
	return None
}

// build makes the part, and finds the whole's versions of its own.
func (r *restriction) build() *Part {
	sub, err := r.b.Build()
	if err != nil {
		panic("history: a part of a history is not one: " + err.Error())
	}
	p, used := r.p, r.used
	p.H = sub
	p.Ver = make([]uint32, sub.NumVersions())
	for i := range p.Op {
		mine := sub.Ops.Ver[i]
		if k := sub.Ops.Kind[i]; k == Read || k == Write {
			p.Ver[mine], used = used[0], used[1:]
			continue
		}
		for j := sub.Preds.Off[mine]; j < sub.Preds.Off[mine+1]; j++ {
			for _, v := range [...]uint32{sub.Preds.Old[j], sub.Preds.New[j]} {
				if v != None {
					p.Ver[v] = used[0]
				}
				used = used[1:]
			}
		}
	}
	return p
}
