package mechanism

import (
	"encoding/binary"
	"errors"

	"isovet/internal/saved"
)

// The state of unused keys can be taken out of a Stream and its Online and put back later. So the caller can store it
// elsewhere and give the keys' numbers to other keys. The findings stay the same.

// Names numbers keys by their JSON, in place of the Stream.
type Names interface {
	// Number returns the number of a key; made says that it is new.
	Number(text []byte) (n uint32, made bool)
	Name(n uint32) string
	// Fetch puts back, with LoadKey, the states of the keys that were numbered since its last call.
	Fetch()
	// Find returns a key's number if it has one, else its saved state; nil: none.
	Find(text string) (n uint32, ok bool, state []byte)
	// Known returns the number of keys so far.
	Known() int64
}

// The memory of a key, in bytes: by itself, and for each version and lock.
const (
	KeyBytes     = 128
	versionBytes = 136
	lockBytes    = 80
	traceBytes   = 40
	readerBytes  = 32
	nodeBytes    = 128
)

// Bytes estimates the memory of keys and transactions.
func (x *Online) Bytes() int64 {
	v := x.v
	return int64(x.traces)*traceBytes + int64(len(v.keys))*KeyBytes + int64(v.versions)*versionBytes +
		int64(v.locks)*lockBytes + int64(cap(v.readers))*readerBytes + int64(cap(v.reads))*traceBytes +
		int64(v.g.room) + int64(cap(v.g.ring))*nodeBytes
}

// Shorten dispatches the waiting transactions that end first, until the rest takes at most this many bytes. It reports
// whether there were any.
func (x *Online) Shorten(most int64) bool {
	if int64(x.traces)*traceBytes <= most {
		return false
	}
	for len(x.wait) > 0 && int64(x.traces)*traceBytes > most-most/4 {
		x.Advance(later(max(x.wait[0].end, x.mark), 1))
	}
	return true
}

// Pins calls pin with the keys in use: those of waiting transactions, of reads that are not verified yet, of
// dependencies in possible cycles, and of reads that wait for a writer.
func (x *Online) Pins(pin func(key uint32)) {
	trace := func(ts []Trace) {
		for i := range ts {
			k, key := ts[i].Kind, ts[i].Key
			if k == Read || k == LockedRead || k == Write || k >= readBeforeWrite {
				pin(key)
			}
		}
	}
	for i := range x.wait {
		trace(x.wait[i].traces)
	}
	v := x.v
	for i := range v.clients {
		trace(v.clients[i].ops)
	}
	trace(v.reads[v.readHead:])
	for _, p := range v.before[v.beforeHead:] {
		pin(p.key)
	}
	for w := range v.suspects.of {
		pin(w.key)
	}
	if !v.g.on {
		return
	}
	for s := v.g.base; s != v.g.next; s++ {
		if n := v.g.at(s); !n.gone {
			for e := range n.out {
				pin(n.out[e].key)
			}
		}
	}
}

// fewReaders is the number of readers waiting for a next version from which useless ones are removed.
const fewReaders = 1 << 14

// dropDead removes the waiting readers that are forgotten: their anti-dependencies have no effect any more.
func (v *Verifier) dropDead(g *certifier) {
	if !v.o.Late || len(v.readers) < max(fewReaders, v.readersMost) || v.freeRead >= 0 {
		return
	}
	left := 0
	for _, k := range v.keys {
		for j := range k.vers {
			left += v.liveReaders(&k.vers[j], g)
		}
	}
	v.readersMost = 2 * left
}

// liveReaders keeps and counts the readers of a version that are not forgotten.
func (v *Verifier) liveReaders(w *version, g *certifier) (n int) {
	at := &w.readers
	for i := *at; i >= 0; {
		r := &v.readers[i]
		next := r.next
		if g.node(r.txn) == nil {
			r.next = v.freeRead
			v.freeRead = i
			*at = next
		} else {
			n++
			at = &r.next
		}
		i = next
	}
	return n
}

const (
	stateUsed = 1 << iota // the verifier has the key
	stateHeld
	stateBuried
	stateLocks
	stateFirst // it had the value that all keys have at first
	stateDoubt
)

// Kinds of versions.
const (
	versionInitial = 1 << iota // the initial version
	versionOpen
	versionNext    // succ is known
	versionReaders // some readers wait
	versionNobody  // txn is none
	versionPast    // it ended before all unverified transactions began, so its lock no longer matters
)

