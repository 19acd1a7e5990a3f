package history

import "slices"

// Merge appends the transactions of another builder to b's. other must not be used afterwards. Ordinals that name
// transactions are counted on from b's, and lines is added to other's line numbers. The header (Meta, Initial, File)
// stays b's. Cost: interning of other's keys and texts, and a copy of its columns. Build joins the versions.
func (b *Builder) Merge(other *Builder, lines uint32) {
	texts, keys := b.mergeTexts(other), make([]uint32, len(other.keys))
	for i, k := range other.keys {
		if k.Kind == String {
			if k.N = int64(texts.of(uint32(k.N))); b.Texts.isLoose(uint32(k.N)) {
				k.N = int64(b.Texts.enter(uint32(k.N)))
			}
		}
		keys[i] = b.Key(k)
	}
	t0, op0 := len(b.txns.ID), uint32(len(b.kind))
	b.mergeTxns(other, texts, lines)

	b.join.merge(&other.join, keys, texts, op0, b.extra)
	b.kind = append(b.kind, other.kind...)
	other.kind = nil
	b.opStart = mergeCol(b.opStart, other.opStart, int(op0))
	other.opStart = nil
	b.opEnd = mergeCol(b.opEnd, other.opEnd, int(op0))
	other.opEnd = nil

	b.lists.Off = mergeOff(b.lists.Off, other.lists.Off)
	for _, k := range other.lists.Key {
		b.lists.Key = append(b.lists.Key, keys[k])
	}
	b.lists.Elem = mergePlaces(b.lists.Elem, other.lists.Elem, b.extra)
	b.preds.Off = mergeOff(b.preds.Off, other.preds.Off)
	for _, p := range other.preds.Pred {
		b.preds.Pred = append(b.preds.Pred, texts.of(p))
	}
	b.preds.Old = mergePlaces(b.preds.Old, other.preds.Old, b.extra)
	b.preds.New = mergePlaces(b.preds.New, other.preds.New, b.extra)
	b.rowAgain = b.rowAgain || other.rowAgain
	b.extra += other.extra
	for _, n := range other.notes {
		b.notes = addNote(b.notes, n)
	}

	for _, i := range []uint32{other.init, other.init2} {
		if i != None {
			b.markInit(uint32(t0) + i)
		}
	}
}

// mergeTexts adds another builder's texts and returns their new ids. If there are many, it copies them, and Build
// finds equal ones (loose.go).
func (b *Builder) mergeTexts(other *Builder) textMap {
	t, o := &b.Texts, &other.Texts
	t.marked = t.marked || o.marked
	same := len(o.shapes) <= len(t.shapes) // shapes have the same numbers
	for i := 0; i < len(o.shapes) && same; i++ {
		same = string(o.raw(o.shapes[i])) == string(t.raw(t.shapes[i]))
	}
	if same && o.loose != nil && o.Len() >= manyTexts {
		return textMap{base: t.append(o)}
	}
	texts := make([]uint32, o.Len())
	shapes := slices.Repeat([]uint32{None}, len(o.shapes))
	for i := range uint32(len(texts)) {
		put := t.intern
		if o.isLoose(i) {
			put = t.add
		}
		row := o.raw(i)
		if !same {
			row = t.reshape(row, o, shapes)
		}
		texts[i] = put(row, o.Hash(i))
	}
	return textMap{ids: texts}
}

// manyTexts is the number of texts from which on they are copied.
var manyTexts = 1 << 12

