package format

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// shape makes texts of one history in all formats: BlindW's, 24 sessions, 10,000 keys, transactions of eight operations
// that read or write, values unique, times that grow.
type shape struct {
	sessions [][]shapeTxn
	order    []shapePlace // of all sessions, as they ran
}

type shapeTxn struct {
	id         uint64
	start, end int64
	ops        []event
}

type shapePlace struct{ session, txn int }

func newShape(txns int) *shape {
	rnd := rand.New(rand.NewPCG(1, 2))
	s := &shape{sessions: make([][]shapeTxn, 24)}
	const keys = 10_000
	last := make([]uint64, keys)
	value, now := uint64(0), int64(1_795_229_138_282_797_876)
	for id := range txns {
		x := shapeTxn{id: uint64(id + 100), start: now, end: now + 20_000}
		now += 20_000 + rnd.Int64N(3)
		write := rnd.IntN(2) == 0
		for range 8 {
			k := rnd.Uint64N(keys)
			if write {
				value++
				last[k] = value
			}
			x.ops = append(x.ops, event{write, k, last[k], true})
		}
		i := rnd.IntN(len(s.sessions))
		s.order = append(s.order, shapePlace{i, len(s.sessions[i])})
		s.sessions[i] = append(s.sessions[i], x)
	}
	return s
}

func letter(write bool) byte {
	if write {
		return 'w'
	}
	return 'r'
}

// one writes the history of one text for each place in the order in which the transactions ran.
func (s *shape) one(f func(dst []byte, session int, t shapeTxn, last bool) []byte) func() []byte {
	return func() []byte {
		var dst []byte
		for i, p := range s.order {
			dst = f(dst, p.session, s.sessions[p.session][p.txn], i == len(s.order)-1)
		}
		return dst
	}
}

// by writes it session by session.
func (s *shape) by(parted string, f func(dst []byte, session int, t shapeTxn, last bool) []byte) func() []byte {
	return func() []byte {
		var dst []byte
		for i, session := range s.sessions {
			if i > 0 {
				dst = append(dst, parted...)
			}
			for j, t := range session {
				dst = f(dst, i, t, j == len(session)-1)
			}
		}
		return dst
	}
}

// between puts a text between two others.
func between(before string, text func() []byte, after string) func() []byte {
	return func() []byte { return slices.Concat([]byte(before), text(), []byte(after)) }
}

// micro appends micro-operations: of an invocation, which does not know what it will read, or of a completion.
func (t shapeTxn) micro(dst []byte, form string, sep string, ok bool, null string) []byte {
	for i, e := range t.ops {
		if i > 0 {
			dst = append(dst, sep...)
		}
		v := null
		if e.write || ok {
			v = fmt.Sprint(e.value)
		}
		dst = fmt.Appendf(dst, form, letter(e.write), e.variable, v)
	}
	return dst
}

// operations appends Jepsen's two operations of a transaction.
func operations(dst []byte, form string, session int, t shapeTxn, value func(ok bool) []byte) []byte {
	for i, kind := range [...]string{"invoke", "ok"} {
		at := [...]int64{t.start, t.end}[i]
		dst = fmt.Appendf(dst, form, 2*(t.id-100)+uint64(i), kind, session, value(i == 1), at)
	}
	return dst
}

// spread puts JSON onto a line for each value, as encoders of JSON do for people.
func spread(compact []byte) []byte {
	dst := make([]byte, 0, 4*len(compact))
	depth := 0
	line := func() { dst = append(append(dst, '\n'), strings.Repeat(" ", 4*depth)...) }
	for _, c := range compact {
		switch c {
		case '[', '{':
			depth++
			dst = append(dst, c)
			line()
		case ']', '}':
			depth--
			line()
			dst = append(dst, c)
		case ',':
			dst = append(dst, c)
			line()
		case ':':
			dst = append(dst, ": "...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
