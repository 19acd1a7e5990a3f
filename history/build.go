package history

import "slices"

// Build checks the added transactions and makes a History of them. The Builder must not be used afterwards. Errors are
// of type *InputError. Cost: linear in operations and transactions, and sorting if ids or seqs are not in order; the
// join of versions is in join.go.
func (b *Builder) Build() (*History, error) {
	if err := b.checkSize(); err != nil {
		return nil, err
	}
	b.join.ready(b.keyHash, &b.Texts)
	b.distinctTexts()
	b.Texts.hash = nil // the next needs room; what needs them makes them anew
	ver := make([]uint32, len(b.kind))
	extra := make([]uint32, b.extra)
	v := b.join.joinAll(b.keyHash, ver, extra, b.Workers)
	if b.FirstReads {
		ver = b.inferInitial(v, ver, extra)
	}
	if err := b.checkTxns(); err != nil {
		return nil, err
	}
	h := &History{File: b.File, Meta: b.Meta, Notes: b.notes, Initial: b.Initial, Init: b.init}
	if err := b.sessions(h); err != nil {
		return nil, err
	}
	n := len(b.txns.ID)
	if b.opStart != nil {
		b.opStart = padTimes(b.opStart, len(b.kind))
		b.opEnd = padTimes(b.opEnd, len(b.kind))
	}
	x := &b.txns
	if n == 0 {
		x.OpOff = []uint32{0}
	}
	x.Start, x.Commit, x.End = fullCol(x.Start, n), fullCol(x.Commit, n), fullCol(x.End, n)
	x.StartTS, x.CommitTS = fullCol(x.StartTS, n), fullCol(x.CommitTS, n)
	x.Node, x.Name, x.Locking = fullText(x.Node, n), fullText(x.Name, n), fullText(x.Locking, n)
	x.Level = fullText(x.Level, n)
	sess := h.Txns.Sess
	h.Txns = *x
	h.Txns.Sess = sess

	h.VerKey, h.VerKind, h.VerN = v.key, v.kind, v.n
	h.Keys = b.keys
	h.Texts = &b.Texts
	h.Ops = Ops{Kind: b.kind, Ver: ver, Start: b.opStart, End: b.opEnd}
	h.Lists, h.Preds = b.lists, b.preds
	resolve(h.Lists.Elem, extra)
	if rows := [...][]uint32{h.Preds.Old, h.Preds.New}; b.Workers > 1 && len(extra) >= joinSmall {
		parallel(len(rows), func(i int) { resolve(rows[i], extra) })
	} else {
		resolve(rows[0], extra)
		resolve(rows[1], extra)
	}
	l, p := uint32(0), uint32(0)
	kinds := h.Ops.Kind
	if len(b.lists.Key) == 0 && len(b.preds.Pred) == 0 {
		kinds = nil
	}
	for op, k := range kinds {
		switch k {
		case ReadList:
			ver[op] = l
			l++
		case PredRead, PredWrite:
			ver[op] = p
			p++
		}
	}
	model, err := b.settleLists(h)
	if err != nil {
		return nil, err
	}
	if b.rowAgain {
		if err := b.checkRows(h); err != nil {
			return nil, err
		}
	}
	h.initialVersions(model)
	b.Texts.settle()
	b.keySlot, b.keyHash, b.few = nil, nil, [Row + 1][]uint32{} // the history's texts hold the builder
	return h, nil
}

func fullCol(col []int64, n int) []int64 {
	if col == nil {
		return nil
	}
	return padTimes(col, n)
}

func fullText(col []uint32, n int) []uint32 {
	if col == nil {
		return nil
	}
	for len(col) < n {
		col = append(col, None)
	}
	return col
}

// resolve replaces indexes of extra references by version ids.
func resolve(refs, extra []uint32) {
	for i, r := range refs {
		if r != None {
			refs[i] = extra[r]
		}
	}
}

// settleLists decides which keys are lists: those appended to or read as a list and, if the header says so, those only
// read as null. A list that is also written as a register is bad input. A read of null from a list becomes a read of
// the empty list. It returns how each key is used, or nil if there are no lists.
func (b *Builder) settleLists(h *History) (model []uint8, err error) {
	if len(h.Lists.Key) == 0 && !b.Meta.Lists && !slices.Contains(h.Ops.Kind, Append) {
		return nil, nil
	}
	model = make([]uint8, h.NumKeys())
	for _, k := range h.Lists.Key {
		model[k] |= list
	}
	for op, k := range h.Ops.Kind {
		if k == Append {
			model[h.VerKey[h.Ops.Ver[op]]] |= list
		} else if k == Write || k == Read && h.VerKind[h.Ops.Ver[op]] != Null {
			model[h.VerKey[h.Ops.Ver[op]]] |= register
		}
	}
	for t := range uint32(h.NumTxns()) {
		for op := range h.EachOp(t) {
			k := h.Ops.Kind[op]
			if k == PredRead || k == PredWrite {
				continue
			}
			key := h.OpKey(op)
			if model[key] == list|register {
				return nil, b.errorf(t, "ops", "key %s is used as a list and as a register; expected one of them",
					h.KeyString(key))
			}
			if k == Read && (model[key] == list || model[key] == 0 && b.Meta.Lists) {
				if len(h.Lists.Off) == 0 {
					h.Lists.Off = append(h.Lists.Off, 0)
				}
				model[key] = list
				h.Ops.Kind[op] = ReadList
				h.Ops.Ver[op] = uint32(len(h.Lists.Key))
				h.Lists.Key = append(h.Lists.Key, key)
				h.Lists.Off = append(h.Lists.Off, uint32(len(h.Lists.Elem)))
			}
		}
	}
	return model, nil
}

// How a key is used, as bits.
const (
	list = 1 << iota
	register
)

// initialVersions fills InitVer. A list has no initial version: it begins empty, and an early read of null names no
// version.
func (h *History) initialVersions(model []uint8) {
	h.InitVer = slices.Repeat([]uint32{None}, h.NumKeys())
	for v, k := range h.VerKey {
		if h.VerKind[v] == h.Initial.Kind && h.VerN[v] == h.Initial.N && (model == nil || model[k]&list == 0) {
			h.InitVer[k] = uint32(v)
		}
	}
	if h.Init == None {
		return
	}
	for op := range h.EachOp(h.Init) {
		if h.Ops.Kind[op] == Write {
			v := h.Ops.Ver[op]
			h.InitVer[h.VerKey[v]] = v
		}
	}
}
