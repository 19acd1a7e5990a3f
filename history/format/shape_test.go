package format

import (
	"bytes"
	"encoding/binary"
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

// cobra makes the logs of Cobra's clients.
func (s *shape) cobra() (names string, logs [][]byte) {
	writer := map[uint64]uint64{} // by value
	for _, session := range s.sessions {
		for _, t := range session {
			for _, e := range t.ops {
				if e.write {
					writer[e.value] = t.id
				}
			}
		}
	}
	for _, session := range s.sessions {
		var c []byte
		for _, t := range session {
			c = be(c, 'S', t.id)
			for _, e := range t.ops {
				switch {
				case e.write:
					c = be(c, 'W', e.value, e.variable, e.value)
				case e.value == 0:
					c = be(c, 'R', 0xBEBEEBEE, 0xBEBEEBEE, e.variable, 0)
				default:
					c = be(c, 'R', writer[e.value], e.value, e.variable, e.value)
				}
			}
			c = be(c, 'C', t.id)
		}
		logs = append(logs, c)
	}
	return "T%d.log", logs
}

// viper makes the logs of Viper's.
func (s *shape) viper() (names string, logs [][]byte) {
	for _, session := range s.sessions {
		var v []byte
		for _, t := range session {
			v = append(v, `{"value":[`...)
			for j, e := range t.ops {
				switch {
				case e.write:
					v = fmt.Appendf(v, `["w",%d,%d,true]`, e.variable, e.value)
				case e.value == 0:
					v = fmt.Appendf(v, `["r",%d,null,false]`, e.variable)
				default:
					v = fmt.Appendf(v, `["r",%d,%d,false]`, e.variable, e.value)
				}
				if j < len(t.ops)-1 {
					v = append(v, ',')
				}
			}
			v = fmt.Appendf(v, `],"preBeginTS":%d,"postCommitTS":%d}`+"\n", t.start, t.end)
		}
		logs = append(logs, v)
	}
	return "J%d.log", logs
}

// watch makes the log of isovet watch, of lines of the project's format.
func watch(lines []byte) []byte {
	var log []byte
	for n := 0; len(lines) > 0; n++ {
		end := bytes.IndexByte(lines, '\n') + 1
		log = append(fmt.Appendf(log, "%d\t", n), lines[:end]...)
		lines = lines[end:]
	}
	return log
}

// bincode makes dbcop's binary history.
func (s *shape) bincode() []byte {
	le := binary.LittleEndian.AppendUint64
	var b []byte
	for _, n := range []uint64{7, 2, 2, 1, 2} {
		b = le(b, n)
	}
	for _, text := range []string{"testdb", "2020-01-02T03:04:05Z", "2020-01-02T03:04:05.5+08:00"} {
		b = append(le(b, uint64(len(text))), text...)
	}
	b = le(b, uint64(len(s.sessions)))
	for _, session := range s.sessions {
		b = le(b, uint64(len(session)))
		for _, t := range session {
			b = le(b, uint64(len(t.ops)))
			for _, e := range t.ops {
				kind := byte(0)
				if e.write {
					kind = 1
				}
				b = append(le(le(append(b, kind), e.variable), e.value), 1)
			}
			b = append(b, 1)
		}
	}
	return b
}
