// Package dbcop reads and writes the binary histories of dbcop (OOPSLA 2019), which PolySI, AWDIT and VeriStrong use too: Rust's
// bincode with little-endian 8-byte lengths, no magic and no version.
//
// # Layout
//
// u64 id; u64 sessions, variables, transactions a session, events a transaction, all as asked for and not as run; three strings
// (u64 length, UTF-8): info, start, end (RFC 3339); then u64 sessions, for each u64 transactions, for each u64 events; an event is
// a byte write, u64 variable, u64 value, a byte success; behind the events of a transaction a byte success.
//
// # Meaning
//
// Every variable holds 0 at first. A transaction without success is aborted. An event without success did not take effect: a read
// says nothing; a write is that of an aborted transaction of its own here, so that whoever read it is an aborted read. Files that
// PolySI converted have an explicit initial transaction, the first session's only one, which writes every variable of the file.
package dbcop

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"isovet/history"
	"isovet/history/format/integers"
)

const (
	eventSize = 18
	// A history has fewer than this of anything; more is a file of another kind.
	sane = 1 << 40
)

// Is reports whether a file begins as one of this format.
func Is(head []byte) bool {
	r := reader{data: head}
	_, err := r.header()
	return err == nil
}

type header struct {
	info, start, end string
}

// reader walks over the bytes; its methods panic on nothing, they return an error that says where.
type reader struct {
	data []byte
	file string
	pos  int
}

func (r *reader) errorf(field, format string, args ...any) error {
	return &history.InputError{File: r.file, Off: int64(r.pos), Field: field, Msg: fmt.Sprintf(format, args...)}
}

func (r *reader) u64(field string) (uint64, error) {
	if len(r.data)-r.pos < 8 {
		return 0, r.errorf(field, "found the end of the file after %d bytes; expected 8", len(r.data)-r.pos)
	}
	v := binary.LittleEndian.Uint64(r.data[r.pos:])
	r.pos += 8
	return v, nil
}

func (r *reader) bool(field string) (bool, error) {
	if r.pos >= len(r.data) {
		return false, r.errorf(field, "found the end of the file; expected a byte 0 or 1")
	}
	c := r.data[r.pos]
	if c > 1 {
		return false, r.errorf(field, "found the byte %d; expected 0 or 1", c)
	}
	r.pos++
	return c == 1, nil
}

func (r *reader) text(field string) (string, error) {
	n, err := r.u64(field)
	if err != nil {
		return "", err
	}
	if n > 1<<12 || n > uint64(len(r.data)-r.pos) {
		r.pos -= 8
		return "", r.errorf(field, "found a text of %d bytes; expected a short one", n)
	}
	s := r.data[r.pos : r.pos+int(n)]
	if !utf8.Valid(s) {
		return "", r.errorf(field, "found bytes that are not UTF-8; expected a text")
	}
	r.pos += int(n)
	return string(s), nil
}

// count reads how many elements of at least size bytes follow.
func (r *reader) count(field string, size int) (int, error) {
	n, err := r.u64(field)
	if err != nil {
		return 0, err
	}
	if left := len(r.data) - r.pos; n > uint64(left/size) {
		r.pos -= 8
		return 0, r.errorf(field, "found a count of %d; %d bytes are left", n, left)
	}
	return int(n), nil
}

func (r *reader) header() (header, error) {
	var h header
	for _, f := range [...]string{"id", "sessions asked for", "variables asked for", "transactions asked for", "events asked for"} {
		n, err := r.u64(f)
		if err != nil {
			return h, err
		}
		if n > sane {
			r.pos -= 8
			return h, r.errorf(f, "found %d; expected the header of a dbcop history", n)
		}
	}
	for _, f := range [...]struct {
		name string
		to   *string
	}{{"info", &h.info}, {"start", &h.start}, {"end", &h.end}} {
		s, err := r.text(f.name)
		if err != nil {
			return h, err
		}
		*f.to = s
	}
	for _, s := range [...]string{h.start, h.end} {
		if _, err := time.Parse(time.RFC3339Nano, s); err != nil {
			return h, r.errorf("start", "found %q; expected a time as of RFC 3339", s)
		}
	}
	return h, nil
}

