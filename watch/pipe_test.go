package watch

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"isovet/internal/test/histtest"
)

// TestPipeLines: a pipe gives the lines that were written, whatever their lengths, however they are written, and
// however many are taken at once; also a last one without end.
func TestPipeLines(t *testing.T) {
	for seed := range uint64(histtest.Long(10, 200)) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var text []byte
		var want []string
		most := []int{10, 1000, 3 * pipeHead, pipeRoom / 2, 2*pipeRoom + 5*pipeHead}[seed%5]
		for n := 0; n < 3*pipeRoom+rng.IntN(pipeRoom) && (len(want) < 50_000 || most > 10); {
			line := bytes.Repeat([]byte{byte('a' + len(want)%26)}, rng.IntN(most))
			n += len(line) + 1
			text = append(append(text, line...), '\n')
			if len(line) > 0 { // an empty one is none
				want = append(want, string(line))
			}
		}
		if seed%2 == 0 {
			text = append(text, "the end"...)
			want = append(want, "the end")
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		size := []int{7, 4096, 1 << 16, 3 << 20}[seed%4]
		if most > 10 {
			size = max(size, 4096)
		}
		go func() {
			for part := range slices.Chunk(text, size) {
				if _, err := w.Write(part); err != nil {
					t.Error(err)
				}
			}
			w.Close()
		}()
		p := Pipe(r, -1)
		got, place := 0, int64(-1)
		for {
			lines, err := p.Next(t.Context(), 1+rng.IntN(5000))
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if rng.IntN(20) == 0 {
				time.Sleep(time.Millisecond) // the pipe fills
			}
			for _, l := range lines {
				if got >= len(want) || string(l.Text) != want[got] || l.Place <= place {
					t.Fatalf("seed %d: line %d, place %d: %.40q; expected one of %d bytes", seed, got, l.Place, l.Text,
						len(want[min(got, len(want)-1)]))
				}
				got, place = got+1, l.Place
			}
		}
		if got != len(want) {
			t.Fatalf("seed %d: %d lines of %d", seed, got, len(want))
		}
		if err := errors.Join(p.Close(), r.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
