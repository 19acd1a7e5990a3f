package native

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"isovet/datasets"
	"isovet/history"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// histories calls f with random histories of every kind.
func histories(t *testing.T, n uint64, f func(t testing.TB, name string, h *history.History)) {
	randtest.Seeds(t, n, func(t testing.TB, seed uint64) {
		f(t, fmt.Sprintf("random, seed %d", seed), random.Anything(seed, true))
		f(t, fmt.Sprintf("tiny, seed %d", seed), random.Tiny(seed, random.Options{
			Duplicates: seed&1 > 0, Deletes: seed&2 > 0, Aborted: seed&4 > 0, Unknown: seed&8 > 0, NoTimes: seed&16 > 0,
		}))
		if seed%8 == 0 {
			f(t, fmt.Sprintf("medium, seed %d", seed), random.Medium(seed, random.Options{Unknown: true}))
		}
	})
	for _, s := range []string{"s1: w(x,1) | s2: r(x,1) w(y,2)", "s1: r(x,null)", "s1: w(x,1) w(x,null) r(x,null)"} {
		h := must.Get(notation.Parse(s))(t)
		f(t, s, h)
	}
	for _, a := range datasets.Anomalies() {
		f(t, a.Name, a.History())
	}
}

// written returns a file's content.
func written(t testing.TB, name string, h *history.History) []byte {
	var b bytes.Buffer
	must.OK(t, Write(&b, h), "%s", name)
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
