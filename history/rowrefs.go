package history

import "slices"

// rowRefs are the versions of one key that predicate rows named last, the latest first: a row is mostly matched on a
// version that was seen before, and then needs no new reference to be joined, nor a look for its text among all.
type rowRefs [rowWays]rowRef

// rowWays is how many versions of a key are kept; with clients side by side, and transactions that are rolled back, the
// last one is often not the one that the next row shows.
const rowWays = 4

// rowRef is a version: its value, and one more than the extra reference that names it.
type rowRef struct {
	n    int64
	at   uint32
	kind ValueKind
}

// rowsOf returns the versions of a key.
func (b *Builder) rowsOf(key uint32) *rowRefs {
	if int(key) >= len(b.lastRows) {
		b.lastRows = append(b.lastRows, make([]rowRefs, max(int(key)+1, len(b.keys), len(b.lastRows)*3/2)-
			len(b.lastRows))...)
	}
	return &b.lastRows[key]
}

// KnownRow returns the row that the text begins with, if it is among the last ones that predicates named at the key,
// and its length there; else 0. The text of a row is never the beginning of another's.
func (b *Builder) KnownRow(key uint32, text []byte) (v Value, length int) {
	if int(key) >= len(b.lastRows) {
		return v, 0
	}
	for i := range b.lastRows[key] {
		r := &b.lastRows[key][i]
		if r.at == 0 || r.kind != Row {
			continue
		}
		if t := b.Texts.Text(uint32(r.n)); len(t) <= len(text) && string(text[:len(t)]) == string(t) {
			return Value{N: r.n, Kind: Row}, len(t)
		}
	}
	return v, 0
}

// rowRef is extraRef of a predicate's row.
func (b *Builder) rowRef(key uint32, v Value) uint32 {
	rows := b.rowsOf(key)
	found := rowRef{n: v.N, kind: v.Kind}
	at := 0
	for ; at < rowWays; at++ {
		if r := &rows[at]; r.n == v.N && r.kind == v.Kind && r.at != 0 {
			found.at = r.at
			b.join.own.n++
			break
		}
	}
	if found.at == 0 {
		found.at = b.extraRef(key, v) + 1
		at = rowWays - 1
	}
	copy(rows[1:at+1], rows[:at])
	rows[0] = found
	return found.at - 1
}

// Predicate adds a predicate read (kind PredRead) or write (PredWrite); pred is the predicate as JSON.
func (b *Builder) Predicate(kind OpKind, pred []byte, rows []PredRow) {
	b.kind = append(b.kind, kind)
	p := &b.preds
	if len(p.Off) == 0 {
		p.Off = append(p.Off, 0)
	}
	p.Pred = append(p.Pred, b.Texts.Intern(pred))
	for i := range rows {
		r := &rows[i]
		old, new := None, None
		if !r.OldUnknown {
			old = b.rowRef(r.Key, r.Old)
		}
		if kind == PredWrite {
			new = b.rowRef(r.Key, r.New)
		}
		p.Old = append(p.Old, old)
		p.New = append(p.New, new)
	}
	p.Off = append(p.Off, uint32(len(p.Old)))
}

// ReserveRows makes room for the texts and rows that are to come, more times as many as there are so far. Without it
// the greatest of the columns would be copied while they grow, and stand there twice.
func (b *Builder) ReserveRows(more float64) {
	room := func(n int) int { return int(more * float64(n)) }
	p, t := &b.preds, &b.Texts
	p.Pred = slices.Grow(p.Pred, room(len(p.Pred)))
	p.Off = slices.Grow(p.Off, room(len(p.Off)))
	p.Old = slices.Grow(p.Old, room(len(p.Old)))
	p.New = slices.Grow(p.New, room(len(p.New)))
	t.arena = slices.Grow(t.arena, room(len(t.arena)))
	t.off = slices.Grow(t.off, room(len(t.off)))
	t.hash = slices.Grow(t.hash, room(len(t.hash)))
}
