package timestamp

import (
	"encoding/binary"
	"errors"
	"math"

	"isovet/internal/saved"
)

// The state of keys and sessions that are not in use can be taken out of Aion and put back. So the caller can store it
// elsewhere, and give their numbers to others. No verdict changes, because all of the state is taken, and a key with
// readers in the window stays.

// These are the memory of a key and of a session, in bytes.
const (
	KeyBytes     = 160
	SessionBytes = 128
)

const (
	versionBytes = 40
	readerBytes  = 48
	slotBytes    = 40
)

// readBytes is the memory of a read in the window.
const readBytes = readerBytes + 4

// Bytes estimates the memory of Aion.
func (a *Aion) Bytes() int64 {
	return a.lists + a.keptBytes + a.predBytes + int64(len(a.keys))*KeyBytes + int64(cap(a.slots))*slotBytes +
		int64(cap(a.reads))*4 + int64(len(a.sess))*SessionBytes
}

// WindowBytes estimates the memory of transactions that are not final, without that of their keys. reads counts their
// reads, one for each key and transaction. Both depend only on the arrivals.
func (a *Aion) WindowBytes() (bytes int64, reads int) {
	reads = len(a.reads) - a.readHead
	return a.keptBytes + a.predBytes + int64(len(a.slots)-a.head)*slotBytes + int64(reads)*readBytes, reads
}

// Oldest returns a watermark that makes the first 1/part of the transactions final that are not, or at least one.
func (a *Aion) Oldest(part int) int64 {
	n := (len(a.slots) - a.head + part - 1) / part
	mark := a.mark
	for _, s := range a.slots[a.head : a.head+n] {
		if !s.late && s.upTo >= mark {
			mark = s.upTo
			if mark < math.MaxInt64 {
				mark++
			}
		}
	}
	return mark
}

// These say what follows in a key's state.
const (
	stateList = 1 << iota
	stateSure
	stateTorn
	stateOver
	stateHorizon
	stateWritten // base is a transaction's version, or a value found out (Attach)
	stateVersions
)

func addVersion(b []byte, v *onlineVersion, from int64) []byte {
	b = binary.AppendVarint(b, v.pos-from) // overflow is undone on reading
	b = binary.AppendVarint(b, v.start-v.pos)
	b = binary.LittleEndian.AppendUint64(b, v.val)
	if v.elem == v.val {
		b = append(b, 0)
	} else {
		b = binary.LittleEndian.AppendUint64(append(b, 1), v.elem)
	}
	return binary.AppendVarint(b, v.by)
}

// SaveKey appends the state of a key to buf, or nothing if the key holds initial and was never named. pinned says that
// it has readers that are not final, or that predicate operations look at it.
func (a *Aion) SaveKey(key uint32, initial uint64, buf []byte) (state []byte, pinned bool) {
	if int(key) >= len(a.keys) {
		return buf, false
	}
	k := &a.keys[key]
	if k.row {
		return buf, true
	}
	live := a.first + int64(a.head)
	for i := range k.readers {
		if k.readers[i].n >= live {
			return buf, true
		}
	}
	what := saved.Bits(k.list, k.sure, k.torn != 0, k.over != 0, k.horizon != math.MinInt64,
		k.base.pos != math.MinInt64 || k.base.by != NoID, len(k.versions) > 0 || k.dropAt > 0)
	plain := byte(0)
	if !a.attach {
		plain = stateSure
	}
	if what == plain && k.initial == initial && k.base.val == initial {
		return buf, false
	}
	b := append(buf, what)
	b = binary.LittleEndian.AppendUint64(b, k.initial)
	if what&stateWritten != 0 {
		b = addVersion(b, &k.base, 0)
	} else if k.base.val == k.initial {
		b = append(b, 0)
	} else { // of a list
		b = binary.LittleEndian.AppendUint64(append(b, 1), k.base.val)
	}
	if what&stateTorn != 0 {
		b = binary.AppendVarint(b, k.torn)
	}
	if what&stateOver != 0 {
		b = binary.AppendVarint(b, k.over)
	}
	if what&stateHorizon != 0 {
		b = binary.AppendVarint(b, k.horizon)
	}
	if what&stateVersions != 0 {
		b = binary.AppendVarint(b, int64(k.dropAt))
		b = binary.AppendUvarint(b, uint64(len(k.versions)))
		from := k.base.pos
		for i := range k.versions {
			b = addVersion(b, &k.versions[i], from)
			from = k.versions[i].pos
		}
	}
	return b, false
}

// DropKey forgets a key.
func (a *Aion) DropKey(key uint32) {
	if int(key) < len(a.keys) {
		k := &a.keys[key]
		a.lists -= int64(cap(k.versions))*versionBytes + int64(cap(k.readers))*readerBytes
		*k = a.newKey()
	}
}

