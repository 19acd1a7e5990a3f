package jsonl

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/iotest"

	"isovet/history"
	"isovet/internal/histtest/diff"
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
	d.tok("{")
	for i, c := range d.Perm(4)[:d.IntN(4)] {
		if i > 0 {
			d.tok(",")
		}
		d.str([]string{"v", "w", "é", "a\"b"}[c])
		d.tok(":")
		d.scalar()
	}
	d.tok("}")
}

// any writes any JSON value.
func (d *doc) any(depth int) {
	switch d.IntN(6) {
	case 0:
		if depth < 4 {
			d.tok("[")
			for i := range d.IntN(3) {
				if i > 0 {
					d.tok(",")
				}
				d.any(depth + 1)
			}
			d.tok("]")
			return
		}
		fallthrough
	case 1:
		d.tok([]string{"1.5", "-0", "1e9", "2E-3", "99999999999999999999999", "0.0e+1"}[d.IntN(6)])
	case 2:
		if depth < 4 {
			d.tok("{")
			for i := range d.IntN(3) {
				if i > 0 {
					d.tok(",")
				}
				d.str(words[d.IntN(len(words))])
				d.tok(":")
				d.any(depth + 1)
			}
			d.tok("}")
			return
		}
		fallthrough
	default:
		d.scalar()
	}
}

func (d *doc) predicate(depth int) {
	d.tok("{")
	switch k := d.IntN(6); {
	case k < 3 && depth < 3:
		d.str([]string{"or", "and", "not"}[k])
		d.tok(":")
		if k == 2 {
			d.predicate(depth + 1)
			break
		}
		d.tok("[")
		for i := range d.IntN(3) {
			if i > 0 {
				d.tok(",")
			}
			d.predicate(depth + 1)
		}
		d.tok("]")
	default:
		// In the order that sorting gives.
		first := true
		for _, c := range []string{"", "key", "v"} {
			if d.IntN(2) == 0 {
				continue
			}
			if !first {
				d.tok(",")
			}
			first = false
			d.str(c)
			d.tok(":")
			d.tok("{")
			d.str("<")
			d.tok(":")
			d.scalar()
			if d.IntN(2) == 0 {
				d.tok(",")
				d.str("in")
				d.tok(":")
				d.tok("[")
				d.scalar()
				d.tok(",")
				d.scalar()
				d.tok("]")
			}
			d.tok("}")
		}
	}
	d.tok("}")
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
	d.tok("[")
	switch k := d.IntN(8); k {
	case 0, 1, 2, 3:
		d.str([]string{"r", "w"}[k&1])
		d.tok(",")
		d.key(false)
		d.tok(",")
		d.value()
	case 4:
		d.str("a")
		d.tok(",")
		d.key(true)
		d.tok(",")
		d.scalar()
	case 5:
		d.str("r")
		d.tok(",")
		d.key(true)
		d.tok(",")
		if d.IntN(4) == 0 {
			d.tok("null")
			break
		}
		d.tok("[")
		for i := range d.IntN(4) {
			if i > 0 {
				d.tok(",")
			}
			if d.IntN(2) == 0 {
				d.int()
			} else {
				d.scalar()
			}
		}
		d.tok("]")
	case 6, 7:
		d.str([]string{"pr", "pw"}[k-6])
		d.tok(",")
		d.predicate(0)
		d.tok(",")
		d.tok("[")
		for i := range d.IntN(3) {
			if i > 0 {
				d.tok(",")
			}
			d.tok("[")
			d.key(false)
			for range 1 + (k-6)*d.IntN(2) {
				d.tok(",")
				d.value()
			}
			d.tok("]")
		}
		d.tok("]")
	}
	if d.IntN(3) == 0 {
		start := d.Int64N(1 << 60)
		d.tok(",")
		d.tok(strconv.FormatInt(start, 10))
		d.tok(",")
		if d.odd() {
			d.tok("null")
		} else {
			d.tok(strconv.FormatInt(start+d.Int64N(1000), 10))
		}
	}
	d.tok("]")
}

