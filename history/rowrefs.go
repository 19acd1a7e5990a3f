package history

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// rowRefs are the versions of one key that predicate rows named last, the latest first: a row is mostly matched on a
// version that was seen before, and then needs no new reference to be joined, nor a look for its text among all.
type rowRefs [rowWays]rowRef

// rowWays is how many versions of a key are kept; with clients side by side, and transactions that are rolled back, the
// last one is often not the one that the next row shows.
const rowWays = 4

// rowRef is a version: its value, and one more than the extra reference that names it; 0: there is none. A row's bytes
// stand here, so that it need not be looked for among the texts; of a long one a hash.
type rowRef struct {
	words [2]uint64
	n     uint32 // of a row: its text
	at    uint32
	tag   uint32
}

// The tags of rows of which a hash stands there, and of values that are no rows: their numbers stand there.
const (
	longTag  = 1 << 31
	otherTag = 1 << 30
)

// rowInline is up to how many bytes, as they stand among the texts, a row's are kept.
const rowInline = 18

// rowTag returns what tells rows apart: all there is to them, or, of long ones, what is hardly the same by chance.
func rowTag(row []byte) (tag uint32, words [2]uint64) {
	if len(row) > rowInline {
		return longTag, [2]uint64{xxhash.Sum64(row), uint64(len(row))}
	}
	var b [rowInline]byte
	copy(b[:], row)
	return uint32(len(row))<<16 | uint32(binary.LittleEndian.Uint16(b[:])), [2]uint64{
		binary.LittleEndian.Uint64(b[2:]), binary.LittleEndian.Uint64(b[10:])}
}

// rowsOf returns the versions of a key.
func (b *Builder) rowsOf(key uint32) *rowRefs {
	if int(key) >= len(b.lastRows) {
		b.lastRows = append(b.lastRows, make([]rowRefs, max(int(key)+1, len(b.keys), len(b.lastRows)*3/2)-
			len(b.lastRows))...)
	}
	return &b.lastRows[key]
}

// rowRef is extraRef of a predicate's row.
func (b *Builder) rowRef(key uint32, v Value) uint32 {
	rows := b.rowsOf(key)
	other := uint32(0)
	if v.Kind != Row {
		other = otherTag | uint32(v.Kind)
	}
	for i := range rows {
		r := &rows[i]
		if r.at == 0 || v.Kind == Row && (r.n != uint32(v.N) || r.tag&otherTag != 0) ||
			v.Kind != Row && (r.tag != other || r.words[0] != uint64(v.N)) {
			continue
		}
		b.join.own.n++
		if i > 0 {
			found := *r
			copy(rows[1:i+1], rows[:i])
			rows[0] = found
		}
		return rows[0].at - 1
	}
	copy(rows[1:], rows[:rowWays-1])
	r := &rows[0]
	r.n, r.at = uint32(v.N), b.extraRef(key, v)+1
	if v.Kind == Row {
		r.tag, r.words = rowTag(b.Texts.raw(r.n))
	} else {
		r.tag, r.words = other, [2]uint64{uint64(v.N)}
	}
	return r.at - 1
}

// Predicate adds a predicate read (kind PredRead) or write (PredWrite); pred is the predicate as JSON.
func (b *Builder) Predicate(kind OpKind, pred []byte, rows []PredRow) {
	b.kind = append(b.kind, kind)
	p := &b.preds
	if len(p.Off) == 0 {
		p.Off = append(p.Off, 0)
	}
	p.Pred = append(p.Pred, b.predText(pred))
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
	p.Pred = roomier(p.Pred, room(len(p.Pred)))
	p.Off = roomier(p.Off, room(len(p.Off)))
	p.Old = roomier(p.Old, room(len(p.Old)))
	p.New = roomier(p.New, room(len(p.New)))
	t.arena = roomier(t.arena, room(len(t.arena)))
	t.off = roomier(t.off, room(len(t.off)))
	t.hash = roomier(t.hash, room(len(t.hash)))
}
