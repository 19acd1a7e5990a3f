package fressian

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"strings"
	"testing"

	"isovet/history"
	"isovet/history/format/jepsen"
	"isovet/internal/test/must"
)

// Small writers of Fressian: each returns the bytes of a value.
type bin = []byte

func join(parts ...bin) bin { return bytes.Join(parts, nil) }

// number writes an integer in the shortest form, as Fressian's writer does.
func number(n int64) bin {
	switch {
	case n == -1:
		return bin{0xff}
	case 0 <= n && n < 0x40:
		return bin{byte(n)}
	}
	for more, high := range map[int]int64{1: 0x50, 2: 0x68, 3: 0x72, 4: 0x76, 5: 0x7a, 6: 0x7e} {
		top := n >> (8 * more)
		lo := map[int]int64{1: -0x10, 2: -8, 3: -2, 4: -2, 5: -2, 6: -2}[more]
		if top < lo || top >= -lo || more > 1 && fits(n, more-1) {
			continue
		}
		b := binary.BigEndian.AppendUint64(nil, uint64(n))
		return join(bin{byte(high + top)}, b[8-more:])
	}
	return binary.BigEndian.AppendUint64(bin{0xf8}, uint64(n))
}

func fits(n int64, more int) bool {
	lo := map[int]int64{1: -0x10, 2: -8, 3: -2, 4: -2, 5: -2, 6: -2}[more]
	return n>>(8*more) >= lo && n>>(8*more) < -lo
}

func text(s string) bin {
	if len(s) < 8 {
		return append(bin{byte(0xda + len(s))}, s...)
	}
	return join(bin{0xe3}, number(int64(len(s))), bin(s))
}

func keyword(s string) bin { return join(bin{0xca, 0xf7}, text(s)) }

func cached(v bin) bin { return join(bin{0xcd}, v) }

func list(vs ...bin) bin {
	if len(vs) < 8 {
		return join(append([]bin{{byte(0xe4 + len(vs))}}, vs...)...)
	}
	return join(append([]bin{{0xec}, number(int64(len(vs)))}, vs...)...)
}

func mapOf(kvs ...bin) bin { return join(bin{0xc0}, list(kvs...)) }

func tagged(tag string, fields ...bin) bin {
	return join(bin{0xef}, text(tag), number(int64(len(fields))), join(fields...))
}