func (d *doc) header() {
	fields := []func(){
		func() { d.str("version"); d.tok(":"); d.tok("1") },
		func() { d.str("format"); d.tok(":"); d.str("isovet-history") },
		func() { d.str("name"); d.tok(":"); d.str(words[d.IntN(len(words))]) },
		func() { d.str("initial"); d.tok(":"); d.value() },
		func() { d.str("model"); d.tok(":"); d.str([]string{"register", "list"}[d.IntN(2)]) },
		func() { d.str("ops"); d.tok(":"); d.any(0) }, // unknown in a header
		func() { d.str("db"); d.tok(":"); d.str("d") },
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
	d.tok("{")
	for i, f := range chosen {
		if i > 0 {
			d.tok(",")
		}
		if d.odd() {
			d.str("unknown" + strconv.Itoa(d.IntN(9)))
			d.tok(":")
			d.any(0)
			d.tok(",")
		}
		f()
	}
	d.tok("}")
}

func (d *doc) txn(id int, init bool) {
	field := func(name string, n int64) func() {
		return func() { d.str(name); d.tok(":"); d.tok(strconv.FormatInt(n, 10)) }
	}
	start := d.Int64N(1 << 60)
	fields := []func(){
		func() {
			d.str("ops")
			d.tok(":")
			d.tok("[")
			for i := range d.IntN(6) {
				if i > 0 {
					d.tok(",")
				}
				if init {
					d.tok("[")
					d.str("w")
					d.tok(",")
					d.key(false)
					d.tok(",")
					d.value()
					d.tok("]")
					continue
				}
				d.op()
			}
			d.tok("]")
		},
		field("id", int64(id)),
		field("session", d.Int64N(4)-1),
		field("start", start),
		field("commit", start+5),
		field("end", start+9),
		field("start_ts", start),
		field("commit_ts", start),
		func() {
			d.str("status")
			d.tok(":")
			s := "committed"
			if !init {
				s = []string{"committed", "aborted", "unknown"}[d.IntN(3)]
			}
			d.str(s)
		},
		func() { d.str("node"); d.tok(":"); d.str(words[d.IntN(len(words))]) },
		func() { d.str("name"); d.tok(":"); d.str(words[d.IntN(len(words))]) },
		func() { d.str("init"); d.tok(":"); d.tok("false") },
	}
	if init {
		fields[len(fields)-1] = fields[1]
		fields[1] = func() { d.str("init"); d.tok(":"); d.tok("true") }
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

// readTolerant reads every line with the tolerant reader.
func readTolerant(data []byte) (*history.History, error) {
	p := newParser("t")
	for _, line := range bytes.Split(data, []byte("\n")) {
		p.lines++
		if blank(line) {
			continue
		}
		if err := p.tol.line(line, 0); err != nil {
			return nil, err
		}
		p.any = true
	}
	return p.finish(1)
}

// readPieces reads as ReadParallel does, but cuts the data into many small pieces.
func readPieces(data []byte, cuts *rand.Rand) (*history.History, error) {
	first := newParser("t")
	data = first.skipBlank(data)
	p := first
	for base := uint32(0); ; {
		end := len(data)
		if nl := bytes.IndexByte(data[cuts.IntN(len(data)+1):], '\n'); nl >= 0 {
			end = len(data) - len(data[cuts.IntN(len(data)+1):])
			if nl = bytes.IndexByte(data[end:], '\n'); nl >= 0 {
				end += nl + 1
			} else {
				end = len(data)
			}
		}
		if err := p.run(context.Background(), data[:end]); err != nil {
			return nil, err
		}
		if p != first {
			first.b.Merge(p.b, base)
		}
		base += p.lines
		if data = data[end:]; len(data) == 0 {
			return first.finish(2)
		}
		p = newParser("t")
		p.any = true
	}
}

func sameLines(a, b *history.History) bool {
	for t, l := range a.Txns.Line {
		if b.Txns.Line[t] != l {
			return false
		}
	}
	return true
}

// TestRandomDocuments feeds thousands of documents to the scanner with its fall-back, to the tolerant reader alone, to
// a reader by pieces, to the stream reader with short reads, and to the twin on encoding/json; all must agree, and so
// must what is written and read again.
func TestRandomDocuments(t *testing.T) {
	scanned := 0
	for seed := range uint64(4000) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		d := doc{Rand: rnd, wild: []int{0, 0, 200, 40, 5}[seed%5]}
		data := d.document()
		h, err := Read(data, "t")
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, data)
		}
		if len(data) > 2*scanMargin {
			scanned++
		}
		check := func(who string, g *history.History, err error, lines bool) {
			t.Helper()
			if err != nil {
				t.Fatalf("seed %d: %s: %v\n%s", seed, who, err, data)
			}
			if diff := diff.Histories(h, g); diff != "" {
				t.Fatalf("seed %d: %s: %s\n%s", seed, who, diff, data)
			}
			if lines && !sameLines(h, g) {
				t.Fatalf("seed %d: %s: lines %v and %v\n%s", seed, who, h.Txns.Line, g.Txns.Line, data)
			}
		}
		check("encoding/json", readNaive(data), nil, true)
		g, err := readTolerant(data)
		check("tolerant", g, err, true)
		g, err = readPieces(data, rnd)
		check("pieces", g, err, true)
		g, err = ReadFrom(t.Context(), iotest.OneByteReader(bytes.NewReader(data)), "t")
		check("stream", g, err, true)
		var buf bytes.Buffer
		if err := Write(&buf, h); err != nil {
			t.Fatal(err)
		}
		g, err = Read(buf.Bytes(), "t")
		check("written", g, err, false)
	}
	if scanned < 1000 {
		t.Errorf("only %d documents were long enough for the scanner", scanned)
	}
}

