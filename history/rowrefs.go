package history

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// rowRefs has the last versions of one key that predicate rows named, the latest first. Most rows match in a version
// that was seen before, and then need no new reference to be joined, and no look-up of their text.
type rowRefs [rowWays]rowRef

// rowWays is the number of a key's versions in memory. With concurrent clients and rolled-back transactions, the next
// row often shows another version than the last. This many fill a line of the cache; with blindw-pred two more would
// help for one row in a thousand.
const rowWays = 2

// rowRef is a version: its value, and the index of the extra reference that names it, plus one; 0 means none. It
// contains a short row's bytes, or a long row's hash, so that the text need not be looked up.
type rowRef struct {
	words [2]uint64
	n     uint32 // of a row: its text
	at    uint32
	tag   uint32
	named uint32 // the last predicate operation that named the row, counted from 1
}

// The tags of long rows, which are compared by a hash, and of other values, which are compared by their numbers.
const (
	longTag  = 1 << 31
	otherTag = 1 << 30
)

// rowInline is the longest row, in its stored form, whose bytes a rowRef contains.
const rowInline = 18

// rowTag returns what identifies a row: all its bytes or, for a long one, its length and hash.
func rowTag(row []byte) (tag uint32, words [2]uint64) {
	if len(row) > rowInline {
		return longTag, [2]uint64{xxhash.Sum64(row), uint64(len(row))}
	}
	var b [rowInline]byte
	copy(b[:], row)
	return uint32(len(row))<<16 | uint32(binary.LittleEndian.Uint16(b[:])), [2]uint64{
		binary.LittleEndian.Uint64(b[2:]), binary.LittleEndian.Uint64(b[10:])}
}

func (b *Builder) rowsOf(key uint32) *rowRefs {
	if int(key) >= len(b.lastRows) {
		b.lastRows = append(b.lastRows, make([]rowRefs, max(int(key)+1, len(b.keys), len(b.lastRows)*3/2)-
			len(b.lastRows))...)
	}
	return &b.lastRows[key]
}

// Expect prefetches the data about a key whose row comes next.
func (b *Builder) Expect(key uint32) {
	if int(key) < len(b.lastRows) {
		b.fetched += b.lastRows[key][0].tag
	}
}

// RowRef is RowAt for a row in AppendRow's form. It returns a reference for PredRow or, if there is none (ref is 0), a
// value.
func (b *Builder) RowRef(key uint32, row []byte) (ref uint32, v Value) {
	if b.join.own.draft { // which counts the references of a transaction as it ends
		return 0, b.PackedAt(key, row)
	}
	tag, words := rowTag(row)
	rows := b.rowsOf(key)
	for i := range rows {
		if r := &rows[i]; b.isRow(r, tag, words, row) {
			return b.found(rows, i) + 1, Value{}
		}
	}
	n := b.Texts.add(row, b.Texts.hashOf(row))
	rows[1] = rows[0]
	rows[0] = rowRef{words: words, tag: tag, n: n, at: b.extraRef(key, Value{Kind: Row, N: int64(n)}) + 1}
	return rows[0].at, Value{}
}

// found counts one more use of a reference and returns it.
func (b *Builder) found(rows *rowRefs, i int) uint32 {
	b.join.own.n++
	if i > 0 {
		rows[0], rows[1] = rows[1], rows[0]
	}
	return rows[0].at - 1
}

func (b *Builder) isRow(r *rowRef, tag uint32, words [2]uint64, row []byte) bool {
	return r.words == words && r.tag == tag && r.at != 0 && (len(row) <= rowInline ||
		string(b.Texts.raw(r.n)) == string(row))
}

// rowRef is extraRef for a row of a predicate.
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
		return b.found(rows, i)
	}
	rows[1] = rows[0]
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
	b.predOps++
	for i := range rows {
		r := &rows[i]
		old, new := r.OldRef-1, r.NewRef-1
		if r.OldRef == 0 && !r.OldUnknown {
			old = b.rowRef(r.Key, r.Old)
		}
		if r.NewRef == 0 && kind == PredWrite {
			new = b.rowRef(r.Key, r.New)
		}
		p.Old = append(p.Old, old)
		p.New = append(p.New, new)
		known := b.rowsOf(r.Key)
		b.rowAgain = b.rowAgain || known[0].named == b.predOps || known[1].named == b.predOps
		known[0].named, known[1].named = b.predOps, b.predOps
	}
	p.Off = append(p.Off, uint32(len(p.Old)))
}

// ReserveRows makes space for more texts and rows: more times as many as so far. Without it the largest columns would
// be copied while they grow, and be in memory twice.
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