// SaveKey appends the state of a key to buf; nothing if the key was never named. The key must be unused.
func (x *Online) SaveKey(s *Stream, key uint32, buf []byte) []byte {
	v, first := x.v, s.initial[key] == s.first
	what, b := byte(0), append(buf, 0) // filled in below
	if first {
		what = stateFirst
	} else {
		b = binary.LittleEndian.AppendUint64(b, s.initial[key])
	}
	var k *keyState
	if int(key) < len(v.keys) && v.keys[key].vers != nil {
		k = &v.keys[key]
	}
	if k == nil {
		if first {
			return buf
		}
		return b
	}
	if v.trims() {
		v.dropOld(k)
		v.dropLocks(k, v.floor)
	}
	// Buried also counts for a forgotten key, so that the report of a later read stays the same.
	what |= saved.Bits(true, k.isHeld, k.buried > 0, len(k.locks) > 0, false, k.doubt != 0)
	for i := range k.vers {
		v.liveReaders(&k.vers[i], &v.g)
	}
	if w := &k.vers[0]; what&^stateBuried == stateUsed|stateFirst && k.buried <= v.graves.made-v.graves.most &&
		len(k.vers) == 1 && w.isInitial() && w.val == s.first && w.succ == none && w.readers < 0 {
		return buf
	}
	b[len(buf)] = what
	if k.isHeld {
		b = binary.LittleEndian.AppendUint64(b, k.held)
	}
	if k.buried > 0 {
		b = binary.AppendVarint(b, k.buried)
	}
	if k.doubt != 0 {
		b = binary.LittleEndian.AppendUint64(b, k.doubt)
	}
	b = saved.AppendInts(b, int64(k.last), int64(k.versLimit), int64(k.locksLimit))
	b = binary.AppendUvarint(b, uint64(len(k.vers)))
	for i := range k.vers {
		b = v.addVersion(b, &k.vers[i])
	}
	if len(k.locks) > 0 {
		b = binary.AppendUvarint(b, uint64(len(k.locks)))
		for i := range k.locks {
			l := &k.locks[i]
			b = saved.AppendInts(append(b, saved.Bits(l.exclusive)), l.rel, l.acqBef, l.acqAft, l.maxRel)
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(l.txn)), uint64(l.id))
			b = binary.AppendUvarint(b, uint64(l.op))
		}
	}
	return b
}

func (w *version) isInitial() bool {
	return w.c == -Forever && w.d == -Forever && w.maxC == -Forever && w.acqBef == -Forever && w.acqAft == -Forever &&
		w.snapBef == -Forever && w.snapAft == -Forever && w.txn == none && w.id == none && w.op == noneOp && !w.open
}

func (v *Verifier) addVersion(b []byte, w *version) []byte {
	what := saved.Bits(w.isInitial(), w.open, w.succ != none, w.readers >= 0, w.txn == none, w.d < v.floor && v.trims())
	b = append(b, what)
	b = binary.LittleEndian.AppendUint64(b, w.val)
	if what&versionInitial == 0 {
		b = binary.AppendVarint(b, w.c)
		all := []int64{w.d, w.maxC, w.acqBef, w.acqAft, w.snapBef, w.snapAft}
		if what&versionPast != 0 {
			all = all[:2]
		}
		for _, t := range all {
			b = binary.AppendVarint(b, t-w.c) // it may overflow, and then overflows back
		}
		if what&versionNobody == 0 {
			b = binary.AppendUvarint(b, uint64(w.txn))
		}
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(w.id)), uint64(w.op))
	}
	if what&versionNext != 0 {
		b = binary.AppendUvarint(b, uint64(w.succ))
	}
	for i := w.readers; i >= 0; i = v.readers[i].next {
		r := &v.readers[i]
		b = binary.AppendUvarint(binary.AppendUvarint(append(b, 1), uint64(r.txn)), uint64(r.id))
		b = binary.AppendVarint(b, r.aft)
	}
	if what&versionReaders != 0 {
		b = append(b, 0)
	}
	return b
}

