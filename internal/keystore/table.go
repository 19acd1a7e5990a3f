package keystore

import (
	"bytes"
	"slices"

	"isovet/internal/keyed"
)

// Table gives numbers to texts. The numbers are dense, from 0, and are reused when their texts have left memory.
//
// Invariant: index[i] is 1 + the number of a text whose probe sequence, from its hash on, has no 0 before i.
type Table struct {
	store *Store `freeze:"-"`
	kind  byte
	hash  *keyed.Key // who makes texts cannot make two that have one hash
	names []string
	sums  []uint64 // hashes of names
	was   []uint64 // a hash of what the store has of it, 0: nothing
	state []uint8
	free  []uint32
	hand  uint32 // of the clock
	live  int
	// stored counts the texts in the store; fresh counts those in memory that are not in the store.
	stored, fresh int64
	text          int64    // bytes of names
	index         []uint32 `freeze:"-"`
	// Scratch memory.
	arena []byte   `freeze:"-"`
	wants []want   `freeze:"-"`
	buf   []byte   `freeze:"-"`
	new   []uint32 `freeze:"-"`
}

// want is a text to look up in the store.
type want struct {
	lo, hi int // of arena
	n      uint32
}

// The states of a number: free, not used since the hand of the clock last passed, or used since.
const (
	vacant uint8 = iota
	idle
	used
)

// NewTable returns a table whose texts are in a store under a kind of their own. If the store is nil, everything stays
// in memory. Hashes depend on the secret.
func NewTable(s *Store, kind byte, hash *keyed.Key) *Table {
	return &Table{store: s, kind: kind, hash: hash}
}

// Thawed computes what a checkpoint does not contain (internal/freeze).
func (t *Table) Thawed() {
	size := 64
	for size < 2*t.live {
		size *= 2
	}
	t.index = make([]uint32, size)
	for n, s := range t.state {
		if s != vacant {
			t.enter(uint32(n))
		}
	}
}

// Len returns the number of texts in memory. Numbers returns the greatest number plus one.
func (t *Table) Len() int     { return t.live }
func (t *Table) Numbers() int { return len(t.names) }

// Known returns how many texts there have been, without those that left no state. Stored returns how many are in the
// store.
func (t *Table) Known() int64  { return t.stored + t.fresh }
func (t *Table) Stored() int64 { return t.stored }

// Name returns the text with a number.
func (t *Table) Name(n uint32) string { return t.names[n] }

// Sum returns the hash of the text with a number. It never changes.
func (t *Table) Sum(n uint32) uint64 { return t.sums[n] }

// SumOf returns the hash of a text, which need not have a number. It is keyed, since callers treat texts with equal
// hashes as equal.
func (t *Table) SumOf(text []byte) uint64 { return t.hash.Text(text) }

// NumberBytes is the memory for a number without its text.
const NumberBytes = 41

// Bytes returns the approximate memory of the texts.
func (t *Table) Bytes() int64 {
	return t.text + int64(len(t.names))*NumberBytes + int64(len(t.index))*4 + int64(cap(t.free))*4
}

func (t *Table) enter(n uint32) {
	mask := uint64(len(t.index) - 1)
	i := t.sums[n] & mask
	for t.index[i] != 0 {
		i = (i + 1) & mask
	}
	t.index[i] = n + 1
}

func (t *Table) find(text []byte, sum uint64) (uint32, bool) {
	if len(t.index) == 0 {
		return 0, false
	}
	mask := uint64(len(t.index) - 1)
	for i := sum & mask; t.index[i] != 0; i = (i + 1) & mask {
		if n := t.index[i] - 1; t.sums[n] == sum && t.names[n] == string(text) {
			return n, true
		}
	}
	return 0, false
}

// Find returns the number of a text in memory, and marks it as used.
func (t *Table) Find(text []byte) (uint32, bool) {
	n, ok := t.find(text, t.SumOf(text))
	if ok {
		t.state[n] = used
	}
	return n, ok
}

// Number returns the number of a text. made says that the text was not in memory. Fetch must then be called before any
// other method, to load the state that the store may have.
func (t *Table) Number(text []byte) (n uint32, made bool) {
	sum := t.SumOf(text)
	if n, ok := t.find(text, sum); ok {
		t.state[n] = used
		return n, false
	}
	if k, ok := t.reuse(); ok {
		n = k
		t.names[n], t.sums[n], t.was[n], t.state[n] = string(text), sum, 0, used
	} else {
		n = uint32(len(t.names))
		t.names, t.sums = append(t.names, string(text)), append(t.sums, sum)
		t.was, t.state = append(t.was, 0), append(t.state, used)
	}
	t.live++
	t.fresh++
	t.text += size(text)
	if 2*t.live > len(t.index) {
		t.index = make([]uint32, max(64, 2*len(t.index)))
		for m, s := range t.state {
			if s != vacant {
				t.enter(uint32(m))
			}
		}
	} else {
		t.enter(n)
	}
	if t.store != nil && !t.store.Empty() {
		t.new = append(t.new, n)
	}
	return n, true
}