// What compact documents hold must not need the tolerant reader: else it is only fast by accident.
func TestScannerReadsCompactDocuments(t *testing.T) {
	var out []byte
	for i := range 100 {
		out = fmt.Appendf(out, `{"id":%d,"session":-%d,"seq":%d,"status":"aborted","start":1795229138282797876,"commit":1795229138282797877,"end":1795229138282797878,"start_ts":1,"commit_ts":2,"node":"n","name":"T","init":false,"ops":[["r",1,2],["w","x",-9],["a","l",3,1,2],["r","l",[1,2,3]],["r","l",[]],["r",9223372036854775807,null],["w",1,"s"],["r",12345678,true],["w",1,false]]}`+"\n", i, i, i)
	}
	out = append(out, bytes.Repeat([]byte(" "), scanMargin)...)
	p := newParser("t")
	n := 0
	for i := 0; out[i] != ' '; n++ {
		p.lines++
		if i = p.scan(out, i); i == 0 {
			t.Fatalf("transaction %d: the scanner gave up", n)
		}
	}
	if n != 100 || p.b.NumOps() != 900 {
		t.Errorf("%d transactions, %d operations", n, p.b.NumOps())
	}
}

func TestIntegerScan(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := range 200_000 {
		n := rnd.Int64() >> rnd.IntN(64)
		if i%2 == 0 {
			n = -n
		}
		s := strconv.FormatInt(n, 10)
		tail := []byte(",]}x./:;\xff\x00 "[rnd.IntN(11):])
		got, end := integer(append(append([]byte(s), tail...), make([]byte, 32)...), 0)
		if got != n || end != len(s) {
			t.Fatalf("%s%q: got %d, %d", s, tail, got, end)
		}
	}
	for _, s := range []string{"", "-", "x", "01", "-01", "00", "9223372036854775808", "-9223372036854775808",
		"99999999999999999999", "111111111111111111111111", "12345678901234567890123456789012"} {
		if n, end := integer(append([]byte(s), make([]byte, 32)...), 0); end != 0 {
			t.Errorf("%q: got %d, %d; want none", s, n, end)
		}
	}
}
