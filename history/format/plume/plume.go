// Package plume reads and writes the text format of PolySI, which Plume, C4, IsoVista and MTC use too. Each line is an
// operation, r(key,value,session,txn) or w(…), with decimal integers.
//
// # Meaning
//
// Operations of a transaction are in program order. A session's transactions are in the order of their first lines;
// lines of several transactions may interleave. Every key is 0 at first, unless the file begins with an explicit
// initial transaction (session 0, transaction 0, writes only, every key of the file, with nothing else in session 0 or
// only 0), as IsoVista's files do. If another transaction writes 0, a read of 0 may be of either. Transaction -1 is
// aborted (Plume, C4, AWDIT): its writes stay, so that reads of them are aborted reads; its reads say nothing.
// Transaction ids are unique in the file. If they are not (a file of MTC counts in each session), they are unique in a
// session, and a transaction's id here is its ordinal.
//
// Experimental: this package may still change.
package plume

import (
	"fmt"
	"slices"

	"isovet/history"
)

type op struct {
	key, value int64
	txn        int32 // dense index
	write      bool
}

// txn is a transaction while its operations are still scattered.
type txn struct {
	id, session int64
	line        uint32
	ops         uint32
	aborted     bool
	reads       bool
}

// Is reports whether a file begins with a complete operation of this format.
func Is(head []byte) bool {
	p := parser{data: head}
	p.blank()
	return p.pos < len(head) && p.line() == nil
}

// Read reads a file. Errors are *history.InputError with the line. Cost: one pass, one hash lookup whenever the
// transaction changes from one line to the next, and history.Builder.Build. data is not referenced afterwards.
func Read(data []byte, file string) (*history.History, error) {
	p := parser{data: data, file: file, lineNo: 1}
	ops := make([]op, 0, len(data)/16)
	var txns []txn
	type name struct{ session, txn int64 }
	index := make(map[name]int32)
	last, lastName := int32(-1), name{}
	inOrder := true // each transaction's lines are adjacent
	for p.blank(); p.pos < len(p.data); p.blank() {
		if err := p.line(); err != nil {
			return nil, err
		}
		l := &p.last
		n := name{l.session, l.txn}
		if last < 0 || n != lastName {
			i, ok := index[n]
			// Aborted transactions have no id of their own: each run of adjacent lines is one.
			if !ok || l.txn == -1 {
				i = int32(len(txns))
				index[n] = i
				txns = append(txns, txn{id: l.txn, session: l.session, line: uint32(p.lineNo), aborted: l.txn == -1})
			}
			inOrder = inOrder && i > last
			last, lastName = i, n
		}
		t := &txns[last]
		t.reads = t.reads || !l.write
		if t.aborted && !l.write {
			continue
		}
		t.ops++
		ops = append(ops, op{l.key, l.value, last, l.write})
	}

	// Counting sort: each transaction's operations become adjacent.
	off := make([]uint32, len(txns)+1)
	for i, t := range txns {
		off[i+1] = off[i] + t.ops
	}
	sorted := ops
	if !inOrder {
		sorted = make([]op, len(ops))
		next := slices.Clone(off)
		for _, o := range ops {
			sorted[next[o.txn]] = o
			next[o.txn]++
		}
	}

	b := history.NewBuilder()
	b.File = file
	b.Reserve(len(txns), len(ops))
	unique := uniqueIDs(txns)
	explicit := explicitInit(txns, sorted)
	if !explicit {
		b.Initial = history.IntValue(0)
	}
	for i, t := range txns {
		for _, o := range sorted[off[i]:off[i+1]] {
			if o.write {
				b.Write(b.Key(history.IntValue(o.key)), history.IntValue(o.value))
			} else {
				b.Read(b.Key(history.IntValue(o.key)), history.IntValue(o.value))
			}
		}
		h := history.NewTxnHead()
		h.Line = t.line
		if unique {
			h.HasID, h.ID = true, t.id
		}
		h.HasSess, h.Session = true, t.session
		h.Init = i == 0 && explicit
		if t.aborted {
			h.Status = history.Aborted
		}
		b.EndTxn(h)
	}
	return b.Build()
}