func size[T string | []byte](text T) int64 { return int64(len(text)+15) &^ 15 }

// Fetch calls load with the states in the store of all numbers made since its last call. Cost: in the order of keys, a
// get for each key that the filter does not know to be new.
func (t *Table) Fetch(load func(n uint32, state []byte) error) error {
	if len(t.new) == 0 {
		return nil
	}
	t.arena, t.wants = t.arena[:0], t.wants[:0]
	for _, n := range t.new {
		lo := len(t.arena)
		t.arena = t.key(t.arena, t.names[n])
		if !t.store.May(t.arena[lo:]) {
			t.arena = t.arena[:lo]
			continue
		}
		t.wants = append(t.wants, want{lo, len(t.arena), n})
	}
	t.new = t.new[:0]
	slices.SortFunc(t.wants, func(a, b want) int { return bytes.Compare(t.arena[a.lo:a.hi], t.arena[b.lo:b.hi]) })
	for _, w := range t.wants {
		got, there, err := t.store.Get(t.arena[w.lo:w.hi], t.buf[:0])
		if err != nil {
			return err
		}
		t.buf = got
		if !there {
			continue
		}
		t.was[w.n] = t.SumOf(got) | 1
		t.fresh--
		if len(got) == 0 {
			continue
		}
		if err := load(w.n, got); err != nil {
			return err
		}
	}
	return nil
}

// Peek returns the state in the store of a text that is not in memory, or nil.
func (t *Table) Peek(text string) ([]byte, error) {
	if t.store == nil || t.store.Empty() {
		return nil, nil
	}
	got, there, err := t.store.Get(t.key(nil, text), nil)
	if !there {
		got = nil
	}
	return got, err
}

// key returns a text's key in the store. Integers sort by value, others by bytes, so that keys that were made one
// after the other are near each other.
func (t *Table) key(buf []byte, text string) []byte {
	digits := len(text) > 0 && len(text) < 250
	for i := 0; i < len(text) && digits; i++ {
		digits = text[i] >= '0' && text[i] <= '9'
	}
	buf = append(buf, t.kind)
	if digits {
		buf = append(buf, byte(len(text)))
	} else {
		buf = append(buf, 255)
	}
	return append(buf, text...)
}

// Evict frees numbers while more returns true, first those that were not used lately. save appends a number's state to
// buf, or nothing if the text need not be remembered; pinned says that the number is in use and must stay. drop is
// called when a number is freed. Evict reports whether it freed enough. It may be called only between two batches of a
// stream, and makes numbers returned before invalid, except for those that save calls pinned.
func (t *Table) Evict(more func() bool, save func(n uint32, buf []byte) (state []byte, pinned bool),
	drop func(n uint32)) (enough bool, err error) {
	if t.store == nil {
		return true, nil
	}
	for steps := 2 * len(t.names); steps > 0; steps-- {
		if !more() {
			return true, nil
		}
		if t.hand++; int(t.hand) >= len(t.names) {
			t.hand = 0
		}
		n := t.hand
		switch t.state[n] {
		case vacant:
			continue
		case used:
			t.state[n] = idle
			continue
		}
		state, pinned := save(n, t.buf[:0])
		if pinned {
			continue
		}
		t.buf = state
		if err := t.put(n, state); err != nil {
			return false, err
		}
		drop(n)
		t.remove(n)
	}
	return !more(), nil
}

// put writes a number's state unless the store has it already.
func (t *Table) put(n uint32, state []byte) error {
	if t.was[n] == 0 && len(state) == 0 {
		t.fresh--
		return nil
	}
	sum := t.SumOf(state) | 1
	if sum == t.was[n] {
		return nil
	}
	if t.was[n] == 0 {
		t.fresh--
		t.stored++
	}
	t.arena = t.key(t.arena[:0], t.names[n])
	return t.store.Put(t.arena, state)
}

// placeOf returns the place of a number in the index.
func (t *Table) placeOf(n uint32) uint64 {
	mask := uint64(len(t.index) - 1)
	i := t.sums[n] & mask
	for t.index[i] != n+1 {
		i = (i + 1) & mask
	}
	return i
}

// remove removes a number from the index (Knuth, TAOCP 6.4, Algorithm R).
func (t *Table) remove(n uint32) {
	mask, i := uint64(len(t.index)-1), t.placeOf(n)
	for j := i; ; {
		j = (j + 1) & mask
		if t.index[j] == 0 {
			break
		}
		home := t.sums[t.index[j]-1] & mask
		if (j-home)&mask >= (j-i)&mask { // it may stand at i
			t.index[i] = t.index[j]
			i = j
		}
	}
	t.index[i] = 0
	t.text -= size(t.names[n])
	t.names[n], t.state[n] = "", vacant
	t.free = append(t.free, n)
	t.live--
}
