package native

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"isovet/datasets"
	"isovet/history"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
)

// randomHistory makes a history that has, at random, everything that one can have.
func randomHistory(t testing.TB, seed uint64) *history.History {
	r := rand.New(rand.NewPCG(seed, 11))
	some := func() bool { return r.IntN(2) == 0 }
	b := history.NewBuilder()
	b.File = "made up"
	if some() {
		b.Meta = history.Meta{Name: "n", DB: "é", Note: "a\nb", Lists: some()}
	}
	value := func() history.Value {
		switch r.IntN(9) {
		case 0:
			return history.Value{}
		case 1:
			return history.BoolValue(some())
		case 2:
			return b.StringValue([]byte([]string{"", "x", "null", "日本", "\xff\x01"}[r.IntN(5)]))
		case 3:
			return b.RowValue([]byte([]string{`{}`, `{"a":1,"b":"\"q\\"}`,
				`{"c":null,"d":-12,"e":true,"f":false}`, `{"a":1}`, `{"a":-7777777,"é":3}`}[r.IntN(5)]))
		case 4:
			return history.IntValue(r.Int64() - r.Int64())
		}
		return history.IntValue(r.Int64N(6))
	}
	if some() {
		b.Initial = value()
	}
	lists, preds, rows, times, opTimes, init := some(), some(), some(), some(), some(), some()
	register := func() uint32 {
		if some() {
			return b.Key(b.StringValue([]byte{'a' + byte(r.IntN(3))}))
		}
		return b.Key(history.IntValue(r.Int64N(4)))
	}
	list := func() uint32 { return b.Key(b.StringValue([]byte{'l', '0' + byte(r.IntN(3))})) }
	op := func(onlyWrites bool) {
		kind := r.IntN(8)
		if onlyWrites {
			kind = 1
		}
		switch {
		case kind == 2 && lists:
			b.Append(list(), value())
		case kind == 3 && lists:
			elems := make([]history.Value, r.IntN(4))
			for i := range elems {
				elems[i] = value()
			}
			b.ReadList(list(), elems)
		case kind == 4 && lists:
			b.Read(list(), history.Value{})
		case kind > 5 && preds:
			k := []history.OpKind{history.PredRead, history.PredWrite}[kind-6]
			var found []history.PredRow // each row once
			for range r.IntN(4) {
				row := history.PredRow{Key: register(), Old: value(), New: value(), OldUnknown: kind == 7 && some()}
				if !slices.ContainsFunc(found, func(o history.PredRow) bool { return o.Key == row.Key }) {
					found = append(found, row)
				}
			}
			b.Predicate(k, []byte([]string{`{}`, `{"a":{"<":3}}`}[r.IntN(2)]), found)
		case kind&1 == 0:
			b.Read(register(), value())
		default:
			b.Write(register(), value())
		}
		if opTimes && some() {
			b.OpTimes(r.Int64N(100), r.Int64N(100))
		}
	}
	n := r.IntN(12)
	ids := r.Perm(n + 1)
	for i := range n {
		isInit := init && i == n/2
		for range r.IntN(6) {
			op(isInit)
		}
		h := history.NewTxnHead()
		if h.Init = isInit; !isInit {
			h.Status = history.Status(r.IntN(3))
		}
		if seed%3 > 0 {
			h.ID, h.HasID = int64(ids[i]), true
			if seed%3 == 2 {
				h.ID = h.ID*h.ID<<40 - 7
			}
		}
		h.Line = uint32(r.IntN(3) * (i + 2))
		if r.IntN(4) > 0 {
			h.Session, h.HasSess = r.Int64N(3)<<(r.IntN(2)*50)-1, true
		}
		if times && some() {
			h.Start = r.Int64N(100)
			h.End = h.Start + r.Int64N(9)
			if some() {
				h.Commit = h.Start
			}
			h.StartTS, h.CommitTS = r.Int64N(5), 5
		}
		if rows && some() {
			h.Node = b.Text([]byte("node"))
		}
		if rows && some() {
			h.Name = b.Text([]byte("name"))
		}
		b.EndTxn(h)
	}
	h, err := b.Build()
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	return h
}

// histories calls f with random histories of every kind.
func histories(t *testing.T, n uint64, f func(t testing.TB, name string, h *history.History)) {
	randtest.Seeds(t, n, func(t testing.TB, seed uint64) {
		f(t, fmt.Sprintf("random, seed %d", seed), randomHistory(t, seed))
		f(t, fmt.Sprintf("tiny, seed %d", seed), random.Tiny(seed, random.Options{
			Duplicates: seed&1 > 0, Deletes: seed&2 > 0, Aborted: seed&4 > 0, Unknown: seed&8 > 0, NoTimes: seed&16 > 0,
		}))
		if seed%8 == 0 {
			f(t, fmt.Sprintf("medium, seed %d", seed), random.Medium(seed, random.Options{Unknown: true}))
		}
	})
	for _, s := range []string{"s1: w(x,1) | s2: r(x,1) w(y,2)", "s1: r(x,null)", "s1: w(x,1) w(x,null) r(x,null)"} {
		h, err := notation.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		f(t, s, h)
	}
	for _, a := range datasets.Anomalies() {
		f(t, a.Name, a.History())
	}
}

// written returns a file's content.
func written(t testing.TB, name string, h *history.History) []byte {
	var b bytes.Buffer
	if err := Write(&b, h); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return b.Bytes()
}

// differs says in which column two histories differ, number for number; "" if in none. Their files may differ.
func differs(a, b *history.History) string {
	x, y := reflect.ValueOf(*a), reflect.ValueOf(*b)
	for i := range x.NumField() {
		switch name := x.Type().Field(i).Name; name {
		case "File":
		case "Texts":
			if a.Texts.Len() != b.Texts.Len() {
				return fmt.Sprintf("%d and %d texts", a.Texts.Len(), b.Texts.Len())
			}
			for i := range uint32(a.Texts.Len()) {
				if string(a.Texts.Text(i)) != string(b.Texts.Text(i)) || a.Texts.Hash(i) != b.Texts.Hash(i) &&
					!strings.HasPrefix(string(a.Texts.Text(i)), "\xff") {
					return fmt.Sprintf("text %d: %q and %q", i, a.Texts.Text(i), b.Texts.Text(i))
				}
			}
		default:
			if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
				return fmt.Sprintf("%s: %v and %v", name, x.Field(i), y.Field(i))
			}
		}
	}
	return ""
}

// reseal makes all checksums of a file right, as far as its table makes sense.
func reseal(data []byte) {
	le := binary.LittleEndian
	if len(data) < headerSize {
		return
	}
	end := uint64(headerSize)
	if n := le.Uint32(data[12:]); n <= maxSections {
		end += uint64(n) * entrySize
	}
	if end <= uint64(len(data)) {
		for e := headerSize; e < int(end); e += entrySize {
			width, off, size := uint64(le.Uint32(data[e+4:])), le.Uint64(data[e+8:]), le.Uint64(data[e+16:])
			if width == 0 || width > 1<<20 || off > uint64(len(data)) || size > uint64(len(data))-off {
				continue
			}
			b := data[off : off+size]
			var sums []byte
			for len(b) > 0 {
				n := min(uint64(len(b)), width*blockRows)
				sums = le.AppendUint64(sums, xxhash.Sum64(b[:n]))
				b = b[n:]
			}
			le.PutUint64(data[e+24:], xxhash.Sum64(sums))
		}
		le.PutUint64(data[24:], xxhash.Sum64(data[headerSize:end]))
	}
	le.PutUint64(data[56:], xxhash.Sum64(data[:56]))
}
