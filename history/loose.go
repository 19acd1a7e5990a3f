package history

import (
	"math"
	"math/bits"
	"slices"
)

// A row made by a predicate write is nearly always new, predicates are new often, and histories have millions of both.
// Looking each up in a table of all texts would miss the cache each time, and this table takes a third of the memory
// for reading. So they are added without a look-up: they are loose. Build finds equal ones later, part by part, on
// several cores, in tables that stay in the cache.

// add adds a text in stored form without looking whether the table has it already. h is its hash.
func (t *Texts) add(b []byte, h uint64) uint32 {
	if len(t.off) == 0 {
		t.off = append(t.off, 0)
	}
	t.ready()
	if len(t.arena)+len(b) > math.MaxUint32 {
		t.full = true
		b = nil
	}
	id := uint32(len(t.hash))
	if w := int(id >> 6); w >= len(t.loose) {
		t.loose = append(t.loose, make([]uint64, w+1-len(t.loose))...)
	}
	t.loose[id>>6] |= 1 << (id & 63)
	t.hash = append(t.hash, h)
	t.arena = append(t.arena, b...)
	t.off = append(t.off, uint32(len(t.arena)))
	return id
}

// append adds all texts of another table, and returns the id of the first.
func (t *Texts) append(o *Texts) (base uint32) {
	t.ready()
	o.ready()
	if len(t.off) == 0 {
		t.off = append(t.off, 0)
	}
	first, n, arena := len(t.hash), len(o.hash), uint32(len(t.arena))
	if len(t.arena)+len(o.arena) > math.MaxUint32 {
		t.full = true
	} else {
		t.arena = append(t.arena, o.arena...)
	}
	t.hash = append(t.hash, o.hash...)
	t.off = slices.Grow(t.off, n)
	for _, at := range o.off[1:] {
		if t.full {
			at = 0
		}
		t.off = append(t.off, arena+at)
	}
	for len(t.loose) <= (first+n)>>6 {
		t.loose = append(t.loose, 0)
	}
	for id := first; id < first+n; id++ {
		t.loose[id>>6] |= 1 << (id & 63)
	}
	return uint32(first)
}

// enter makes a loose text known to Intern and returns its id. If an equal text is known, it returns the id of that.
func (t *Texts) enter(id uint32) uint32 {
	if 4*(t.in+1) > 3*len(t.slot) {
		t.grow()
	}
	h, mask := t.hash[id], uint64(len(t.slot)-1)
	for i := h >> t.shift; ; i = (i + 1) & mask {
		s := t.slot[i]
		if s == 0 {
			t.slot[i] = h>>32<<32 | uint64(id+1)
			t.in++
			t.loose[id>>6] &^= 1 << (id & 63)
			return id
		}
		if s>>32 == h>>32 && string(t.raw(uint32(s)-1)) == string(t.raw(id)) {
			return uint32(s) - 1
		}
	}
}

// isLoose reports whether a text was added without a look-up.
func (t *Texts) isLoose(id uint32) bool {
	w := id >> 6
	return int(w) < len(t.loose) && t.loose[w]>>(id&63)&1 != 0
}

// loosePart is the approximate number of texts that are compared in one pass.
const loosePart = 1 << 12

// looseTwin is a pair of equal texts: the later one in the upper half, the earlier one in the lower half.
type looseTwin = uint64

// distinct removes loose texts that equal an earlier text, and returns the new id of each text, or nil if none
// changes. Cost: linear; 8 bytes of memory for each text.
func (t *Texts) distinct(workers int) *kept {
	if t.loose == nil {
		return nil
	}
	n := len(t.hash)
	width := max(0, min(16, bits.Len(uint(n/loosePart))))
	// The texts by the first bits of their hashes, in the order of their ids: 32 bits of the hash, and the id.
	start := make([]int, 1<<width+1)
	for _, h := range t.hash {
		start[h>>(64-width)+1]++
	}
	for i := range 1 << width {
		start[i+1] += start[i]
	}
	all := make([]uint64, n)
	next := slices.Clone(start)
	for id, h := range t.hash {
		p := h >> (64 - width)
		all[next[p]] = h<<width>>32<<32 | uint64(id)
		next[p]++
	}
	workers = max(1, min(workers, n/loosePart))
	found := make([][]looseTwin, workers)
	parallel(workers, func(w int) {
		var table []uint64
		for p := w << width / workers; p < (w+1)<<width/workers; p++ {
			found[w], table = t.twins(all[start[p]:start[p+1]], table, found[w])
		}
	})
	t.loose = nil
	twins := slices.Concat(found...)
	if len(twins) == 0 {
		return nil
	}
	slices.Sort(twins)
	return t.drop(twins)
}

