package native

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cespare/xxhash/v2"

	"isovet/datasets"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	_ "isovet/internal/test/memdir"
	"isovet/internal/test/must"
)

// misaligned returns a copy of data at an odd address.
func misaligned(data []byte) []byte {
	b := buffer(len(data) + 1)[1:]
	copy(b, data)
	return b
}

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	n := 0
	histories(t, randtest.Long[uint64](300, 800), func(t testing.TB, name string, h *history.History) {
		data := written(t, name, h)
		check := func(how string, g *history.History, err error) {
			t.Helper()
			must.OK(t, err, "%s: %s", name, how)
			must.Equal(t, differs(h, g), "", "%s: %s", name, how)
			must.Hold(t, bytes.Equal(written(t, name, g), data), "%s: %s: written again, it is another file", name, how)
		}
		g, err := Read(t.Context(), data, "f", 1)
		check("in place", g, err)
		diff.Same(t, h, g, "%s", name)
		g, err = read(t.Context(), data, "f", 3, false)
		check("copied", g, err)
		g, err = Read(t.Context(), misaligned(data), "f", 2)
		check("not aligned", g, err)
		g, err = ReadFrom(t.Context(), iotest.HalfReader(bytes.NewReader(data)), "f", 2)
		check("stream", g, err)
		if n++; n%20 == 0 {
			path := filepath.Join(dir, "h.ivh")
			must.OK(t, os.WriteFile(path, data, 0o600))
			g, err = ReadFile(t.Context(), path, 2)
			check("file", g, err)
			must.Equal(t, g.File, path, "%s: the history's file", name)
			os.Remove(path)
		}
	})
}

// A history of several blocks, whose offsets go across them.
func TestRoundTripLarge(t *testing.T) {
	h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "blindw", Variant: "WR", Txns: 33_000,
		DBTimes: true, AbortRate: 0.1, UnknownRate: 0.1}))(t)
	if h.NumOps() < 3*blockRows || h.NumTxns() < blockRows {
		t.Fatalf("%d operations of %d transactions; expected several blocks", h.NumOps(), h.NumTxns())
	}
	data := written(t, "large", h)
	for _, view := range []bool{true, false} {
		g := must.Get(read(t.Context(), data, "f", 4, view))(t)
		must.Equal(t, differs(h, g), "", "mapped")
	}
	g := must.Get(ReadFrom(t.Context(), bytes.NewReader(data), "f", 2))(t)
	must.Equal(t, differs(h, g), "", "read")
	r := rand.New(rand.NewPCG(1, 1))
	for range histtest.Long(5, 200) {
		i, bit := r.IntN(len(data)), byte(1)<<r.IntN(8)
		data[i] ^= bit
		g, err := Read(t.Context(), data, "f", 2)
		refusedOrSame(t, len(data), "large", h, g, err)
		data[i] ^= bit
		_, err = Read(t.Context(), data[:r.IntN(len(data))], "f", 2)
		refused(t, len(data), "large", err)
	}
}

// What Read returns must be usable wherever what jsonl.Read returns is: the texts can be interned into, and JSON lines
// can be written.
func TestLoadedHistoryWorks(t *testing.T) {
	histories(t, randtest.Long[uint64](120, 300), func(t testing.TB, name string, h *history.History) {
		g := must.Get(Read(t.Context(), written(t, name, h), "f", 1))(t)
		var x, y bytes.Buffer
		must.OK(t, jsonl.Write(&x, h))
		must.OK(t, jsonl.Write(&y, g))
		if !bytes.Equal(x.Bytes(), y.Bytes()) {
			t.Fatalf("%s: as JSON lines:\n%s\nand\n%s", name, x.Bytes(), y.Bytes())
		}
		n := uint32(g.Texts.Len())
		for i := range n {
			if h.Texts.IsPacked(i) {
				continue // no string is that
			}
			must.Same(t, g.Texts.Intern(h.Texts.Text(i)), i, "%s: a text", name)
		}
		for i := range uint32(100) {
			s := []byte(strings.Repeat("new", int(i)+1))
			if j := g.Texts.Intern(s); j != n+i || string(g.Texts.Text(j)) != string(s) || g.Texts.Intern(s) != j ||
				g.Texts.Hash(j) != xxhash.Sum64(s) {
				t.Fatalf("%s: new text %d is at %d: %q", name, i, j, g.Texts.Text(j))
			}
		}
		if d := differs(h, g); n != uint32(h.Texts.Len()) || !strings.Contains(d, "texts") {
			t.Fatalf("%s: after interning: %q", name, d)
		}
	})
}

