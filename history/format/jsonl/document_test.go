package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/cases"
	"isovet/internal/test/must"
)

// doc writes a random valid document, more or less wildly.
type doc struct {
	*rand.Rand
	out  []byte
	wild int // 0: as a program writes it; else one token in so many is unusual
}

func (d *doc) odd() bool { return d.wild > 0 && d.IntN(d.wild) == 0 }

// tok writes a token, with white space around it at times.
func (d *doc) tok(s string) {
	if d.odd() {
		d.out = append(d.out, []string{" ", "\t", "  ", "\r"}[d.IntN(4)]...)
	}
	d.out = append(d.out, s...)
	if d.odd() {
		d.out = append(d.out, ' ')
	}
}

// str writes a string, with needless escapes at times.
func (d *doc) str(s string) {
	var q []byte
	q = append(q, '"')
	for _, r := range s {
		switch {
		case d.odd() && r < 0x10000:
			q = fmt.Appendf(q, []string{`\u%04x`, `\u%04X`}[d.IntN(2)], r)
		case d.odd() && r >= 0x10000:
			q = fmt.Appendf(q, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		case d.odd() && r == '/':
			q = append(q, `\/`...)
		case r == '\b':
			q = append(q, `\b`...)
		case r == '\f':
			q = append(q, `\f`...)
		default:
			j := history.AppendJSONString(nil, string(r))
			q = append(q, j[1:len(j)-1]...)
		}
	}
	d.tok(string(append(q, '"')))
}

// name writes a field's name.
func (d *doc) name(s string) {
	d.str(s)
	d.tok(":")
}

// list writes what stands between two brackets, with commas: n things.
func (d *doc) list(open, end string, n int, thing func(i int)) {
	d.tok(open)
	for i := range n {
		if i > 0 {
			d.tok(",")
		}
		thing(i)
	}
	d.tok(end)
}

// row writes an array of what the functions write.
func (d *doc) row(parts ...func()) {
	d.list("[", "]", len(parts), func(i int) { parts[i]() })
}

func (d *doc) int() {
	n := d.Int64N(20)
	switch d.IntN(6) {
	case 0:
		n = d.Int64() >> d.IntN(64)
	case 1:
		n = -d.Int64() >> d.IntN(64)
	case 2:
		n = []int64{math.MaxInt64, math.MinInt64, 0, 99999999, 100000000, 9999999999999999,
			10000000000000000}[d.IntN(7)]
	}
	d.tok(strconv.FormatInt(n, 10))
}

var words = []string{"", "a", "null", "x1", "key", "ops", "format", "é", "日本", "😀", "q\"uote", "back\\slash", "tab\t",
	"nl\n", "a/b", "\x01", "\x7f", "\b\f"}

func (d *doc) scalar() {
	switch d.IntN(8) {
	case 0:
		d.tok("null")
	case 1:
		d.tok([]string{"true", "false"}[d.IntN(2)])
	case 2:
		d.str(words[d.IntN(len(words))])
	default:
		d.int()
	}
}

func (d *doc) value() {
	if d.IntN(6) > 0 {
		d.scalar()
		return
	}
	columns := d.Perm(4)[:d.IntN(4)]
	d.list("{", "}", len(columns), func(i int) {
		d.name([]string{"v", "w", "é", "a\"b"}[columns[i]])
		d.scalar()
	})
}

// any writes any JSON value.
func (d *doc) any(depth int) {
	switch d.IntN(6) {
	case 0:
		if depth < 4 {
			d.list("[", "]", d.IntN(3), func(int) { d.any(depth + 1) })
			return
		}
		fallthrough
	case 1:
		d.tok([]string{"1.5", "-0", "1e9", "2E-3", "99999999999999999999999", "0.0e+1"}[d.IntN(6)])
	case 2:
		if depth < 4 {
			d.list("{", "}", d.IntN(3), func(int) {
				d.name(words[d.IntN(len(words))])
				d.any(depth + 1)
			})
			return
		}
		fallthrough
	default:
		d.scalar()
	}
}

func (d *doc) predicate(depth int) {
	if k := d.IntN(6); k < 3 && depth < 3 {
		d.tok("{")
		d.name([]string{"or", "and", "not"}[k])
		if k == 2 {
			d.predicate(depth + 1)
		} else {
			d.list("[", "]", d.IntN(3), func(int) { d.predicate(depth + 1) })
		}
		d.tok("}")
		return
	}
	columns := slices.DeleteFunc([]string{"", "key", "v"}, func(string) bool { return d.IntN(2) == 0 }) // as sorted
	d.list("{", "}", len(columns), func(i int) {
		d.name(columns[i])
		d.list("{", "}", 1+d.IntN(2), func(i int) {
			d.name([]string{"<", "in"}[i])
			if i == 0 {
				d.scalar()
			} else {
				d.row(d.scalar, d.scalar)
			}
		})
	})
}

// key writes a key: of registers or of lists, which may not mix.
func (d *doc) key(list bool) {
	k := d.IntN(5)
	if list {
		d.str("list" + strconv.Itoa(k))
		return
	}
	switch {
	case k < 3:
		d.tok(strconv.Itoa(k * 1234567))
	default:
		d.str([]string{"x", "é"}[k-3])
	}
}

func (d *doc) op() {
	k := d.IntN(8)
	list := k == 4 || k == 5
	parts := []func(){
		func() { d.str([]string{"r", "w", "r", "w", "a", "r", "pr", "pw"}[k]) },
		func() { d.key(list) },
	}
	switch k {
	case 4:
		parts = append(parts, d.scalar)
	case 5:
		parts = append(parts, d.elements)
	case 6, 7:
		parts = append(parts[:1], func() { d.predicate(0) }, func() { d.rows(k - 6) })
	default:
		parts = append(parts, d.value)
	}
	if d.IntN(3) == 0 {
		start := d.Int64N(1 << 60)
		end := strconv.FormatInt(start+d.Int64N(1000), 10)
		if d.odd() {
			end = "null"
		}
		parts = append(parts, func() { d.tok(strconv.FormatInt(start, 10)) }, func() { d.tok(end) })
	}
	d.row(parts...)
}

// elements writes what a read of a list returns.
func (d *doc) elements() {
	if d.IntN(4) == 0 {
		d.tok("null")
		return
	}
	d.list("[", "]", d.IntN(4), func(int) {
		if d.IntN(2) == 0 {
			d.int()
		} else {
			d.scalar()
		}
	})
}

// rows writes what a predicate operation shows: rows with one value each, and up to more of them.
func (d *doc) rows(more int) {
	d.list("[", "]", d.IntN(3), func(i int) {
		row := func() { d.str("another row") } // a row stands once in an operation
		if i == 0 {
			row = func() { d.key(false) }
		}
		d.row(append([]func(){row}, slices.Repeat([]func(){d.value}, 1+d.IntN(more+1))...)...)
	})
}

func (d *doc) header() {
	fields := []func(){
		func() { d.name("version"); d.tok("1") },
		func() { d.name("format"); d.str("isovet-history") },
		func() { d.name("name"); d.str(words[d.IntN(len(words))]) },
		func() { d.name("initial"); d.value() },
		func() { d.name("model"); d.str([]string{"register", "list"}[d.IntN(2)]) },
		func() { d.name("ops"); d.any(0) }, // unknown in a header
		func() { d.name("db"); d.str("d") },
	}
	d.object(fields, 2)
}

// object writes the first must fields and some others, in random order when wild.
func (d *doc) object(fields []func(), must int) {
	var chosen []func()
	for i, f := range fields {
		if i < must || d.IntN(2) == 0 {
			chosen = append(chosen, f)
		}
	}
	if d.IntN(2) == 0 {
		d.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	}
	d.list("{", "}", len(chosen), func(i int) {
		if d.odd() {
			d.name("unknown" + strconv.Itoa(d.IntN(9)))
			d.any(0)
			d.tok(",")
		}
		chosen[i]()
	})
}

func (d *doc) txn(id int, init bool) {
	field := func(name string, n int64) func() { return func() { d.name(name); d.tok(strconv.FormatInt(n, 10)) } }
	start := d.Int64N(1 << 60)
	fields := []func(){
		func() {
			d.name("ops")
			d.list("[", "]", d.IntN(6), func(int) {
				if init {
					d.row(func() { d.str("w") }, func() { d.key(false) }, d.value)
				} else {
					d.op()
				}
			})
		},
		field("id", int64(id)),
		field("session", d.Int64N(4)-1),
		field("start", start),
		field("commit", start+5),
		field("end", start+9),
		field("start_ts", start),
		field("commit_ts", start),
		func() {
			d.name("status")
			s := "committed"
			if !init {
				s = []string{"committed", "aborted", "unknown"}[d.IntN(3)]
			}
			d.str(s)
		},
		func() { d.name("node"); d.str(words[d.IntN(len(words))]) },
		func() { d.name("name"); d.str(words[d.IntN(len(words))]) },
		func() { d.name("level"); d.str([]string{"si", "read-committed", "SER"}[d.IntN(3)]) },
		func() { d.name("init"); d.tok("false") },
	}
	if init {
		fields[len(fields)-1] = fields[1]
		fields[1] = func() { d.name("init"); d.tok("true") }
	}
	d.object(fields, 2)
}

func (d *doc) document() []byte {
	if d.odd() {
		d.out = append(d.out, "\n \n"...)
	}
	if d.IntN(2) == 0 {
		d.header()
		d.out = append(d.out, '\n')
	}
	n := 1 + d.IntN(12)
	for i := range n {
		d.txn(1000+i, i == 3 && d.IntN(2) == 0)
		if d.odd() {
			d.out = append(d.out, '\r')
		}
		if i < n-1 || d.IntN(2) == 0 {
			d.out = append(d.out, '\n')
		}
		if d.odd() {
			d.out = append(d.out, "\n\t\n"...)
		}
	}
	if d.IntN(2) == 0 {
		d.out = append(d.out, '\n')
		d.out = append(d.out, bytes.Repeat([]byte(" "), scanMargin)...) // so that the scanner gets all lines
	}
	return d.out
}

// badInput is every kind of bad input that the contract names, and malformed JSON: file, line, field, what was found,
// what was expected. Each is read as it stands, and behind a hundred good lines, where the scanner meets it first.
func badInput(t testing.TB) [][]string {
	return append(cases.Read(t, "testdata/errors.tsv"),
		[]string{`{"id":1,"z":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `,"ops":[]}`,
			`1: field "z": nested more than 1000 deep; expected less`},
		[]string{`{"ops":[["pr",` + strings.Repeat(`{"not":`, 2000) + `{}` + strings.Repeat("}", 2000) + `,[]]]}`,
			`1: field "ops[0][1].not.not.not.not.not.not.not.not.not.not…": a predicate nested more than 1000 deep; ` +
				`expected less`})
}

func TestBadInput(t *testing.T) {
	const goodLine = `{"id":-1%03d,"session":99,"ops":[["r","k",1],["w","k",2]]}` + "\n"
	good := ""
	for i := range 100 {
		good += fmt.Sprintf(goodLine, i+1)
	}
	for _, row := range badInput(t) {
		doc, want := row[0], row[1]
		_, err := Read([]byte(doc), "f.jsonl")
		if err == nil {
			t.Errorf("%.200s: no error; want %s", doc, want)
			continue
		}
		if _, ok := errors.AsType[*history.InputError](err); !ok {
			t.Errorf("%.200s: error of type %T", doc, err)
		}
		must.Equal(t, strings.TrimPrefix(err.Error(), "f.jsonl:"), want, "%.200s", doc)
		if strings.Contains(doc, "format") || strings.TrimSpace(doc) == "" || strings.Contains(want, "ordinal") {
			continue // it is about the first line, or would be no error
		}
		// Behind good lines, and with some before the end, the scanner has the line first.
		_, err = Read([]byte(good+doc+"\n"+strings.Repeat("\n", scanMargin)), "f.jsonl")
		in, ok := errors.AsType[*history.InputError](err)
		if !ok {
			t.Errorf("%.200s: behind good lines: %v", doc, err)
			continue
		}
		if got := fmt.Sprintf("%d:", in.Line-100); !strings.HasPrefix(want, got) ||
			!strings.Contains(want, strings.ReplaceAll(in.Msg, "first in line 101", "first in line 1")) {
			t.Errorf("%.200s: behind good lines: %v; want %s", doc, in, want)
		}
	}
}
