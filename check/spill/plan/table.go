package plan

import (
	"isovet/history"
	"isovet/internal/slice"
)

// noKey is the number of a key that is skipped.
const noKey = ^uint32(0)

// table numbers the keys of a partition.
type table struct {
	slot  []uint32 // number and one of an integer key, by hash; 0: free
	ints  []int64  // number → key, of integer keys
	texts map[string]uint32
	text  []string // number → key, of others; nil while there are none
	n     uint32
}

// find returns the number of a key, and whether it is new.
func (t *table) find(kind history.ValueKind, n int64, text []byte) (number uint32, fresh bool) {
	if kind != history.Int {
		if i, ok := t.texts[string(text)]; ok {
			return i, false
		}
		slice.MakeMap(&t.texts)
		s := string(text)
		t.texts[s] = t.n
		for len(t.text) < int(t.n) {
			t.text = append(t.text, "")
		}
		t.text = append(t.text, s)
		t.ints = append(t.ints, 0)
		t.n++
		return t.n - 1, true
	}
	if 2*(t.n+1) > uint32(len(t.slot)) {
		t.grow()
	}
	mask := uint64(len(t.slot) - 1)
	for i := HashKey(kind, n, nil) & mask; ; i = (i + 1) & mask {
		s := t.slot[i]
		if s == 0 {
			t.slot[i] = t.n + 1
			t.ints = append(t.ints, n)
			if t.text != nil {
				t.text = append(t.text, "")
			}
			t.n++
			return t.n - 1, true
		}
		if t.ints[s-1] == n {
			return s - 1, false
		}
	}
}

// get returns the number of a key, or noKey.
func (t *table) get(kind history.ValueKind, n int64, text []byte) uint32 {
	if kind != history.Int {
		if i, ok := t.texts[string(text)]; ok {
			return i
		}
		return noKey
	}
	if len(t.slot) == 0 {
		return noKey
	}
	mask := uint64(len(t.slot) - 1)
	for i := HashKey(kind, n, nil) & mask; ; i = (i + 1) & mask {
		s := t.slot[i]
		if s == 0 {
			return noKey
		}
		if t.ints[s-1] == n {
			return s - 1
		}
	}
}

func (t *table) grow() {
	old := t.slot
	t.slot = make([]uint32, max(1024, 2*len(old)))
	mask := uint64(len(t.slot) - 1)
	for _, s := range old {
		if s == 0 {
			continue
		}
		i := HashKey(history.Int, t.ints[s-1], nil) & mask
		for t.slot[i] != 0 {
			i = (i + 1) & mask
		}
		t.slot[i] = s
	}
}

func (t *table) key(i uint32) Value {
	if int(i) < len(t.text) {
		s := t.text[i]
		if j, ok := t.texts[s]; s != "" || ok && i == j { // which tells the empty text from an integer
			return Value{Kind: history.String, Text: s}
		}
	}
	return Value{Kind: history.Int, N: t.ints[i]}
}
