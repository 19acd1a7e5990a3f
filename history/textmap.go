package history

import (
	"math/bits"

	"isovet/internal/slice"
)

// textMap maps the texts of one table to those of a table into which it was merged.
type textMap struct {
	ids  []uint32 // nil: they follow each other, from base on
	base uint32
	kept *kept // what is left of these; nil: all
}

// same reports whether all texts keep their ids.
func (m *textMap) same() bool { return m.ids == nil && m.base == 0 && m.kept == nil }

func (m *textMap) of(id uint32) uint32 {
	if m.ids != nil {
		id = m.ids[id]
	} else {
		id += m.base
	}
	if m.kept != nil {
		id = m.kept.place(id)
	}
	return id
}

// then returns m followed by next. If m has kept, nothing may follow.
func (m textMap) then(next textMap) textMap {
	switch {
	case m.ids == nil && next.ids == nil:
		next.base += m.base
		return next
	case m.ids == nil:
		next.ids = next.ids[m.base:]
		return next
	}
	return textMap{ids: slice.Map(m.ids, next.of)}
}

// kept maps texts to their new ids after some were removed, in less memory than an id for each.
type kept struct {
	gone   []uint64 // bit set
	before []uint32 // how many are gone before each word of it
	twin   []uint32 // of each that is gone, where the one is that is equal to it
}

// place returns the new id of a text, or of the one that equals it.
//
//go:noinline
func (k *kept) place(id uint32) uint32 {
	word, bit := k.gone[id>>6], uint64(1)<<(id&63)
	before := k.before[id>>6] + uint32(bits.OnesCount64(word&(bit-1)))
	if word&bit != 0 {
		return k.twin[before]
	}
	return id - before
}

// keep makes the mapping for n texts without the twins, which must ascend.
func keep(n int, twins []looseTwin) *kept {
	k := &kept{gone: make([]uint64, n/64+1), before: make([]uint32, n/64+1), twin: make([]uint32, len(twins))}
	for _, x := range twins {
		text := uint32(x >> 32)
		k.gone[text>>6] |= 1 << (text & 63)
	}
	sum := uint32(0)
	for i, word := range k.gone {
		k.before[i] = sum
		sum += uint32(bits.OnesCount64(word))
	}
	for i, x := range twins {
		k.twin[i] = k.place(uint32(x))
	}
	return k
}