// DropKey forgets a key.
func (x *Online) DropKey(key uint32) {
	v := x.v
	if int(key) >= len(v.keys) {
		return
	}
	k := &v.keys[key]
	for i := range k.vers {
		v.dropReaders(&k.vers[i])
	}
	v.versions -= len(k.vers)
	v.locks -= len(k.locks)
	*k = keyState{}
}

// ErrState says that a key's saved state is damaged.
var ErrState = errors.New("the saved state of a key is damaged")

// InitialOf returns the initial value of a key from its saved state.
func (s *Stream) InitialOf(state []byte) uint64 {
	d := saved.Reader{B: state}
	if d.Byte()&stateFirst != 0 {
		return s.first
	}
	return d.Word()
}

// TrimKeys frees the memory of the keys from number n on, which were dropped before.
func (x *Online) TrimKeys(s *Stream, n int) {
	s.initial = saved.Shorter(s.initial, n)
	x.v.keys = saved.Shorter(x.v.keys, n)
}

// LoadKey puts back the state of a key that SaveKey wrote. Errors: ErrState.
func (x *Online) LoadKey(s *Stream, key uint32, state []byte) error {
	if len(state) == 0 {
		s.initial[key] = s.first
		return nil
	}
	v := x.v
	d := saved.Reader{B: state}
	what := d.Byte()
	if s.initial[key] = s.first; what&stateFirst == 0 {
		s.initial[key] = d.Word()
	}
	if what&stateUsed == 0 {
		if d.Bad {
			return ErrState
		}
		return nil
	}
	if int(key) >= len(v.keys) {
		v.keys = append(v.keys, make([]keyState, int(key)+1-len(v.keys))...)
	}
	k := &v.keys[key]
	*k = keyState{isHeld: what&stateHeld != 0}
	if k.isHeld {
		k.held = d.Word()
	}
	if what&stateBuried != 0 {
		k.buried = d.Int()
	}
	if what&stateDoubt != 0 {
		k.doubt = d.Word()
	}
	k.last, k.versLimit, k.locksLimit = int32(d.Int()), int32(d.Int()), int32(d.Int())
	n := d.Count()
	k.vers = make([]version, 0, max(n, 1))
	for range n {
		k.vers = append(k.vers, v.version(&d))
	}
	if what&stateLocks != 0 {
		for range d.Count() {
			l := lock{exclusive: d.Byte() == 1, rel: d.Int(), acqBef: d.Int(), acqAft: d.Int(), maxRel: d.Int()}
			l.txn, l.id, l.op = d.Uint(), d.Uint(), uint32(d.Uint())
			k.locks = append(k.locks, l)
		}
	}
	v.versions += len(k.vers)
	v.locks += len(k.locks)
	if d.Bad || len(d.B) > 0 || n == 0 {
		return ErrState
	}
	return nil
}

func (v *Verifier) version(d *saved.Reader) version {
	what := d.Byte()
	w := version{c: -Forever, d: -Forever, maxC: -Forever, acqBef: -Forever, acqAft: -Forever, snapBef: -Forever,
		snapAft: -Forever, txn: none, succ: none, id: none, op: noneOp, readers: -1, open: what&versionOpen != 0}
	w.val = d.Word()
	if what&versionInitial == 0 {
		w.c = d.Int()
		all := []*int64{&w.d, &w.maxC, &w.acqBef, &w.acqAft, &w.snapBef, &w.snapAft}
		if what&versionPast != 0 {
			all = all[:2]
		}
		for _, t := range all {
			*t = d.Int() + w.c
		}
		if what&versionNobody == 0 {
			w.txn = d.Uint()
		}
		w.id, w.op = d.Uint(), uint32(d.Uint())
	}
	if what&versionNext != 0 {
		w.succ = d.Uint()
	}
	if what&versionReaders == 0 {
		return w
	}
	var all []reader
	for d.Byte() == 1 {
		all = append(all, reader{txn: d.Uint(), id: d.Uint(), aft: d.Int()})
	}
	for i := len(all) - 1; i >= 0; i-- {
		all[i].next = w.readers
		w.readers = v.newReader(all[i])
	}
	return w
}

func (v *Verifier) newReader(r reader) int32 {
	if i := v.freeRead; i >= 0 {
		v.freeRead = v.readers[i].next
		v.readers[i] = r
		return i
	}
	v.readers = append(v.readers, r)
	return int32(len(v.readers)) - 1
}
