package jsonl

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/iotest"

	"isovet/history"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

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
	randtest.Seeds(t, randtest.Long[uint64](400, 4000), func(t testing.TB, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		d := doc{Rand: rnd, wild: []int{0, 0, 200, 40, 5}[seed%5]}
		data := d.document()
		h := must.Get(Read(data, "t"))(t)
		if len(data) > 2*scanMargin {
			scanned++
		}
		check := func(who string, g *history.History, err error, lines bool) {
			t.Helper()
			must.Hold(t, err == nil, "seed %d: %s: %v\n%s", seed, who, err, data)
			diff.Same(t, h, g, "seed %d: %s\n%s", seed, who, data)
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
		must.OK(t, Write(&buf, h))
		g, err = Read(buf.Bytes(), "t")
		check("written", g, err, false)
	})
	randtest.Mix(t, scanned < 350, "only %d documents were long enough for the scanner", scanned)
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
		must.Hold(t, got == n && end == len(s), "%s%q: got %d, %d", s, tail, got, end)
	}
	for _, s := range []string{"", "-", "x", "01", "-01", "00", "9223372036854775808", "-9223372036854775808",
		"99999999999999999999", "111111111111111111111111", "12345678901234567890123456789012"} {
		if n, end := integer(append([]byte(s), make([]byte, 32)...), 0); end != 0 {
			t.Errorf("%q: got %d, %d; want none", s, n, end)
		}
	}
}

// TestTimeScan: times are read as other integers are, whatever time came before.
func TestTimeScan(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 1))
	p := newParser("")
	short := 0
	for i := range 200_000 {
		n := 1_750_000_000_000_000_000 + rnd.Int64N(1<<rnd.IntN(40)+1)
		switch rnd.IntN(8) {
		case 0:
			n = rnd.Int64() >> rnd.IntN(64)
		case 1:
			n = -n
		case 2:
			n = 9_223_372_036_854_775_807 - rnd.Int64N(1<<rnd.IntN(40)+1)
		}
		b := []byte(strconv.FormatInt(n, 10))
		if rnd.IntN(4) == 0 {
			b[rnd.IntN(len(b))] = "0.-x],"[rnd.IntN(6)]
		} else if rnd.IntN(8) == 0 {
			b = append(b, "059"[rnd.IntN(3)])
		}
		if i == 0 {
			b = []byte("\x00\x00\x00\x00\x00\x00\x00\x0012345678901") // no digits, as no time was before
		}
		b = append(append(b, ",]}x./:;\xff\x00 "[rnd.IntN(11):]...), make([]byte, 32)...)
		got, end := p.time(b, 0)
		if want, behind := integer(b, 0); got != want || end != behind {
			t.Fatalf("%d, %q: got %d, %d; want %d, %d", i, b, got, end, want, behind)
		}
		if p.head == binary.LittleEndian.Uint64(b) {
			short++
		}
	}
	must.Be(t, short >= 50_000, "%d times began like the one before", short)
}
