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
// match, so for what is said above to hold, every writer of a key that the part uses must be in keep with its writes of
// it, once a predicate operation is: one that made a row no longer match must not be removed alone. Keys that the part
// does not use are beyond its predicates' range, which takes nothing but constraints away; but a predicate operation
// also uses the keys that the initial transaction writes, unless op says no to that write. Cost: linear in the part's
// operations, and in the initial transaction's.
func Restrict(h *History, keep []uint32, op func(op uint32) bool) *Part {
	return RestrictKeys(h, keep, op, nil)
}

// RestrictKeys is Restrict, where a predicate operation ranges over fewer keys: those that keys returns, with ok. Its
// predicate then asks for one of them beside what it asked for; a row of another key is left out, or, if it was
// written, becomes a write; and without any key the operation is left out. So it is enough that every write that made a
// row of such a key match, or no longer match, is kept.
func RestrictKeys(h *History, keep []uint32, op func(op uint32) bool, keys func(op uint32) (ks []uint32,
	ok bool)) *Part {
	b := NewBuilder()
	b.File = h.File
	p := &Part{}
	seenKey := make(map[uint32]uint32) // whole's key → part's
	value := func(v Value) Value {
		if v.Kind == String || v.Kind == Row {
			v.N = int64(b.Text(h.Texts.Text(uint32(v.N))))
		}
		return v
	}
	b.Initial = value(h.Initial)
	key := func(k uint32) uint32 {
		i, ok := seenKey[k]
		if !ok {
			i = b.Key(value(h.Keys[k]))
			seenKey[k] = i
			p.Key = append(p.Key, k)
		}
		return i
	}
	// add adds an operation, and to used the versions that the part's operations name, in the order in which they do.
	var used []uint32
	var rows []PredRow
	ranged := false // an operation may match any key
	predicate := func(o uint32) {
		q := h.Ops.Ver[o]
		var ks []uint32
		some := false
		if keys != nil {
			ks, some = keys(o)
		}
		ranged = ranged || !some
		rows = rows[:0]
		first := len(used)
		var others []uint32
		for j := h.Preds.Off[q]; j < h.Preds.Off[q+1]; j++ {
			before, after := h.Preds.Old[j], h.Preds.New[j]
			r := PredRow{OldUnknown: before == None}
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
			r.Key = key(k)
			if before != None {
				r.Old = value(h.VerValue(before))
			}
			if after != None {
				r.New = value(h.VerValue(after))
			}
			used = append(used, before, after)
			rows = append(rows, r)
		}
		text := h.Texts.Text(h.Preds.Pred[q])
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
			b.Predicate(h.Ops.Kind[o], text, rows)
			p.Op = append(p.Op, o)
		} else {
			used = used[:first]
		}
		for _, v := range others {
			b.Write(key(h.VerKey[v]), value(h.VerValue(v)))
			used = append(used, v)
			p.Op = append(p.Op, o)
		}
	}
	add := func(o uint32) {
		v := h.Ops.Ver[o]
		switch h.Ops.Kind[o] {
		case Read:
			b.Read(key(h.VerKey[v]), value(h.VerValue(v)))
		case Write:
			b.Write(key(h.VerKey[v]), value(h.VerValue(v)))
		default:
			predicate(o)
			return
		}
		used = append(used, v)
		p.Op = append(p.Op, o)
	}
	for _, t := range keep {
		if t == h.Init {
			continue
		}
		lo, hi := h.TxnOps(t)
		for o := lo; o < hi; o++ {
			if k := h.Ops.Kind[o]; k != Append && k != ReadList && (op == nil || op(o)) {
				add(o)
			}
		}
		head := NewTxnHead()
		head.ID, head.HasID = h.Txns.ID[t], true
		head.Line = h.Txns.Line[t]
		head.Status = h.Txns.Status[t]
		head.Start, head.Commit, head.End = h.Start(t), h.Commit(t), h.End(t)
		head.StartTS, head.CommitTS = h.StartTS(t), h.CommitTS(t)
		if s := h.SessName[h.Txns.Sess[t]]; s != NoTime {
			head.Session, head.HasSess = s, true
		}
		b.EndTxn(head)
		p.Txn = append(p.Txn, t)
	}
	if h.Init != None {
		lo, hi := h.TxnOps(h.Init)
		for o := lo; o < hi; o++ {
			if h.Ops.Kind[o] == Write {
				if _, used := seenKey[h.VerKey[h.Ops.Ver[o]]]; used || ranged && (op == nil || op(o)) {
					add(o)
				}
			}
		}
		head := NewTxnHead()
		head.ID, head.HasID, head.Init = h.Txns.ID[h.Init], true, true
		b.EndTxn(head)
		p.Txn = append(p.Txn, h.Init)
	}
	sub, err := b.Build()
	if err != nil {
		panic("history: a part of a history is not one: " + err.Error())
	}
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