// uniqueIDs reports whether each id names one transaction in the whole file.
func uniqueIDs(txns []txn) bool {
	ids := make([]int64, len(txns))
	for i, t := range txns {
		if ids[i] = t.id; t.aborted {
			return false
		}
	}
	slices.Sort(ids)
	return len(slices.Compact(ids)) == len(txns)
}

// explicitInit reports whether the first transaction is an initial one (see the package comment). ops has the
// operations, transaction by transaction.
func explicitInit(txns []txn, ops []op) bool {
	if len(txns) == 0 || txns[0].session != 0 || txns[0].id != 0 || txns[0].reads {
		return false
	}
	own, others := ops[:txns[0].ops], ops[txns[0].ops:]
	if slices.ContainsFunc(txns[1:], func(t txn) bool { return t.session == 0 }) &&
		slices.ContainsFunc(own, func(o op) bool { return o.value != 0 }) {
		return false
	}
	written := make(map[int64]struct{}, len(own))
	for _, o := range own {
		written[o.key] = struct{}{}
	}
	return !slices.ContainsFunc(others, func(o op) bool {
		_, ok := written[o.key]
		return !ok
	})
}

type parser struct {
	data   []byte
	file   string
	pos    int
	lineNo int
	last   line // that was read
}

type line struct {
	write                    bool
	key, value, session, txn int64
}

// blank skips white space between lines.
func (p *parser) blank() {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case '\n':
			p.lineNo++
		case ' ', '\t', '\r':
		default:
			return
		}
		p.pos++
	}
}

// line reads an operation, and not the rest of its line.
func (p *parser) line() error {
	l := &p.last
	l.write = p.data[p.pos] == 'w'
	if !l.write && p.data[p.pos] != 'r' {
		return p.errorf("", "found %q; expected an operation, r(key,value,session,txn) or w(key,value,session,txn)",
			p.rest())
	}
	p.pos++
	if p.pos == len(p.data) || p.data[p.pos] != '(' {
		return p.errorf("", "found %q; expected ( behind the operation's letter", p.rest())
	}
	var n [len(fields)]int64
	for i := range n {
		p.pos++
		end, ok := byte(','), false
		if i == len(n)-1 {
			end = ')'
		}
		if n[i], ok = p.number(); !ok {
			return p.errorf(fields[i], "found %q; expected a 64-bit decimal integer", p.rest())
		}
		if p.pos == len(p.data) || p.data[p.pos] != end {
			return p.errorf(fields[i], "found %q behind the number; expected %q", p.rest(), string(end))
		}
	}
	l.key, l.value, l.session, l.txn = n[0], n[1], n[2], n[3]
	p.pos++
	if p.pos < len(p.data) && p.data[p.pos] != '\n' && p.data[p.pos] != '\r' && p.data[p.pos] != ' ' &&
		p.data[p.pos] != '\t' {
		return p.errorf("", "found %q behind the operation; expected the end of the line", p.rest())
	}
	return nil
}

var fields = [...]string{"key", "value", "session", "txn"}

// number reads a decimal integer. If there is none or it does not fit, it returns false and stays at its beginning.
func (p *parser) number() (int64, bool) {
	d := p.data[p.pos:]
	i := 0
	neg := len(d) > 0 && d[0] == '-'
	if neg {
		i++
	}
	var n uint64
	first := i
	for ; i < len(d) && d[i]-'0' <= 9; i++ {
		n = n*10 + uint64(d[i]-'0')
	}
	limit := uint64(1<<63 - 1)
	if neg {
		limit++
	}
	if uint(i-first-1) >= 19 || n > limit {
		return 0, false
	}
	p.pos += i
	if neg {
		return -int64(n), true
	}
	return int64(n), true
}

// rest returns the beginning of the rest of the line, for messages.
func (p *parser) rest() string {
	r := p.data[p.pos:]
	for i, c := range r {
		if c == '\n' || c == '\r' || i == 40 {
			r = r[:i]
			break
		}
	}
	if len(r) == 0 {
		return "the end of the line"
	}
	return string(r)
}

func (p *parser) errorf(field, format string, args ...any) error {
	return &history.InputError{File: p.file, Line: p.lineNo, Off: -1, Field: field, Msg: fmt.Sprintf(format, args...)}
}
