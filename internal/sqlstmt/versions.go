package sqlstmt

import (
	"cmp"
	"hash/maphash"
	"sync"

	"isovet/internal/slice"
	"isovet/record"
)

// versions knows which versions of rows recorded transactions have written, and which existed before. Any other
// version was written by an unrecorded transaction, and reads of it are left out.
//
// It remembers the entries used last, in two generations: when the younger is full, it becomes the older one, and the
// older one is dropped. A bit marks the hash of each dropped entry: a read of it is left out, and no version is
// recorded twice.
//
// Entries are 64-bit hashes with a seed: among four million entries, a foreign version is mistaken for one of them
// once in 4e12 times. Memory: 2·most entries of some 30 bytes, and 16 MiB of bits.
type versions struct {
	mu         sync.Mutex
	seed       maphash.Seed
	young, old map[uint64]uint32 // of versions: how often it was written; of rows: what is known
	most       int               // entries of a generation; 0: 2 million
	gone       []uint64          // bits, by the ends of the hashes that are forgotten; nil: none is
	again      uint32            // counts the writes by ids that may have been forgotten
	// flying counts, for each table, the writes that were sent and are not recorded yet.
	flying   map[string]int
	complete bool            // what was there before is recorded already
	held     map[uint64]bool // versions whose transaction's line is still to come: no other's may come before
}

// What is known of a row, and of a version from before the recording.
const (
	begun   = 1 << iota // the recorder has its initial version
	lost                // the recorder did not take it
	written             // a recorded transaction wrote it; on PostgreSQL: deleted it
	made                // it was not there before the recording
	settled             // a recorded transaction has written it and committed
	removed             // one has deleted it
	initial = 1 << 31   // of a version; with a number besides, the transaction that wrote it has ended it
)

// goneBits is the number of bits that mark dropped entries.
const goneBits = 1 << 27

// valueOf returns a version's value in the history. seq numbers the writes of one row by one id, from 0.
type valueOf func(seq int64) any

// origin says what is known about a version's writer.
type origin int

const (
	unrecorded origin = iota
	recorded          // or it was there before
	forgotten
)

// hash returns the entry of a version or, if id is nil, of its row.
func (v *versions) hash(key string, id any) uint64 {
	type version struct {
		key string
		id  any
	}
	if v.young == nil {
		v.seed, v.young = maphash.MakeSeed(), map[uint64]uint32{}
	}
	return maphash.Comparable(v.seed, version{key, id})
}

func (v *versions) get(h uint64) (n uint32, ok bool) {
	if n, ok = v.young[h]; !ok {
		if n, ok = v.old[h]; ok {
			v.put(h, n)
		}
	}
	return n, ok
}

func (v *versions) put(h uint64, n uint32) {
	if _, ok := v.young[h]; !ok && len(v.young) >= cmp.Or(v.most, 1<<21) {
		if v.gone == nil && v.old != nil {
			v.gone = make([]uint64, goneBits/64)
		}
		for o := range v.old {
			if _, ok := v.young[o]; !ok {
				v.gone[o%goneBits/64] |= 1 << (o % 64)
			}
		}
		v.old, v.young = v.young, map[uint64]uint32{}
	}
	v.young[h] = n
}

// forgot reports whether a missing entry may have been dropped.
func (v *versions) forgot(h uint64) bool { return v.gone != nil && v.gone[h%goneBits/64]>>(h%64)&1 > 0 }

