package plan

import (
	"encoding/binary"

	"isovet/history"
	"isovet/internal/saved"
)

// Head is the part of a transaction that the check of sessions needs.
type Head struct {
	Session int64 // NoTime: none
	T       int64
	Status  history.Status
	Init    bool
	// Timeless says that the transaction has no times; T is then the position of its neighbours.
	Timeless bool
	// By timestamps: In says that the transaction is in the order, from Begin to T. Writer says that it writes.
	In, Writer bool
	Begin      int64
}

// HeadWriter writes heads of transactions, in the order of their places: a byte of status, then the differences of
// session and time from the head before, and that of Begin from T.
type HeadWriter struct {
	B       []byte
	session int64
	t       int64
}

const (
	headNoSession = 1 << 2
	headInit      = 1 << 3
	headTimeless  = 1 << 4
	headIn        = 1 << 5
	headWriter    = 1 << 6
)

func (w *HeadWriter) add(h Head) {
	w.B = append(w.B, byte(h.Status)|saved.Bits(h.Session == history.NoTime, h.Init, h.Timeless, h.In, h.Writer)<<2)
	if h.Session != history.NoTime {
		w.B = binary.AppendVarint(w.B, int64(uint64(h.Session)-uint64(w.session)))
		w.session = h.Session
	}
	w.B = binary.AppendVarint(w.B, int64(uint64(h.T)-uint64(w.t)))
	w.t = h.T
	if h.In {
		w.B = binary.AppendVarint(w.B, int64(uint64(h.T)-uint64(h.Begin)))
	}
}

// EachHead calls f for each head that a HeadWriter wrote.
func EachHead(b []byte, f func(h *Head)) (err error) {
	defer recoverDamaged(&err)
	c := cursor{b: b}
	var h Head
	session := int64(0)
	for c.i < len(c.b) {
		s := c.b[c.i]
		c.i++
		h.Status, h.Init = history.Status(s&3), s&headInit != 0
		h.Timeless, h.In, h.Writer = s&headTimeless != 0, s&headIn != 0, s&headWriter != 0
		h.Session = history.NoTime
		if s&headNoSession == 0 {
			session = int64(uint64(session) + uint64(c.varint()))
			h.Session = session
		}
		h.T = int64(uint64(h.T) + uint64(c.varint()))
		if h.In {
			h.Begin = int64(uint64(h.T) - uint64(c.varint()))
		}
		f(&h)
	}
	return nil
}
