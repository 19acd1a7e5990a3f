package history

// Part is a history made of some transactions of another, with the way back.
type Part struct {
	H *History
	// Txn, Op, Key and Ver map the part's indices to the whole's.
	Txn, Op, Key, Ver []uint32
}

// Restrict returns the part of h with the transactions keep, in the order given (a session's in session order), and only those of their operations for which op
// returns true (nil: all); the initial transaction is kept with its writes of keys that the part uses, and belongs to keep by
// itself. Ids, sessions, order in session, times and outcomes stay. List operations are left out.
//
// Removing transactions together with the reads that saw their writes keeps a history serializable, or snapshot isolated, if it
// was: restrict the order. So a part that violates a level proves that the whole does.
//
// A predicate operation is kept whole, with every row that it matched. It is also a read of the keys that it did not match, so
// for what is said above to hold, every writer of a key that the part uses must be in keep with its writes of it, once a
// predicate operation is: one that made a row no longer match must not be removed alone. Keys that the part does not use are
// beyond its predicates' range, which takes nothing but constraints away; but a predicate operation also uses the keys that the
// initial transaction writes, unless op says no to that write.
// Cost: linear in the part's operations, and in the initial transaction's.
func Restrict(h *History, keep []uint32, op func(op uint32) bool) *Part {
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
	var rows []PredRow
	predicates := false
	predicate := func(o uint32) {
		q := h.Ops.Ver[o]
		predicates = true
		rows = rows[:0]
		for j := h.Preds.Off[q]; j < h.Preds.Off[q+1]; j++ {
			before, after := h.Preds.Old[j], h.Preds.New[j]
			r := PredRow{OldUnknown: before == None}
			if before != None {
				r.Key, r.Old = key(h.VerKey[before]), value(h.VerValue(before))
			}
			if after != None {
				r.Key, r.New = key(h.VerKey[after]), value(h.VerValue(after))
			}
			rows = append(rows, r)
		}
		b.Predicate(h.Ops.Kind[o], h.Texts.Text(h.Preds.Pred[q]), rows)
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
		}
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
				if _, used := seenKey[h.VerKey[h.Ops.Ver[o]]]; used || predicates && (op == nil || op(o)) {
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
	for i, o := range p.Op {
		mine, whole := sub.Ops.Ver[i], h.Ops.Ver[o]
		if k := h.Ops.Kind[o]; k == Read || k == Write {
			p.Ver[mine] = whole
			continue
		}
		from := h.Preds.Off[whole]
		for j := sub.Preds.Off[mine]; j < sub.Preds.Off[mine+1]; j++ {
			if v := sub.Preds.Old[j]; v != None {
				p.Ver[v] = h.Preds.Old[from]
			}
			if v := sub.Preds.New[j]; v != None {
				p.Ver[v] = h.Preds.New[from]
			}
			from++
		}
	}
	return p
}
