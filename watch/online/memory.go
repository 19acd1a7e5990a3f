package online

import (
	"encoding/binary"
	"errors"
	"math"
	"unsafe"

	"isovet/internal/saved"
)

// weight is the memory of transactions and the number of their operations, each of which may have a key of its own.
type weight struct{ bytes, ops int64 }

func (w *weight) add(x *txn, sign int64) {
	w.bytes += sign * int64(x.size)
	w.ops += sign * int64(x.ops)
}

const (
	txnBytes   = int64(unsafe.Sizeof(txn{})) + 32 // with its places in the order, and in a heap or a queue
	readBytes  = int64(unsafe.Sizeof(read{}))
	writeBytes = int64(unsafe.Sizeof(write{})) + 16
	// KeyBytes is the memory of a key.
	KeyBytes = int64(unsafe.Sizeof(cell{}))
	// SessionBytes is the memory of a session.
	SessionBytes = int64(unsafe.Sizeof(session{}))
)

// room returns the memory of a slot's operation slices.
func room(x *txn) int64 { return int64(cap(x.reads))*readBytes + int64(cap(x.writes))*writeBytes }

// WaitBytes returns the memory of the transactions that the watermark has not passed, without their keys, and the
// number of their operations.
func (e *Engine) WaitBytes() (bytes int64, ops int) {
	return e.weights.waitSize.bytes, int(e.weights.waitSize.ops)
}

// KeysBytes returns the memory of keys and sessions.
func (e *Engine) KeysBytes() int64 {
	return int64(len(e.cells))*KeyBytes + int64(len(e.sess))*SessionBytes
}

// full reports whether transactions must be forgotten to free memory.
func (e *Engine) full() bool {
	if e.placed > e.o.Horizon {
		return true
	}
	return e.o.Memory > 0 && e.placed > 1 && e.weights.orderSize.bytes+e.weights.orderSize.ops*keyRoom/2 > e.o.Memory
}

// keyRoom is the memory of a new key, with its name.
const keyRoom = KeyBytes + 64

// Oldest returns a mark that makes the oldest of the waiting transactions final: one in parts.
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
	return Plus(end, 1)
}

// Pins calls key and session with the numbers of those in use.
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

// The parts of a key's saved state.
const (
	stateOpen = 1 << iota
	stateForgotten
	stateSaid
	stateInit    // init differs from the default
	stateWritten // val differs from init
	stateAgain
	stateNulled
	stateDoubt
)

// SaveKey appends the state of a key to buf, or nothing if the key was never named. The key must not be in use.
func (e *Engine) SaveKey(key uint32, buf []byte) []byte {
	c := &e.cells[key]
	plain, initial := byte(0), e.stream.initial
	if e.stream.attached {
		plain, initial = stateOpen, unknowable
	}
	what := saved.Bits(c.open, c.forgotten, c.said, c.init != initial, c.val != c.init, c.again, c.nulled, c.doubt != 0)
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
	if what&stateDoubt != 0 {
		b = binary.LittleEndian.AppendUint64(b, c.doubt)
	}
	b = binary.AppendVarint(b, c.line)
	if c.line != noLine {
		b = binary.AppendVarint(b, c.end)
		b = binary.AppendVarint(b, c.end-c.start) // it may overflow, and then overflows back
	}
	return b
}

// ErrState says that the saved state of a key or session is damaged.
var ErrState = errors.New("the saved state of a key or a session is damaged")

// LoadKey restores a named key from its saved state. Errors: ErrState.
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
	if what&stateDoubt != 0 {
		c.doubt = r.Word()
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

// TrimKeys frees the memory of key numbers from n on, which must have been dropped. TrimSessions does it for sessions.
func (e *Engine) TrimKeys(n int)     { e.cells = saved.Shorter(e.cells, n) }
func (e *Engine) TrimSessions(n int) { e.sess = saved.Shorter(e.sess, n) }

// DropKey forgets an unused key.
func (e *Engine) DropKey(key uint32) { e.cells[key] = cell{head: none} }

// SaveSession appends the state of a session to buf, or nothing if it has none. The session must not be in use.
func (e *Engine) SaveSession(n uint32, buf []byte) []byte {
	if int(n) >= len(e.sess) || e.sess[n].past == math.MinInt64 {
		return buf
	}
	return binary.AppendVarint(buf, e.sess[n].past)
}

// LoadSession restores a session from its saved state. Errors: ErrState.
func (e *Engine) LoadSession(n uint32, state []byte) error {
	r := saved.Reader{B: state}
	e.session(n).past = r.Int()
	if r.Bad || len(r.B) > 0 {
		return ErrState
	}
	return nil
}

// DropSession forgets an unused session.
func (e *Engine) DropSession(n uint32) {
	if int(n) < len(e.sess) {
		e.sess[n] = session{last: noSlot, past: math.MinInt64}
	}
}