// The text of each value, by the codes of org.fressian.impl.Codes.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		in   bin
		want string
	}{
		{bin{0xf7}, "nil"}, {bin{0xf5}, "true"}, {bin{0xf6}, "false"}, {bin{0xfb}, "0.0"}, {bin{0xfc}, "1.0"},
		{join(bin{0xfa}, binary.BigEndian.AppendUint64(nil, math.Float64bits(2.5))), "2.5"},
		{join(bin{0xf9}, binary.BigEndian.AppendUint32(nil, math.Float32bits(-3))), "-3.0"},
		{join(bin{0xfa}, binary.BigEndian.AppendUint64(nil, math.Float64bits(math.NaN()))), "##NaN"},
		{text("héllo"), `"héllo"`}, {text(`a"b\` + "\n"), `"a\"b\\\n"`}, {text("long enough"), `"long enough"`},
		{join(bin{0xe2}, number(3), bin("abc"), text("d")), `"abcd"`},
		{text("\xed\xa0\xbd\xed\xb8\x80"), `"😀"`}, // two surrogates
		{join(bin{0xe2}, number(3), bin("\xed\xa0\xbd"), bin{0xdd}, bin("\xed\xb8\x80")), `"😀"`},
		{text("\xed\xa0\xbd"), "\"\uFFFD\""},
		{keyword("ok"), ":ok"}, {join(bin{0xca}, text("a"), text("b")), ":a/b"}, {keyword("a b"), `"a b"`},
		{join(bin{0xc9, 0xf7}, text("sym")), "sym"},
		{list(), "[]"}, {list(number(1), list()), "[1 [] ]"}, {join(bin{0xee}, number(1), bin{0xfd}), "[1 ]"},
		{mapOf(keyword("a"), number(1)), "{:a 1 }"}, {join(bin{0xc1}, list(number(3))), "#{3 }"},
		{tagged("persistent-hash-set", list(number(3))), "#{3 }"}, {tagged("persistent-sorted-set", bin{0xf7}), "#{}"},
		{tagged("map-entry", number(1), number(2)), "[1 2 ]"}, {tagged("ratio", number(1), number(3)), "1/3"},
		{tagged("mine", number(1), number(2)), "#mine [1 2 ]"}, {tagged("record", text("c"), mapOf()), "{}"},
		{tagged("vec", list(number(1))), "[1 ]"}, {tagged("block-ref", number(7)), "#block-ref 7"},
		{join(bin{0xb0, 2}, number(1), number(-1)), "[1 -1 ]"},
		{join(bin{0xc6}, bin{0xd2, 0xff, 0x00}), "-256N"}, {join(bin{0xc7, 0xd1, 15, 1}), "15E-1M"},
		{join(bin{0xc8}, number(1000)), `#inst "1970-01-01T00:00:01Z"`},
		{bin{0xd9, 2, 0xab, 0xcd}, `#bytes "abcd"`},
		// A cached value, by its short and its long reference; a struct by its place; what resets both.
		{list(cached(keyword("a")), cached(text("b")), bin{0x80}, bin{0xcc, 1}), `[:a "b" :a "b" ]`},
		{list(cached(list(cached(number(5)))), bin{0x81}, bin{0x80}), "[[5 ] 5 [5 ] ]"},
		{list(tagged("t", number(1)), bin{0xa0, 2}, bin{0xf0, 0, 3}), "[#t 1 #t 2 #t 3 ]"},
		{list(cached(number(5)), join(bin{0xfe}, cached(number(6))), bin{0x80}), "[5 6 6 ]"},
	} {
		d := decoder{data: c.in, most: 1 << 20}
		err := d.value()
		must.Be(t, err == nil && string(d.out) == c.want && d.pos == len(c.in),
			"%x: %q, %v, %d of %d bytes; want %q", c.in, d.out, err, d.pos, len(c.in), c.want)
	}
	for shift := range 64 {
		for _, n := range []int64{1 << shift, -1 << shift, 1<<shift - 1, -1<<shift - 1, math.MinInt64} {
			d := decoder{data: number(n), most: 100}
			if err := d.value(); err != nil || string(d.out) != fmt.Sprint(n) {
				t.Errorf("%d as %x: %q, %v", n, number(n), d.out, err)
			}
		}
	}
}

// block writes a block.
func block(typ uint16, data bin) bin {
	b := binary.BigEndian.AppendUint64(nil, uint64(header+len(data)))
	b = append(b, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, typ)
	b = append(b, make([]byte, 14)...)
	sum := crc32.ChecksumIEEE(append(bytes.Clone(data), b...))
	binary.BigEndian.PutUint32(b[8:], sum)
	return append(b, data...)
}

// testFile writes a test.jepsen of blocks by their numbers; the first is the root.
func testFile(blocks ...bin) bin {
	f := append(bin(magic), 0, 0, 0, 1)
	f = binary.BigEndian.AppendUint64(f, 0)
	index := binary.BigEndian.AppendUint32(nil, 1)
	for i, b := range blocks {
		index = binary.BigEndian.AppendUint32(index, uint32(i+1))
		index = binary.BigEndian.AppendUint64(index, uint64(len(f)))
		f = append(f, b...)
		f = append(f, 0xaa) // padding
	}
	binary.BigEndian.PutUint64(f[10:], uint64(len(f)))
	return append(f, block(indexBlock, index)...)
}

func vectorOf(n int64, parts ...int64) bin { // first index, number, …
	b := binary.BigEndian.AppendUint64(nil, uint64(n))
	for i := 0; i < len(parts); i += 2 {
		b = binary.BigEndian.AppendUint64(b, uint64(parts[i]))
		b = binary.BigEndian.AppendUint32(b, uint32(parts[i+1]))
	}
	return b
}

func op(index, process int64, typ string, value, rest bin) bin {
	return opOf("txn", index, process, typ, value, rest)
}

func opOf(f string, index, process int64, typ string, value, rest bin) bin {
	return tagged("jepsen.history.Op", number(index), number(index*1000), cached(keyword(typ)), number(process),
		cached(keyword(f)), value, rest)
}

// bank is a test of a bank whose one read lacks 5 of the 20 that the test's map says.
func bank() bin {
	root := mapOf(keyword("history"), tagged("block-ref", number(2)), keyword("total-amount"), number(20),
		keyword("accounts"), list(number(0), number(1)))
	ops := join(opOf("read", 0, 0, "invoke", bin{0xf7}, bin{0xf7}),
		opOf("read", 1, 0, "ok", mapOf(number(0), number(10), number(1), number(5)), bin{0xf7}))
	return testFile(block(valueBlock, root), block(vectorBlock, vectorOf(2, 0, 3)), block(streamBlock, ops))
}

func micro(f string, k, v bin) bin { return list(keyword(f), k, v) }

// sample is a test of four operations in two chunks, and a nemesis'.
func sample() bin {
	root := mapOf(keyword("name"), text("list-append"), keyword("history"), tagged("block-ref", number(2)),
		keyword("results"), tagged("block-ref", number(9)), keyword("accounts"), list(number(0), number(1)))
	first := join(op(0, 0, "invoke", list(micro("append", number(1), number(7))), bin{0xf7}),
		op(1, 0, "ok", list(micro("append", number(1), number(7))), mapOf(keyword("node"), text("n1"))))
	nemesis := tagged("jepsen.history.Op", number(2), number(2000), keyword("info"), keyword("nemesis"),
		keyword("start"), mapOf(keyword("x"), tagged("what", number(1), number(2))), bin{0xf7})
	second := join(nemesis, op(3, 1, "invoke", list(micro("r", number(1), bin{0xf7})), bin{0xf7}),
		op(4, 1, "ok", list(micro("r", number(1), list(number(7), number(8)))), bin{0xf7}))
	return testFile(block(valueBlock, root), block(vectorBlock, vectorOf(5, 0, 3, 2, 4)), block(streamBlock, first),
		block(streamBlock, second))
}

func TestBlocks(t *testing.T) {
	edn := must.Get(EDN(sample(), "test.jepsen"))(t)
	h := must.Get(jepsen.Read(edn, "test.jepsen", jepsen.Options{}))(t)
	// The file that the tests of the formats read.
	if file, err := os.ReadFile("testdata/test.jepsen"); err != nil || !bytes.Equal(file, sample()) {
		t.Errorf("testdata/test.jepsen is not the sample: %v", err)
	}
	if h.NumTxns() != 2 || !h.HasLists() || h.Txns.Start[1] != 3000 || h.Txns.Line[1] != 5 {
		t.Errorf("%d transactions, starts %v, lines %v in\n%s", h.NumTxns(), h.Txns.Start, h.Txns.Line, edn)
	}
	must.Be(t, bytes.Contains(edn, []byte(":accounts [0\n1\n]")) && bytes.Contains(edn, []byte(`:node "n1"`)),
		"the test's map is lost in\n%s", edn)
	if file, err := os.ReadFile("../../operations/testdata/bank.jepsen"); err != nil || !bytes.Equal(file, bank()) {
		t.Errorf("bank.jepsen is not the bank: %v", err)
	}
	if rest, err := Test(bank(), "f"); err != nil || bytes.Contains(rest, []byte(":invoke")) ||
		!bytes.Contains(rest, []byte(":total-amount 20")) {
		t.Errorf("the map without its history is %q, %v", rest, err)
	}
	// The older form: a vector of maps without index in one block; and test.fressian, with the history in its map.
	maps := list(mapOf(keyword("type"), keyword("ok"), keyword("process"), number(3), keyword("f"), keyword("txn"),
		keyword("value"), list(micro("w", number(1), number(2)))))
	root := mapOf(keyword("history"), tagged("block-ref", number(2)))
	value := mapOf(keyword("name"), text("old"), keyword("history"), maps)
	must.Be(t, IsValue(value) && !IsValue(bin{0xc0, 0xe6, 1, 2}) && Is(sample()),
		"a test.fressian is not told from other bytes")
	for name, file := range map[string]bin{"test.jepsen": testFile(block(valueBlock, root), block(valueBlock, maps)),
		"test.fressian": value} {
		edn := must.Get(EDN(file, name))(t)
		if h, err := jepsen.Read(edn, name, jepsen.Options{}); err != nil || h.NumTxns() != 1 {
			t.Errorf("%v: %v in\n%s", name, err, edn)
		}
	}
	// A map in two parts.
	part := join(bin{0, 0, 0, 2}, mapOf(keyword("history"), list()))
	file := testFile(block(partialMap, part), block(valueBlock, mapOf(keyword("name"), text("x"))))
	if edn, err := EDN(file, "f"); err != nil || !bytes.Contains(edn, []byte(`:name "x"`)) {
		t.Errorf("%q, %v", edn, err)
	}
}

// TestCorrupt: an error names the place in the file; no file makes more text than its share.
func TestCorrupt(t *testing.T) {
	bomb := []bin{cached(text(strings.Repeat("x", 100)))}
	for i := range 30 { // each says the one before twice
		bomb = append(bomb, cached(list(bin{0xcc, byte(i)}, bin{0xcc, byte(i)})))
	}
	of := func(b bin) bin {
		return testFile(block(valueBlock, mapOf(keyword("history"), tagged("block-ref", number(2)))), b)
	}
	flipped := sample()
	flipped[60] ^= 1
	noIndex := sample()
	copy(noIndex[10:18], make([]byte, 8))
	for name, c := range map[string]struct {
		file bin
		want string
	}{
		"checksum":     {flipped, "the file is damaged"},
		"no index":     {noIndex, "no index yet"},
		"version":      {append(bin("JEPSEN\x00\x00\x00\x07"), make([]byte, 8)...), "version 7"},
		"head":         {bin("JEPSEN\x00\x00"), "the place of its index"},
		"cut":          {sample()[:len(sample())-3], "expected"},
		"bomb":         {of(block(valueBlock, list(bomb...))), "64 times"},
		"deep":         {of(block(valueBlock, bytes.Repeat(bin{0xe5}, 5000))), "nested deeper"},
		"length":       {of(block(valueBlock, bin{0xe3, 0x7e, 1, 1, 1, 1, 1, 1})), "length"},
		"no cache":     {of(block(valueBlock, bin{0x85})), "the cache"},
		"no struct":    {of(block(valueBlock, bin{0xa5})), "struct of type"},
		"own cache":    {of(block(valueBlock, cached(list(bin{0x80})))), "the cache"},
		"fields":       {of(block(valueBlock, join(bin{0xef}, text("t"), number(1<<40)))), "struct of 1099511627776"},
		"twice":        {of(block(vectorBlock, vectorOf(0, 0, 2))), "named again"},
		"no block":     {of(block(vectorBlock, vectorOf(1, 0, 8))), "no block 8"},
		"missing part": {of(block(vectorBlock, vectorOf(1, 5, 2))), "begins at element 5"},
		"count":        {of(block(vectorBlock, vectorOf(3))), "0 elements in the vector's parts; expected 3"},
		"type":         {of(block(77, nil)), "type 77"},
		"no history":   {testFile(block(valueBlock, mapOf())), "without :history"},
		"behind":       {of(block(valueBlock, join(list(), number(3)))), "behind the value"},
		"odd map":      {of(block(valueBlock, mapOf(number(3)))), "expected pairs"},
		"byte":         {of(block(valueBlock, bin{0xf3})), "0xf3"},
	} {
		_, err := EDN(c.file, "f.jepsen")
		in, ok := errors.AsType[*history.InputError](err)
		must.Be(t, ok && strings.Contains(err.Error(), c.want) && in.Off >= 0, "%s: %v; want %q", name, err, c.want)
	}
}

// Whatever the bytes: text that the reader of EDN takes or refuses, or an input error.
func FuzzEDN(f *testing.F) {
	f.Add(sample())
	f.Add(mapOf(keyword("history"), list(mapOf(keyword("type"), keyword("ok")))))
	f.Fuzz(func(t *testing.T, data []byte) {
		IsValue(data)
		for _, file := range [][]byte{data, testFile(block(valueBlock, data)), testFile(block(valueBlock,
			mapOf(keyword("history"), tagged("block-ref", number(2)))), block(streamBlock, data))} {
			edn, err := EDN(file, "f")
			if err != nil {
				if _, ok := errors.AsType[*history.InputError](err); !ok {
					t.Fatalf("%v is no input error", err)
				}
				continue
			}
			must.Hold(t, len(edn) <= 66*len(file)+2<<20, "%d bytes of %d", len(edn), len(file))
			if _, err := jepsen.Read(edn, "f", jepsen.Options{}); err != nil {
				if _, ok := errors.AsType[*history.InputError](err); !ok {
					t.Fatalf("%v is no input error", err)
				}
			}
		}
	})
}