// Read reads a file. Errors are *history.InputError with the offset. Cost: one pass over the bytes, one over the events to find an
// explicit initial transaction, and history.Builder.Build. data is not referenced afterwards.
func Read(data []byte, file string) (*history.History, error) {
	r := reader{data: data, file: file}
	head, err := r.header()
	if err != nil {
		return nil, err
	}
	b := history.NewBuilder()
	b.File, b.Initial = file, history.IntValue(0)
	b.Meta.DB = head.info
	b.Reserve(0, (len(data)-r.pos)/eventSize)
	init, err := explicitInit(r)
	if err != nil {
		return nil, err
	}
	sessions, err := r.count("sessions", 8)
	if err != nil {
		return nil, err
	}
	type failed struct{ variable, value uint64 }
	var lost []failed
	for s := range sessions {
		txns, err := r.count("transactions", 9)
		if err != nil {
			return nil, err
		}
		for range txns {
			events, err := r.count("events", eventSize)
			if err != nil {
				return nil, err
			}
			// All events and the transaction's own byte are there.
			ev := r.data[r.pos : r.pos+events*eventSize]
			at := r.pos
			r.pos += len(ev)
			success, err := r.bool("success of a transaction")
			if err != nil {
				return nil, err
			}
			lost = lost[:0]
			for ; len(ev) > 0; ev, at = ev[eventSize:], at+eventSize {
				if ev[0] > 1 || ev[eventSize-1] > 1 {
					r.pos = at
					return nil, r.errorf("event", "found a truth value that is neither 0 nor 1; expected an event")
				}
				variable, value := binary.LittleEndian.Uint64(ev[1:]), binary.LittleEndian.Uint64(ev[9:])
				write, ok := ev[0] == 1, ev[eventSize-1] == 1
				switch {
				case write && success && !ok:
					lost = append(lost, failed{variable, value})
				case write:
					b.Write(b.Key(history.IntValue(int64(variable))), history.IntValue(int64(value)))
				case ok && success:
					b.Read(b.Key(history.IntValue(int64(variable))), history.IntValue(int64(value)))
				}
			}
			h := history.NewTxnHead()
			h.HasSess, h.Session = true, int64(s)
			h.Init = init && s == 0
			if !success {
				h.Status = history.Aborted
			}
			b.EndTxn(h)
			if len(lost) > 0 {
				for _, f := range lost {
					b.Write(b.Key(history.IntValue(int64(f.variable))), history.IntValue(int64(f.value)))
				}
				h := history.NewTxnHead()
				h.HasSess, h.Session, h.Status = true, int64(s), history.Aborted
				b.EndTxn(h)
			}
		}
	}
	if r.pos != len(data) {
		return nil, r.errorf("", "found %d bytes behind the last session; expected the end of the file", len(data)-r.pos)
	}
	return b.Build()
}

// explicitInit reports whether the first session is an initial transaction: one transaction, writes only, none of 0, and every
// variable of the file among them, read or written. It leaves malformed files to Read.
func explicitInit(r reader) (bool, error) {
	start := r.pos
	if sessions, err := r.count("sessions", 8); err != nil || sessions < 2 {
		return false, err
	}
	if txns, err := r.count("transactions", 9); err != nil || txns != 1 {
		return false, err
	}
	events, err := r.count("events", eventSize)
	if err != nil || events == 0 {
		return false, err
	}
	own := make(map[uint64]struct{}, events)
	for i := range events {
		ev := r.data[r.pos+i*eventSize:]
		if ev[0] != 1 || ev[eventSize-1] != 1 || binary.LittleEndian.Uint64(ev[9:]) == 0 {
			return false, nil
		}
		own[binary.LittleEndian.Uint64(ev[1:])] = struct{}{}
	}
	if len(own) != events {
		return false, nil
	}
	r.pos = start
	sessions, err := r.count("sessions", 8)
	if err != nil {
		return false, err
	}
	for range sessions {
		txns, err := r.count("transactions", 9)
		if err != nil {
			return false, err
		}
		for range txns {
			events, err := r.count("events", eventSize)
			if err != nil {
				return false, err
			}
			for range events {
				ev := r.data[r.pos : r.pos+eventSize]
				if _, ok := own[binary.LittleEndian.Uint64(ev[1:])]; !ok || (ev[0] == 0 && binary.LittleEndian.Uint64(ev[9:]) == 0) {
					return false, nil
				}
				r.pos += eventSize
			}
			if _, err := r.bool("success of a transaction"); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// Write writes a history. n says how keys and values are numbered, and has refused what cannot be written.
func Write(w io.Writer, h *history.History, n *integers.Numbers) error {
	var buf bytes.Buffer
	u64 := func(v uint64) { buf.Write(binary.LittleEndian.AppendUint64(nil, v)) }
	text := func(s string) { u64(uint64(len(s))); buf.WriteString(s) }
	flag := func(b bool) {
		if b {
			buf.WriteByte(1)
		} else {
			buf.WriteByte(0)
		}
	}
	// Sessions in the order of Order, which has each in one run; the initial transaction, if any, is a session of its own.
	var runs [][]uint32
	most := 0
	for i := 0; i < len(n.Order); {
		j := i + 1
		for j < len(n.Order) && n.Order[i] != h.Init && h.Txns.Sess[n.Order[j]] == h.Txns.Sess[n.Order[i]] {
			j++
		}
		runs = append(runs, n.Order[i:j])
		most = max(most, j-i)
		i = j
	}
	events := 0
	for _, t := range n.Order {
		lo, hi := h.TxnOps(t)
		events = max(events, int(hi-lo))
	}
	u64(0)
	u64(uint64(len(runs)))
	u64(uint64(h.NumKeys()))
	u64(uint64(most))
	u64(uint64(events))
	text(h.Meta.DB)
	text(time.Unix(0, 0).UTC().Format(time.RFC3339))
	text(time.Unix(0, 0).UTC().Format(time.RFC3339))
	u64(uint64(len(runs)))
	for _, run := range runs {
		u64(uint64(len(run)))
		for _, t := range run {
			lo, hi := h.TxnOps(t)
			u64(uint64(hi - lo))
			for op := lo; op < hi; op++ {
				v := h.Ops.Ver[op]
				flag(h.Ops.Kind[op] == history.Write)
				u64(uint64(n.Key(h.VerKey[v])))
				u64(uint64(n.Value(v)))
				flag(true)
			}
			flag(h.Txns.Status[t] != history.Aborted)
			if buf.Len() >= 1<<16 {
				if _, err := buf.WriteTo(w); err != nil {
					return err
				}
			}
		}
	}
	_, err := buf.WriteTo(w)
	return err
}