// refused demands an error about the input that says where.
func refused(t testing.TB, size int, what string, err error) {
	t.Helper()
	in, ok := errors.AsType[*history.InputError](err)
	must.Hold(t, ok, "%s: error %v; expected one about the input", what, err)
	must.Hold(t, in.File == "f" && in.Line == 0 && in.Off >= 0 && in.Off <= int64(size) && in.Msg != "",
		"%s: error %#v of a file of %d bytes; expected file and offset", what, in, size)
}

func refusedOrSame(t testing.TB, size int, what string, h, g *history.History, err error) {
	t.Helper()
	if err != nil {
		refused(t, size, what, err)
	} else if d := differs(h, g); d != "" {
		t.Fatalf("%s: another history: %s", what, d)
	}
}

// Every byte of a file, altered, and every place that it can be cut off at.
func TestCorruption(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	same := 0
	histtest.Each(t, 5, func(seed uint64) *history.History {
		return random.Anything(seed, true)
	}, func(t testing.TB, seed uint64, h *history.History) {
		data := written(t, "random", h)
		for i := range data {
			old := data[i]
			for _, x := range []byte{1 << r.IntN(8), 0xff, byte(1 + r.IntN(255))} {
				data[i] = old ^ x
				g, err := Read(t.Context(), data, "f", 1)
				refusedOrSame(t, len(data), "flipped", h, g, err)
				if err == nil {
					same++
				}
			}
			data[i] = old
			_, err := Read(t.Context(), data[:i], "f", 1)
			refused(t, i, "cut off", err)
			_, err = ReadFrom(t.Context(), bytes.NewReader(data[:i]), "f", 1)
			refused(t, i, "cut off stream", err)
		}
		for _, more := range []string{"\x00", "\x89IVH", string(data)} {
			longer := append(bytes.Clone(data), more...)
			_, err := Read(t.Context(), longer, "f", 1)
			refused(t, len(longer), "longer", err)
			_, err = ReadFrom(t.Context(), bytes.NewReader(longer), "f", 1)
			refused(t, len(longer), "longer stream", err)
		}
	})
	histtest.Mix(t, same > 0, "%d altered files were read; expected every byte to count", same)
}

func TestMessages(t *testing.T) {
	h := random.Anything(1, true)
	data := written(t, "random", h)
	for _, c := range []struct {
		name  string
		alter func(b []byte) []byte
		want  string
	}{
		{"empty", func(b []byte) []byte { return nil },
			"f:byte 0: truncated: the file ends after 0 bytes; expected 64"},
		{"text", func(b []byte) []byte { return []byte(`{"format":"isovet-history"}`) },
			"f:byte 0: does not begin as a native history does"},
		{"short", func(b []byte) []byte { return b[:40] }, "f:byte 40: truncated: the file ends after 40 bytes; " +
			"expected 64"},
		{"cut", func(b []byte) []byte { return b[:100] }, "f:byte 100: truncated: the file ends after 100 bytes"},
		{"version", func(b []byte) []byte { b[8] = 4; return b },
			`f:byte 8: field "version": version 4 of the native format; expected 1 to 3`},
		{"header", func(b []byte) []byte { b[17]++; return b },
			`f:byte 0: field "header": corrupt: the checksum of the header is wrong`},
		{"table", func(b []byte) []byte { b[70]++; return b },
			`f:byte 64: field "table": corrupt: the checksum of the table of sections is wrong`},
		{"section", func(b []byte) []byte { b[len(b)-1]++; return b }, `corrupt: the checksum of the section is wrong`},
	} {
		_, err := Read(t.Context(), c.alter(bytes.Clone(data)), "f", 1)
		must.Be(t, err != nil && strings.Contains(err.Error(), c.want), "%s: %v; expected %s", c.name, err, c.want)
	}
}

// A header with right checksums that promises more than there is must not cost memory.
func TestHugePromise(t *testing.T) {
	head := header{version: 1, sections: 3, size: 1 << 50, init: history.None}
	data := append(head.append(nil), make([]byte, 4000)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ReadFrom(t.Context(), bytes.NewReader(data), "f", 1)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "truncated") {
		t.Fatal(err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("%d bytes allocated for %d bytes of input", n, len(data))
	}
}

func TestStreamErrors(t *testing.T) {
	data := written(t, "random", random.Anything(4, true))
	for _, n := range []int{0, 10, 64, 100, len(data) - 1, len(data)} {
		r := io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(errors.New("the disk is gone")))
		_, err := ReadFrom(t.Context(), r, "f", 1)
		refused(t, n, "stream", err)
		must.Be(t, strings.Contains(err.Error(), "the disk is gone"), "after %d bytes: %v", n, err)
	}
}