// TrimKeys frees the memory of keys from a number on, which were dropped before, and TrimSessions that of sessions.
func (a *Aion) TrimKeys(n int)     { a.keys = saved.Shorter(a.keys, n) }
func (a *Aion) TrimSessions(n int) { a.sess = saved.Shorter(a.sess, n) }

func (a *Aion) newKey() onlineKey {
	return onlineKey{base: onlineVersion{pos: math.MinInt64, start: math.MinInt64, by: NoID}, sure: !a.attach,
		horizon: math.MinInt64}
}

// ErrState says that the saved state of a key or a session is damaged.
var ErrState = errors.New("the saved state of a key or a session is damaged")

type decoder struct{ saved.Reader }

func (d *decoder) version(from int64) (v onlineVersion) {
	v.pos = d.Int() + from
	v.start = d.Int() + v.pos
	v.val = d.Word()
	v.elem = v.val
	if d.Byte() != 0 {
		v.elem = d.Word()
	}
	v.by = d.Int()
	return v
}

// LoadKey restores a key that SaveKey saved.
func (a *Aion) LoadKey(key uint32, state []byte) error {
	k := a.key(key)
	*k = a.newKey()
	d := decoder{saved.Reader{B: state}}
	what := d.Byte()
	k.list, k.sure = what&stateList != 0, what&stateSure != 0
	k.initial = d.Word()
	if what&stateWritten != 0 {
		k.base = d.version(0)
	} else if k.base.val = k.initial; d.Byte() != 0 {
		k.base.val = d.Word()
	}
	if what&stateTorn != 0 {
		k.torn = d.Int()
	}
	if what&stateOver != 0 {
		k.over = d.Int()
	}
	if what&stateHorizon != 0 {
		k.horizon = d.Int()
	}
	if what&stateVersions != 0 {
		k.dropAt = uint32(d.Int())
		n := d.Count()
		k.versions = make([]onlineVersion, 0, n)
		from := k.base.pos
		for range n {
			v := d.version(from)
			k.versions = append(k.versions, v)
			from = v.pos
		}
		a.lists += int64(cap(k.versions)) * versionBytes
	}
	if d.Bad || len(d.B) > 0 {
		return ErrState
	}
	return nil
}

func addTurn(b []byte, x *sessionTurn) []byte {
	return saved.AppendInts(append(b, saved.Bits(x.part, x.writer)), x.seq, x.id, x.start, x.end, x.due)
}

func (d *decoder) turn() (x sessionTurn) {
	what := d.Byte()
	x.part, x.writer = what&1 != 0, what&2 != 0
	d.Ints(&x.seq, &x.id, &x.start, &x.end, &x.due)
	return x
}

// SaveSession is SaveKey for a session. pinned says that a transaction waits for its turn.
func (a *Aion) SaveSession(n uint32, buf []byte) (state []byte, pinned bool) {
	if int(n) >= len(a.sess) {
		return buf, false
	}
	s := &a.sess[n]
	if s.queued || len(s.pending) > 0 {
		return buf, true
	}
	if !s.any && s.next == 0 && s.named == NoID && len(s.gaps) == 0 && s.began == !a.attach {
		return buf, false
	}
	b := saved.AppendInts(append(buf, saved.Bits(s.any, s.writer, s.began)), s.next, s.last, s.end, s.named)
	b = binary.AppendUvarint(b, uint64(len(s.gaps)))
	for i := range s.gaps {
		g := &s.gaps[i]
		b = addTurn(addTurn(saved.AppendInts(b, g.from, g.to), &g.before), &g.after)
	}
	return b, false
}

// DropSession forgets a session.
func (a *Aion) DropSession(n uint32) {
	if int(n) < len(a.sess) {
		a.sess[n] = a.newSession()
	}
}

func (a *Aion) newSession() onlineSession { return onlineSession{named: NoID, began: !a.attach} }

// LoadSession restores a session that SaveSession saved.
func (a *Aion) LoadSession(n uint32, state []byte) error {
	s := a.sessionAt(n)
	d := decoder{saved.Reader{B: state}}
	what := d.Byte()
	*s = onlineSession{any: what&1 != 0, writer: what&2 != 0, began: what&4 != 0}
	d.Ints(&s.next, &s.last, &s.end, &s.named)
	for range d.Count() {
		s.gaps = append(s.gaps, sessionGap{from: d.Int(), to: d.Int(), before: d.turn(), after: d.turn()})
	}
	if d.Bad || len(d.B) > 0 {
		return ErrState
	}
	return nil
}
