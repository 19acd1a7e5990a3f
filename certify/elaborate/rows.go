package elaborate

import (
	"isovet/history"
	"isovet/predicates"
)

// rowColumns returns the operations of a history of registers as columns. A predicate operation becomes reads of the
// matched rows whose versions are known, and then writes. At read committed these reads have no order among themselves;
// the order given here makes more visible, so an order that explains the columns explains the history. at holds the
// place where each operation of the history begins.
func (x *terms) rowColumns() (c *columns, at []uint32) {
	h := x.h
	c, at = &columns{Off: make([]uint32, 1, h.NumTxns()+1), Keys: h.VerKey}, make([]uint32, h.NumOps())
	x.held(c)
	add := func(v uint32, kind history.OpKind) { c.Ver, c.Kind = append(c.Ver, v), append(c.Kind, kind) }
	for t := range uint32(h.NumTxns()) {
		for op := range h.EachOp(t) {
			at[op] = uint32(len(c.Ver))
			i, kind := h.Ops.Ver[op], h.Ops.Kind[op]
			if kind == history.Read || kind == history.Write {
				add(i, kind)
				continue
			}
			rows, end := h.Preds.Off[i], h.Preds.Off[i+1]
			for _, v := range h.Preds.Old[rows:end] {
				if v != history.None {
					add(v, history.Read)
				}
			}
			if kind == history.PredWrite {
				for _, v := range h.Preds.New[rows:end] {
					add(v, history.Write)
				}
			}
		}
		c.Off = append(c.Off, uint32(len(c.Ver)))
	}
	return c, at
}

// ownRows checks that predicate operations agree with the earlier writes of their own transaction, which the columns do
// not show for rows that were not matched. It returns the reason if they do not agree.
func (x *terms) ownRows() (why string) {
	h := x.h
	for t := range uint32(h.NumTxns()) {
		if !x.takesPart(t) {
			continue
		}
		own := map[uint32]uint32{}
		for op, i := range h.EachOp(t) {
			switch h.Ops.Kind[op] {
			case history.Write:
				own[h.VerKey[i]] = i
				continue
			case history.Read:
				continue
			}
			known := map[uint32]bool{} // matched row → its version is known
			for row := h.Preds.Off[i]; row < h.Preds.Off[i+1]; row++ {
				known[h.RowKey(row)] = h.Preds.Old[row] != history.None
			}
			for k, v := range own {
				is := x.searches.truths.Of(i, k, v)
				with, found := known[k]
				if is == predicates.True && !found || is == predicates.False && found && !with {
					return "predicate operations of transactions that write the rows themselves"
				}
			}
			if h.Ops.Kind[op] == history.PredWrite {
				for _, v := range h.Preds.New[h.Preds.Off[i]:h.Preds.Off[i+1]] {
					own[h.VerKey[v]] = v
				}
			}
		}
	}
	return ""
}