// twins appends the texts in some that equal an earlier one of them. table is scratch memory.
func (t *Texts) twins(some, table []uint64, found []looseTwin) ([]looseTwin, []uint64) {
	size := 1 << bits.Len(uint(2*len(some)))
	if len(table) < size {
		table = make([]uint64, size)
	}
	table = table[:cap(table)]
	clear(table[:size])
	shift := 64 - bits.TrailingZeros(uint(size))
	mask := uint64(size - 1)
next:
	for _, x := range some {
		i := x >> shift
		for ; table[i] != 0; i = (i + 1) & mask {
			if y := table[i]; y>>32 == x>>32 {
				a, b := uint32(y)-1, uint32(x)
				if t.hash[a] == t.hash[b] && string(t.raw(a)) == string(t.raw(b)) {
					found = append(found, uint64(b)<<32|uint64(a))
					continue next
				}
			}
		}
		table[i] = x + 1 // an id is below 2³²-1
	}
	return found, table
}

// drop removes texts, which must ascend, and returns the new id of each text.
func (t *Texts) drop(twins []looseTwin) *kept {
	k := keep(len(t.hash), twins)
	id, end := uint32(0), uint32(0)
	for x := range uint32(len(t.hash)) {
		if len(twins) > 0 && uint32(twins[0]>>32) == x {
			twins = twins[1:]
			continue
		}
		lo, hi := t.off[x], t.off[x+1]
		copy(t.arena[end:], t.arena[lo:hi])
		end += hi - lo
		t.hash[id] = t.hash[x]
		id++
		t.off[id] = end
	}
	t.hash, t.off, t.arena, t.slot, t.in = t.hash[:id], t.off[:id+1], t.arena[:end], nil, 0
	for i, s := range t.shapes {
		t.shapes[i] = k.place(s)
	}
	t.shapeOf = nil
	return k
}

// distinctTexts makes equal texts one text, and corrects all references of the builder.
func (b *Builder) distinctTexts() {
	k := b.Texts.distinct(b.Workers)
	if k == nil {
		return
	}
	value := func(v *Value) {
		if v.Kind == String || v.Kind == Row {
			v.N = int64(k.place(uint32(v.N)))
		}
	}
	value(&b.Initial)
	for k := range b.keys {
		value(&b.keys[k])
	}
	texts := func(col []uint32) {
		for i, x := range col {
			if x != None {
				col[i] = k.place(x)
			}
		}
	}
	texts(b.txns.Node)
	texts(b.txns.Name)
	texts(b.txns.Locking)
	texts(b.txns.Level)
	texts(b.preds.Pred)
	for i := range b.join.merged {
		s := &b.join.merged[i]
		s.text = s.text.then(textMap{kept: k})
	}
	b.join.own.text = b.join.own.text.then(textMap{kept: k})
}

// RowAt is RowValue for a row of a predicate at a key. It may return another value than for an equal row; Build makes
// them equal. Cost: it looks only at the key's last rows.
func (b *Builder) RowAt(key uint32, canonical []byte) Value {
	return b.PackedAt(key, b.Texts.packRow(canonical))
}

// PackedAt is RowAt for a row in AppendRow's form.
func (b *Builder) PackedAt(key uint32, row []byte) Value {
	tag, words := rowTag(row)
	rows := b.rowsOf(key)
	for i := range rows {
		if r := &rows[i]; b.isRow(r, tag, words, row) {
			return Value{N: int64(r.n), Kind: Row}
		}
	}
	return Value{N: int64(b.Texts.add(row, b.Texts.hashOf(row))), Kind: Row}
}

// NewText is Text for a string that is probably new. As with RowAt, Build makes equal strings equal.
func (b *Builder) NewText(s []byte) uint32 {
	if len(s) > 0 && s[0] == packedMark {
		return b.Text(s)
	}
	return b.Texts.add(s, b.Texts.hashOf(s))
}

// ExpectText prefetches the data about a text that will be used soon.
func (b *Builder) ExpectText(id uint32) {
	if int(id) < len(b.Texts.hash) {
		b.fetched += uint32(b.Texts.hash[id])
	}
}

// NewRow is RowValue for a row that is probably new. As with RowAt, Build makes equal rows equal.
func (b *Builder) NewRow(canonical []byte) Value {
	row := b.Texts.packRow(canonical)
	return Value{N: int64(b.Texts.add(row, b.Texts.hashOf(row))), Kind: Row}
}

// Predicates are added loosely if, of the texts of the first tryPreds, at most fewPreds were known already.
const tryPreds, fewPreds = 1 << 12, 1 << 9

// predText is Intern for the text of a predicate.
func (b *Builder) predText(pred []byte) uint32 {
	if b.predsSeen >= tryPreds {
		if b.predsNew >= tryPreds-fewPreds && pred[0] == '{' {
			return b.Texts.add(pred, b.Texts.hashOf(pred))
		}
		return b.Texts.Intern(pred)
	}
	n := b.Texts.Len()
	id := b.Texts.Intern(pred)
	if b.predsSeen++; int(id) >= n {
		b.predsNew++
	}
	if b.join.own.draft {
		b.predsSeen = 0
	}
	return id
}
