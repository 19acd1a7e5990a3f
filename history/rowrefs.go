package history

// rowRefs are the versions of one key that predicate rows named last, the latest first: a row is mostly matched on a
// version that was seen before, and then needs no new reference to be joined, nor a look for its text among all.
type rowRefs [rowWays]rowRef

// rowWays is how many versions of a key are kept; with clients side by side, and transactions that are rolled back, the
// last one is often not the one that the next row shows.
const rowWays = 4

// rowRef is a version: its value, and one more than the extra reference that names it; 0: there is none. tag is the
// value's kind, and of a row besides what its hash says, so that other rows need not be looked at to be told apart.
type rowRef struct {
	n   int64
	at  uint32
	tag uint32
}

// kindBits of a tag are the kind.
const kindBits = 7

// rowTag is the tag of a row with a hash.
func rowTag(hash uint64) uint32 { return uint32(hash)&^kindBits | uint32(Row) }

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
	found := rowRef{n: v.N, tag: uint32(v.Kind)}
	if v.Kind == Row {
		found.tag = rowTag(b.Texts.hash[v.N])
	}
	at := 0
	for ; at < rowWays; at++ {
		if r := &rows[at]; r.n == v.N && r.tag == found.tag && r.at != 0 {
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
	p.Pred = roomier(p.Pred, room(len(p.Pred)))
	p.Off = roomier(p.Off, room(len(p.Off)))
	p.Old = roomier(p.Old, room(len(p.Old)))
	p.New = roomier(p.New, room(len(p.New)))
	t.arena = roomier(t.arena, room(len(t.arena)))
	t.off = roomier(t.off, room(len(t.off)))
	t.hash = roomier(t.hash, room(len(t.hash)))
}