func (b *Builder) mergeTxns(other *Builder, texts textMap, lines uint32) {
	x, y := &b.txns, &other.txns
	t0, n := len(x.ID), len(y.ID)
	if n == 0 {
		return
	}
	if b.ordinal != nil || other.ordinal != nil {
		b.ordinal = append(b.ordinal, make([]bool, t0-len(b.ordinal))...)
		b.ordinal = append(b.ordinal, other.ordinal...)
		b.ordinal = append(b.ordinal, make([]bool, t0+n-len(b.ordinal))...)
	}
	x.ID = append(x.ID, y.ID...)
	if b.ordinal != nil {
		for t := t0; t < t0+n; t++ {
			if b.ordinal[t] {
				x.ID[t] = int64(t)
			}
		}
	}
	for _, l := range y.Line {
		if l != 0 {
			l += lines
		}
		x.Line = append(x.Line, l)
	}
	x.Status = append(x.Status, y.Status...)
	x.OpOff = mergeOff(x.OpOff, y.OpOff)
	b.sess.merge(&other.sess)
	b.seq = mergeCol(b.seq, other.seq, t0)
	x.Start = mergeCol(x.Start, y.Start, t0)
	x.Commit = mergeCol(x.Commit, y.Commit, t0)
	x.End = mergeCol(x.End, y.End, t0)
	x.StartTS = mergeCol(x.StartTS, y.StartTS, t0)
	x.CommitTS = mergeCol(x.CommitTS, y.CommitTS, t0)
	x.Node = mergeTexts(x.Node, y.Node, texts, t0, n)
	x.Name = mergeTexts(x.Name, y.Name, texts, t0, n)
	x.Locking = mergeTexts(x.Locking, y.Locking, texts, t0, n)
	x.Level = mergeTexts(x.Level, y.Level, texts, t0, n)

	// A column that one side has and the other has not is padded: EndTxn expects a column to be nil or of full length.
	if b.seq != nil {
		b.seq = padTimes(b.seq, t0+n)
	}
	for _, col := range []*[]int64{&x.Start, &x.Commit, &x.End, &x.StartTS, &x.CommitTS} {
		*col = fullCol(*col, t0+n)
	}
}

// mergeCol appends a column of times to one that may be short of n0 entries; either may be nil.
func mergeCol(col, other []int64, n0 int) []int64 {
	if other == nil {
		return col
	}
	return append(padTimes(slices.Grow(col, n0-len(col)+len(other)), n0), other...)
}

func mergeTexts(col, other []uint32, texts textMap, n0, n int) []uint32 {
	if other != nil {
		for len(col) < n0 {
			col = append(col, None)
		}
		for _, t := range other {
			if t != None {
				t = texts.of(t)
			}
			col = append(col, t)
		}
	}
	return fullText(col, n0+n)
}

func mergeOff(off, other []uint32) []uint32 {
	if len(other) == 0 {
		return off
	}
	if len(off) == 0 {
		return append(off, other...)
	}
	base := off[len(off)-1]
	for _, o := range other[1:] {
		off = append(off, base+o)
	}
	return off
}

func mergePlaces(places, other []uint32, base uint32) []uint32 {
	for _, p := range other {
		if p != None {
			p += base
		}
		places = append(places, p)
	}
	return places
}

// Reserve makes space for about so many more transactions and operations, which saves copies.
func (b *Builder) Reserve(txns, ops int) {
	b.kind = roomier(b.kind, ops)
	if b.opStart != nil {
		b.opStart = roomier(b.opStart, ops)
		b.opEnd = roomier(b.opEnd, ops)
	}
	x := &b.txns
	x.ID = roomier(x.ID, txns)
	x.Line = roomier(x.Line, txns)
	x.Status = roomier(x.Status, txns)
	x.OpOff = roomier(x.OpOff, txns+1)
	b.sess.of = roomier(b.sess.of, txns)
	for _, col := range []*[]int64{&b.seq, &x.Start, &x.Commit, &x.End, &x.StartTS, &x.CommitTS} {
		if *col != nil {
			*col = roomier(*col, txns)
		}
	}
}

// roomier is slices.Grow for columns whose new memory was not used before. The system provides such memory as zeros at
// the first write; slices.Grow would write zeros to all of it at once.
func roomier[T any](col []T, n int) []T {
	if cap(col)-len(col) >= n {
		return col
	}
	out := make([]T, len(col), len(col)+n)
	copy(out, col)
	return out
}
