package online

import (
	"encoding/binary"
	"errors"
	"math"
	"unsafe"

	"isovet/internal/saved"
)

// weight is what transactions take in memory, and how many operations they have, each perhaps of a key of its own.
type weight struct{ bytes, ops int64 }

func (w *weight) add(x *txn, sign int64) {
	w.bytes += sign * int64(x.size)
	w.ops += sign * int64(x.ops)
}

const (
	txnBytes   = int64(unsafe.Sizeof(txn{})) + 32 // with its places in the order, and in a heap or a queue
	readBytes  = int64(unsafe.Sizeof(read{}))
	writeBytes = int64(unsafe.Sizeof(write{})) + 16
	// KeyBytes is what a key takes in memory.
	KeyBytes = int64(unsafe.Sizeof(cell{}))
	// SessionBytes is what a session takes.
	SessionBytes = int64(unsafe.Sizeof(session{}))
)

// weigh notes what a transaction takes.
func weigh(x *txn) {
	x.ops = uint32(len(x.reads) + len(x.writes))
	x.size = uint32(min(txnBytes+int64(len(x.reads))*readBytes+int64(len(x.writes))*writeBytes, math.MaxUint32))
}

// room is what the operations of a slot have room for.
func room(x *txn) int64 { return int64(cap(x.reads))*readBytes + int64(cap(x.writes))*writeBytes }

// WaitBytes is what transactions take that the watermark has not passed, without their keys, and how many operations
// they have.
func (e *Engine) WaitBytes() (bytes int64, ops int) {
	return e.weights.waitSize.bytes, int(e.weights.waitSize.ops)
}

// KeysBytes is the size of the state of keys and sessions.
func (e *Engine) KeysBytes() int64 {
	return int64(len(e.cells))*KeyBytes + int64(len(e.sess))*SessionBytes
}

// full reports whether something of the order has to be forgotten.
func (e *Engine) full() bool {
	if e.placed > e.o.Horizon {
		return true
	}
	return e.o.Memory > 0 && e.placed > 1 && e.weights.orderSize.bytes+e.weights.orderSize.ops*keyRoom/2 > e.o.Memory
}

// keyRoom is what a key takes that comes with an operation, its name included.
const keyRoom = KeyBytes + 64

// Oldest is a mark by which one in parts of those that wait would be placed.
func (e *Engine) Oldest(parts int) int64 {
	n := len(e.pending.all)
	if n == 0 {
		return e.mark
	}
	h := pendingHeap{append([]waitingTxn(nil), e.pending.all...)}
	end := int64(0)
	for range n/parts + 1 {
		end = h.pop().end
	}
	return satAdd(end, 1)
}

// Pins hands over the keys and sessions that are in use.
func (e *Engine) Pins(key, session func(n uint32)) {
	for t := range e.slots {
		x := &e.slots[t]
		if x.line == gone {
			continue
		}
		for i := range x.reads {
			key(x.reads[i].key)
		}
		for i := range x.writes {
			key(x.writes[i].key)
		}
		if x.sess != NoSession {
			session(x.sess)
		}
	}
	for k := range e.cells {
		if e.cells[k].waits > 0 || e.cells[k].head != none {
			key(uint32(k))
		}
	}
}

// What is saved of a key.
const (
	stateOpen = 1 << iota
	stateForgotten
	stateSaid
	stateInit    // init is not what nothing else is reported of
	stateWritten // val is not init
	stateAgain
	stateNulled
)

// SaveKey appends what is known of a key to buf, nothing if that is what is known of one that was never named. The key
// is in no use.
func (e *Engine) SaveKey(key uint32, buf []byte) []byte {
	c := &e.cells[key]
	what := byte(0)
	set := func(bit byte, is bool) {
		if is {
			what |= bit
		}
	}
	plain, initial := byte(0), e.stream.initial
	if e.stream.attached {
		plain, initial = stateOpen, unknowable
	}
	set(stateOpen, c.open)
	set(stateForgotten, c.forgotten)
	set(stateSaid, c.said)
	set(stateAgain, c.again)
	set(stateNulled, c.nulled)
	set(stateInit, c.init != initial)
	set(stateWritten, c.val != c.init)
	if what == plain && c.line == noLine {
		return buf
	}
	b := append(buf, what)
	if what&stateInit != 0 {
		b = binary.LittleEndian.AppendUint64(b, c.init)
	}
	if what&stateWritten != 0 {
		b = binary.LittleEndian.AppendUint64(b, c.val)
	}
	b = binary.AppendVarint(b, c.line)
	if c.line != noLine {
		b = binary.AppendVarint(b, c.end)
		b = binary.AppendVarint(b, c.end-c.start) // it may wrap around, and back
	}
	return b
}

// ErrState says that what was saved of a key or a session is damaged.
var ErrState = errors.New("what was saved of a key or a session is damaged")

// LoadKey puts back what SaveKey has said of a key, which has been named. Errors: ErrState.
func (e *Engine) LoadKey(key uint32, state []byte) error {
	r := saved.Reader{B: state}
	c := &e.cells[key]
	what := r.Byte()
	if what&stateInit != 0 {
		c.init = r.Word()
	}
	c.val = c.init
	if what&stateWritten != 0 {
		c.val = r.Word()
	}
	c.open, c.forgotten, c.said = what&stateOpen != 0, what&stateForgotten != 0, what&stateSaid != 0
	c.again, c.nulled = what&stateAgain != 0, what&stateNulled != 0
	if c.line = r.Int(); c.line != noLine {
		c.end = r.Int()
		c.start = c.end - r.Int()
	}
	if r.Bad || len(r.B) > 0 {
		return ErrState
	}
	return nil
}

// TrimKeys forgets the room of keys from a number on, which have been dropped, and TrimSessions that of sessions.
func (e *Engine) TrimKeys(n int)     { e.cells = saved.Shorter(e.cells, n) }
func (e *Engine) TrimSessions(n int) { e.sess = saved.Shorter(e.sess, n) }

// DropKey forgets a key, which is in no use.
func (e *Engine) DropKey(key uint32) { e.cells[key] = cell{head: none} }

// SaveSession appends what is known of a session to buf, nothing if that is nothing. The session is in no use.
func (e *Engine) SaveSession(n uint32, buf []byte) []byte {
	if int(n) >= len(e.sess) || e.sess[n].past == math.MinInt64 {
		return buf
	}
	return binary.AppendVarint(buf, e.sess[n].past)
}

// LoadSession puts back what SaveSession has said. Errors: ErrState.
func (e *Engine) LoadSession(n uint32, state []byte) error {
	r := saved.Reader{B: state}
	e.session(n).past = r.Int()
	if r.Bad || len(r.B) > 0 {
		return ErrState
	}
	return nil
}

// DropSession forgets a session, which is in no use.
func (e *Engine) DropSession(n uint32) {
	if int(n) < len(e.sess) {
		e.sess[n] = session{last: noSlot, past: math.MinInt64}
	}
}