func TestCancel(t *testing.T) {
	data := written(t, "random", random.Anything(4, true))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, data, "f", 2); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := ReadFrom(ctx, bytes.NewReader(data), "f", 2); !errors.Is(err, context.Canceled) {
		t.Errorf("stream: error %v", err)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "none"), dir} {
		_, err := ReadFile(t.Context(), path, 1)
		if in, ok := errors.AsType[*history.InputError](err); !ok || in.File != path {
			t.Errorf("%s: error %v", path, err)
		}
	}
	path := filepath.Join(dir, "empty")
	must.OK(t, os.WriteFile(path, nil, 0o600))
	if _, err := ReadFile(t.Context(), path, 1); err == nil || !strings.Contains(err.Error(), "truncated") {
		t.Errorf("empty file: error %v", err)
	}
}

// Write refuses what Read would refuse.
func TestWriteRefuses(t *testing.T) {
	for name, spoil := range map[string]func(h *history.History){
		"version out of range": func(h *history.History) { h.Ops.Ver[0] = 999 },
		"columns of two sizes": func(h *history.History) { h.Txns.Sess = h.Txns.Sess[1:] },
		"session twice":        func(h *history.History) { h.SessTxn[0] = h.SessTxn[1] },
		"no such level": func(h *history.History) {
			h.Texts = history.NewTexts([]byte("best"), []uint32{0, 4})
			h.Txns.Level = make([]uint32, h.NumTxns())
		},
	} {
		h := random.Medium(1, random.Options{})
		spoil(h)
		if err := Write(io.Discard, h); err == nil || !strings.Contains(err.Error(), "cannot be written") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestWriteError(t *testing.T) {
	h := random.Anything(4, true)
	size := len(written(t, "random", h))
	for n := range size {
		w := &limited{n: n}
		if err := Write(w, h); !errors.Is(err, io.ErrShortWrite) {
			t.Fatalf("after %d of %d bytes: error %v", n, size, err)
		}
	}
}

type limited struct{ n int }

func (w *limited) Write(b []byte) (int, error) {
	if w.n -= len(b); w.n < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

// TestRowTwice: a file whose predicate operation names a version of a row twice is refused, one in two versions is not.
func TestRowTwice(t *testing.T) {
	h := must.Get(jsonl.Read([]byte(`{"ops":[["pr",{"":{">":4}},[["x",5],["y",5],["x",6]]]]}`), ""))(t)
	read := func() error {
		var b bytes.Buffer
		if err := Write(&b, h); err != nil {
			return err
		}
		_, err := Read(t.Context(), b.Bytes(), "f", 1)
		return err
	}
	must.OK(t, read())
	h.Preds.Old = slices.Clone(h.Preds.Old)
	h.Preds.Old[2] = h.Preds.Old[0]
	if err := read(); err == nil || !strings.Contains(err.Error(), `names the row "x" = 5 twice`) {
		t.Errorf("one version twice: %v", err)
	}
}

// packed is the naive twin of the checks of rows that stand packed.
func packed(t *history.Texts, x *rest) bool {
	if x.shapes == nil {
		return true
	}
	skeleton := regexp.MustCompile(`(?s)^\{"[^"\\]*":(,"[^"\\]*":)*\}$`)
	text := func(id uint32) []byte { return x.arena[x.textOff[id]:x.textOff[id+1]] }
	for _, s := range x.shapes {
		if int(s) >= t.Len() {
			return false
		}
	}
	for id := range uint32(t.Len()) {
		b := text(id)
		if len(b) == 0 || b[0] != 0xff || len(b) > 1 && b[1] == 0 {
			continue
		}
		if len(b) < 3 {
			return false
		}
		r := bytes.NewReader(b[2:])
		shape, err := binary.ReadUvarint(r)
		if err != nil || shape >= uint64(len(x.shapes)) {
			return false
		}
		s := text(x.shapes[shape])
		if columns := bytes.Count(s, []byte(`":`)); !skeleton.Match(s) || columns != int(b[1]) {
			return false
		}
		codes := make([]byte, (int(b[1])+3)/4)
		if _, err := io.ReadFull(r, codes); err != nil {
			return false
		}
		size := 0
		for i := range int(b[1]) {
			size += 1 << (codes[i/4] >> (i % 4 * 2) & 3)
		}
		if r.Len() != size {
			return false
		}
	}
	return true
}
