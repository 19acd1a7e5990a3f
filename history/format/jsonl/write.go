package jsonl

import (
	"io"
	"strconv"

	"isovet/history"
	"isovet/internal/escape"
)

// Write writes a history, transactions in the order of the file it came from. Read returns the same history from it
// (package internal/test/histtest/diff finds no difference). The bytes may differ from those of the file that it came
// from: Write leaves out defaults, and always writes ids, sessions and positions in sessions.
func Write(w io.Writer, h *history.History) error {
	e := writer{w: w, h: h, buf: make([]byte, 0, writeBuffer+4096)}
	e.header()
	for t, pos := range h.SessionPlaces() {
		e.txn(uint32(t), pos)
		if e.err != nil {
			return e.err
		}
	}
	e.flush()
	return e.err
}

// Writer writes a history that comes in batches.
type Writer struct {
	e    writer
	next map[int64]uint32 // session → place of its next transaction; nil: write no places
}

// NewWriter begins a file with the header of a history. With places each line has its transaction's place in its
// session, like Write's lines. Without places the order of the lines is the order in the sessions.
func NewWriter(w io.Writer, header *history.History, places bool) *Writer {
	x := &Writer{e: writer{w: w, h: header, buf: make([]byte, 0, writeBuffer+4096)}}
	if places {
		x.next = map[int64]uint32{}
	}
	x.e.header()
	return x
}

// Add writes the transactions of a history, in its order.
func (w *Writer) Add(h *history.History) error {
	w.e.h = h
	for t := range uint32(h.NumTxns()) {
		place := noPlace
		if w.next != nil {
			name := h.SessName[h.Txns.Sess[t]]
			place = w.next[name]
			if name != history.NoTime {
				w.next[name]++
			}
		}
		w.e.txn(t, place)
		if w.e.err != nil {
			return w.e.err
		}
	}
	return nil
}

// Flush writes the buffered rest.
func (w *Writer) Flush() error {
	w.e.flush()
	return w.e.err
}

const writeBuffer = 1 << 16

// noPlace is the place of a transaction that is written without one.
const noPlace = history.None

type writer struct {
	w   io.Writer
	h   *history.History
	buf []byte
	err error
}

func (e *writer) flush() {
	if e.err == nil {
		_, e.err = e.w.Write(escape.JSON(e.buf)) // safe to print on a terminal
	}
	e.buf = e.buf[:0]
}

func (e *writer) str(s string) { e.buf = append(e.buf, s...) }

func (e *writer) header() {
	h := e.h
	e.str(`{"format":"isovet-history","version":1`)
	for _, f := range [...]struct{ name, text string }{
		{"name", h.Meta.Name}, {"db", h.Meta.DB}, {"isolation", h.Meta.Isolation}, {"workload", h.Meta.Workload},
		{"note", h.Meta.Note},
	} {
		if f.text != "" {
			e.str(`,"` + f.name + `":`)
			e.buf = history.AppendJSONString(e.buf, f.text)
		}
	}
	if h.Initial.Kind != history.Null {
		e.str(`,"initial":`)
		e.buf = h.Texts.AppendValue(e.buf, h.Initial)
	}
	if h.Meta.Lists {
		e.str(`,"model":"list"`)
	}
	e.str("}\n")
}

func (e *writer) int(prefix string, n int64) {
	e.buf = append(e.buf, prefix...)
	e.buf = strconv.AppendInt(e.buf, n, 10)
}

func (e *writer) time(prefix string, n int64) {
	if n != history.NoTime {
		e.int(prefix, n)
	}
}

func (e *writer) text(prefix string, col []uint32, t uint32) {
	if col != nil && col[t] != history.None {
		e.buf = append(e.buf, prefix...)
		e.buf = e.h.Texts.AppendValue(e.buf, history.Value{Kind: history.String, N: int64(col[t])})
	}
}

func (e *writer) txn(t, pos uint32) {
	h := e.h
	e.int(`{"id":`, h.Txns.ID[t])
	if name := h.SessName[h.Txns.Sess[t]]; t == h.Init {
		e.str(`,"init":true`)
	} else if name != history.NoTime {
		e.int(`,"session":`, name)
		if pos != noPlace {
			e.int(`,"seq":`, int64(pos))
		}
	}
	if s := h.Txns.Status[t]; s != history.Committed {
		e.str(`,"status":"` + s.String() + `"`)
	}
	e.time(`,"start":`, h.Start(t))
	e.time(`,"commit":`, h.Commit(t))
	e.time(`,"end":`, h.End(t))
	e.time(`,"start_ts":`, h.StartTS(t))
	e.time(`,"commit_ts":`, h.CommitTS(t))
	e.text(`,"node":`, h.Txns.Node, t)
	e.text(`,"name":`, h.Txns.Name, t)
	e.text(`,"level":`, h.Txns.Level, t)
	e.text(`,"locking":`, h.Txns.Locking, t)
	e.str(`,"ops":[`)
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		if op > lo {
			e.buf = append(e.buf, ',')
		}
		e.op(op)
		if len(e.buf) >= writeBuffer {
			e.flush()
		}
	}
	e.str("]}\n")
}

func (e *writer) op(op uint32) {
	e.buf = e.h.AppendOp(e.buf, op)
	if s, z := e.h.OpStart(op), e.h.OpEnd(op); s != history.NoTime || z != history.NoTime {
		e.opTime(s)
		e.opTime(z)
	}
	e.buf = append(e.buf, ']')
}

func (e *writer) opTime(n int64) {
	if n == history.NoTime {
		e.str(",null")
	} else {
		e.int(",", n)
	}
}
