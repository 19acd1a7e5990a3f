package history

// Part is a history made of some transactions of another, with the way back.
type Part struct {
	H *History
	// Txn, Op, Key and Ver map the part's indices to the whole's.
	Txn, Op, Key, Ver []uint32
}

// Restrict returns the part of h with the transactions keep, in the order given (a session's in session order), and only those of their operations for which op
// returns true (nil: all); the initial transaction is kept with its writes of keys that the part uses, and belongs to keep by
// itself. Ids, sessions, order in session, times and outcomes stay. List and predicate operations are left out.
//
// Removing transactions together with the reads that saw their writes keeps a history serializable, or snapshot isolated, if it
// was: restrict the order. So a part that violates a level proves that the whole does.
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
	add := func(o uint32) {
		v := h.Ops.Ver[o]
		if h.Ops.Kind[o] == Read {
			b.Read(key(h.VerKey[v]), value(h.VerValue(v)))
		} else {
			b.Write(key(h.VerKey[v]), value(h.VerValue(v)))
		}
		p.Op = append(p.Op, o)
	}
	for _, t := range keep {
		if t == h.Init {
			continue
		}
		lo, hi := h.TxnOps(t)
		for o := lo; o < hi; o++ {
			if k := h.Ops.Kind[o]; (k == Read || k == Write) && (op == nil || op(o)) {
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
				if _, used := seenKey[h.VerKey[h.Ops.Ver[o]]]; used {
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
		p.Ver[sub.Ops.Ver[i]] = h.Ops.Ver[o]
	}
	return p
}
