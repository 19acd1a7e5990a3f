package jsonl

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/must"
)

// FuzzRead: reading never panics; the scanner with its fall-back and the tolerant reader alone agree, on errors too;
// and what is accepted survives writing and reading unchanged.
func FuzzRead(f *testing.F) {
	for _, row := range badInput(f) {
		if len(row[0]) < 500 {
			f.Add([]byte(row[0]))
		}
	}
	for seed := range uint64(50) {
		d := doc{Rand: rand.New(rand.NewPCG(seed, 9)), wild: int(seed) % 30}
		f.Add(d.document())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := Read(data, "t")
		g, tolErr := readTolerant(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
		if err != nil || tolErr != nil {
			// Blanks behind it make no sense of it either.
			if _, err := Read(append(append(bytes.Clone(data), '\n'), bytes.Repeat([]byte(" "), scanMargin)...),
				"t"); err == nil {
				t.Fatal("accepted with blanks behind")
			}
			must.Hold(t, err != nil && tolErr != nil && err.Error() == tolErr.Error(),
				"scanner: %v\ntolerant: %v", err, tolErr)
			if _, ok := errors.AsType[*history.InputError](err); !ok {
				t.Fatalf("error of type %T", err)
			}
			return
		}
		diff.Same(t, h, g, "the tolerant reader")
		// With some blanks behind it the scanner gets every line.
		padded := append(append(bytes.Clone(data), '\n'), bytes.Repeat([]byte(" "), scanMargin)...)
		if g, err = Read(padded, "t"); err != nil {
			t.Fatalf("with blanks behind: %v", err)
		}
		diff.Same(t, h, g, "with blanks behind")
		var buf bytes.Buffer
		must.OK(t, Write(&buf, h))
		g = must.Get(Read(buf.Bytes(), "t"))(t)
		diff.Same(t, h, g, "%s", buf.Bytes())
	})
}

// What a small file says of sizes must not be believed, and deep nesting must not eat the stack.
func TestAbsurdInput(t *testing.T) {
	for _, c := range []struct{ name, doc string }{
		{"huge numbers", `{"id":9223372036854775807,"session":9223372036854775807,"start":-9223372036854775807,"end":9223372036854775807,"ops":[["r",9223372036854775807,-9223372036854775808]]}`},
		{"deep unknown field", `{"z":` + strings.Repeat(`[`, 1<<20)},
		{"deep objects", `{"z":` + strings.Repeat(`{"z":`, 1<<20)},
		{"deep predicate", `{"ops":[["pr",` + strings.Repeat(`{"or":[`, 1<<20)},
		{"long string", `{"ops":[["r","` + strings.Repeat(`x`, 1<<20)},
		{"long number", `{"ops":[["r",1,` + strings.Repeat(`9`, 1<<20)},
		{"many blanks", strings.Repeat(" ", 1<<20)},
		{"many lines", strings.Repeat("\n", 1<<20)},
	} {
		got := peak(func() {
			h, err := Read([]byte(c.doc), "t")
			if c.name == "huge numbers" {
				must.Be(t, err == nil && h.NumSessions() == 1, "%s: %v", c.name, err)
			} else if err == nil {
				t.Errorf("%s: no error", c.name)
			} else if len(err.Error()) > 400 {
				t.Errorf("%s: a message of %d bytes", c.name, len(err.Error()))
			}
		})
		if got > 32<<20 {
			t.Errorf("%s: took %d MB", c.name, got>>20)
		}
	}
}

// A line longer than any block, and one cut at every place.
func TestStreamBlocks(t *testing.T) {
	var out []byte
	for i := range 1000 {
		d := doc{Rand: rand.New(rand.NewPCG(uint64(i), 3))}
		d.txn(i+1000, false)
		out = append(append(out, d.out...), '\n')
	}
	out = append(out, `{"id":1,"ops":[["w","k",0]`...)
	for range 60_000 {
		out = append(out, `,["w","k",123456789]`...)
	}
	out = append(out, "]}\n"...)
	h := must.Get(Read(out, "t"))(t)
	for _, size := range []int{1 << 10, 1 << 16, 1 << 22} {
		g := must.Get(ReadFrom(t.Context(), &pieces{out, size}, "t"))(t)
		diff.Same(t, h, g, "pieces of %d bytes", size)
	}
	for _, workers := range []int{2, 3, 16} {
		g := must.Get(ReadParallel(t.Context(), out, "t", workers))(t)
		diff.Same(t, h, g, "%d workers", workers)
		for v := range h.VerKey {
			must.Hold(t, h.VerKey[v] == g.VerKey[v] && h.VerKind[v] == g.VerKind[v] && h.VerN[v] == g.VerN[v],
				"%d workers: version %d is numbered otherwise", workers, v)
		}
	}
}

// pieces reads at most so many bytes at a time.
type pieces struct {
	rest []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.size)], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}