// wrote stores a version and returns its value in the history. For a deletion, with id nil, it stores nothing.
func (v *versions) wrote(key string, id any, value valueOf) any {
	if id == nil {
		return value(0)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	h := v.hash(key, id)
	n, ok := v.get(h)
	n &^= initial
	if !ok && v.forgot(h) {
		v.again++
		n = 1<<30 + v.again&(1<<29-1) // no number that it may have had
	}
	v.put(h, n+1)
	return value(int64(n))
}

// spelled notes a spelling. It reports whether what is equal to it was spelled differently before.
func (v *versions) spelled(of, s string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	h, is := v.hash(of, "spelled"), uint32(v.hash(s, "spelled"))
	n, ok := v.get(h)
	if !ok {
		v.put(h, is)
	}
	return ok && n != is
}

// end marks whether a version's writer has deleted it. If it has, and the version is read again, an unrecorded
// transaction wrote it.
func (v *versions) end(key string, id any, deleted bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	h := v.hash(key, id)
	switch n, ok := v.get(h); {
	case ok && deleted:
		v.put(h, n|initial)
	case ok:
		v.put(h, n&^initial)
	}
}

// hold marks a version that must not be recorded as read yet.
func (v *versions) hold(key string, id any) uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	slice.MakeMap(&v.held)
	h := v.hash(key, id)
	v.held[h] = true
	return h
}

// release allows reads of versions.
func (v *versions) release(held []uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, h := range held {
		delete(v.held, h)
	}
}

// touch marks a row as written: made says that it was not there until then, removed that it is not there from then on.
func (v *versions) touch(key string, how uint32) {
	v.mu.Lock()
	defer v.mu.Unlock()
	h := v.hash(key, nil)
	n, ok := v.get(h)
	if how == made && (ok || v.forgot(h)) {
		how = 0
	}
	v.put(h, n|written|how)
}

// vanished reports whether a recorded transaction may have deleted a row, or a statement under way in a table.
func (v *versions) vanished(key, table string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	h := v.hash(key, nil)
	n, _ := v.get(h)
	return n&removed != 0 || v.forgot(h) || v.flying[deleting+table]+v.flying[deleting] > 0
}

// read returns the value of a version that was read, and its writer. old says that it is from before the recording,
// unless more is known.
func (v *versions) read(rec *record.Recorder, key string, id any, value valueOf, old bool) (any, origin) {
	v.mu.Lock()
	defer v.mu.Unlock()
	h := v.hash(key, id)
	n, ok := v.get(h)
	told, same, ok2 := any(nil), false, false
	if !ok || n == initial {
		told, same, ok2 = rec.Before(key, value(0)) // by the program
	}
	row := v.hash(key, nil)
	state, _ := v.get(row)
	_, xid := id.(uint32)
	switch {
	case v.held[h], n > initial:
		return nil, unrecorded // as yet, or once more
	case ok && n != initial && !xid && !v.complete && state&(begun|made|settled) == 0:
		return nil, unrecorded // perhaps it has been there before, and what wrote it again was rolled back
	case ok && n != initial:
		return value(int64(n - 1)), recorded
	case ok && ok2:
		return told, recorded
	case ok:
		return value(0), recorded
	case v.forgot(h):
		return nil, forgotten
	}
	switch {
	case state&(begun|lost) > 0 || xid && state&written > 0:
		return nil, unrecorded
	case v.forgot(row):
		return nil, forgotten
	case ok2 && (xid && !old || !xid && !same), !ok2 && !old:
		return nil, unrecorded
	case !ok2:
		if told = value(0); rec.Found(key, told) != nil {
			v.put(row, state|lost)
			return nil, unrecorded
		}
	}
	v.put(row, state|begun)
	v.put(h, initial)
	return told, recorded
}

// settle says that the writer of rows has committed.
func (v *versions) settle(keys []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, key := range keys {
		h := v.hash(key, nil)
		n, _ := v.get(h)
		v.put(h, n|settled)
	}
}

// stood reports whether it is known what a row was before the recording.
func (v *versions) stood(key string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	n, _ := v.get(v.hash(key, nil))
	return n&(begun|made) != 0
}

// quiet reports whether a row has no recorded writer, and its table no predicate and no running write. On PostgreSQL
// only deletions count.
func (v *versions) quiet(key, table string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	row := v.hash(key, nil)
	n, _ := v.get(row)
	all, _ := v.get(v.hash(table, nil))
	return v.flying[table] == 0 && (n|all)&written == 0 && !v.forgot(row)
}
