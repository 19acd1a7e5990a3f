package history

import "slices"

// Part is a history of some transactions of another history, with a mapping back.
type Part struct {
	H *History
	// Txn, Op, Key and Ver map the part's indices to the whole's.
	Txn, Op, Key, Ver []uint32
}

// Restrict returns the part of h with the transactions keep, in the given order (a session's in session order), and
// only those of their operations for which op returns true (nil means all). It also has the initial transaction, which
// need not be in keep, with its writes of keys that the part uses. Ids, sessions, order in sessions, times and
// outcomes stay. List operations are left out.
//
// If a history is serializable, or snapshot isolated, it stays so when transactions are removed together with the
// reads of their writes: restrict the order. So a part that violates a level proves that the whole does.
//
// A predicate operation stays with every row that it matched. It also says that it did not match the other keys. So if
// there is one, the proof needs, for every key that the part uses, all its writers in keep with their writes of the
// key: a writer that made a row stop matching must not be removed. Keys that the part does not use are outside the
// range of its predicates, which only removes constraints. A predicate operation also uses the keys that the initial
// transaction writes, unless op returns false for that write. Cost: linear in the operations of the part and of the
// initial transaction.
func Restrict(h *History, keep []uint32, op func(op uint32) bool) *Part {
	return RestrictKeys(h, keep, op, nil)
}

// RestrictKeys is Restrict with a smaller range of keys for a predicate operation: those that keys returns, if ok is
// true. The predicate then also requires one of these keys. A row of another key is left out or, if it was written,
// becomes a write. Without any key the operation is left out. So only the writes that made a row of these keys match,
// or stop matching, must stay.
func RestrictKeys(h *History, keep []uint32, op func(op uint32) bool, keys func(op uint32) (ks []uint32,
	ok bool)) *Part {
	r := &restriction{h: h, b: NewBuilder(), p: &Part{}, keys: keys, key: make(map[uint32]uint32)}
	r.b.File = h.File
	r.b.Initial = r.value(h.Initial)
	for _, t := range keep {
		if t == h.Init {
			continue
		}
		for o := range h.EachOp(t) {
			if k := h.Ops.Kind[o]; k != Append && k != ReadList && (op == nil || op(o)) {
				r.add(o)
			}
		}
		r.end(t)
	}
	if h.Init != None {
		for o := range h.EachOp(h.Init) {
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

// restriction builds a part of a history.
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

func (r *restriction) value(v Value) Value { return r.b.ValueOf(r.h, v) }

func (r *restriction) keyOf(k uint32) uint32 {
	i, ok := r.key[k]
	if !ok {
		i = r.b.KeyOf(r.h, k)
		r.key[k] = i
		r.p.Key = append(r.p.Key, k)
	}
	return i
}

func (r *restriction) add(o uint32) {
	v := r.h.Ops.Ver[o]
	if r.h.Ops.Kind[o].Predicate() {
		r.predicate(o)
		return
	}
	r.b.Item(r.h.Ops.Kind[o], r.keyOf(r.h.VerKey[v]), r.value(r.h.VerValue(v)))
	r.used = append(r.used, v)
	r.p.Op = append(r.p.Op, o)
}

// predicate adds a predicate operation, limited to some keys if keys says so, and its writes to other keys.
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

// matched sets r.rows to the rows that predicate operation q matched; if some is true, only those with keys ks. It
// returns the versions that it wrote to other keys.
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

func (r *restriction) end(t uint32) {
	r.b.EndTxn(r.b.HeadOf(r.h, t))
	r.p.Txn = append(r.p.Txn, t)
}

// build makes the part, and maps its versions to the whole's.
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
