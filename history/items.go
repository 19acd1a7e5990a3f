package history

// Items returns the history without its predicates, as a checker of item operations needs it. A predicate operation
// becomes a read of each row that it matched in a known version, and a write of each row that it changed. Keys that it
// did not match are ignored. Transactions keep their indices; keys and versions do not.
//
// Every order that explains h explains the result, so that a violation of the result is one of h. The reverse is
// false: phantoms are lost. Cost: linear in the operations and rows.
func Items(h *History) *History {
	b := NewBuilder()
	b.File, b.Meta = h.File, h.Meta
	b.Initial = b.ValueOf(h, h.Initial)
	add := func(put func(key uint32, v Value), ver uint32) {
		if ver != None {
			put(b.KeyOf(h, h.VerKey[ver]), b.ValueOf(h, h.VerValue(ver)))
		}
	}
	place := h.SessionPlaces()
	for t := range uint32(h.NumTxns()) {
		for o := range h.EachOp(t) {
			switch v := h.Ops.Ver[o]; h.Ops.Kind[o] {
			case Read:
				add(b.Read, v)
			case Write:
				add(b.Write, v)
			case PredRead, PredWrite:
				from, to := h.Preds.Off[v], h.Preds.Off[v+1]
				for _, old := range h.Preds.Old[from:to] {
					add(b.Read, old)
				}
				for _, made := range h.Preds.New[from:to] {
					add(b.Write, made)
				}
			default:
				panic("history: Items of a history with lists")
			}
		}
		head := b.HeadOf(h, t)
		head.Seq, head.HasSeq = int64(place[t]), head.HasSess
		b.EndTxn(head)
	}
	b.notes = h.Notes
	out, err := b.Build()
	if err == nil {
		out.Positions, out.Run = h.Positions, h.Run
	}
	if err != nil {
		panic("history: its items are not a history: " + err.Error())
	}
	return out
}
