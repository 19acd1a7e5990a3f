package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isovet/check/timestamp"
	"isovet/datasets"
	"isovet/history/format"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// TestPacked: a compressed segment is read from any byte as the plain one was, zstd reads it, and one that is damaged
// is an error.
func TestPacked(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 1))
	var text []byte
	for i := 0; len(text) < 5<<16; i++ {
		text = fmt.Appendf(text, "%d\tline %d %d\n", i, i, rng.Uint64())
	}
	must.OK(t, os.WriteFile(segmentName(dir, 3), text, 0o644))
	must.OK(t, packFile(segmentName(dir, 3), func() bool { return true }))
	if list, err := segments(dir); err != nil || len(list) != 1 || list[0].packed {
		t.Fatal(list, err) // broken off
	}
	must.OK(t, packFile(segmentName(dir, 3), func() bool { return false }))
	list, err := segments(dir)
	if err != nil || len(list) != 1 || !list[0].packed || list[0].n != 3 || list[0].size > int64(len(text))*3/4 {
		t.Fatal(list, err)
	}
	for range histtest.Long(8, 20) {
		at := rng.IntN(len(text))
		in := must.Get(openSegment(dir, 3, int64(at)))(t)
		got, err := io.ReadAll(in)
		if err = errors.Join(err, in.Close()); err != nil || !bytes.Equal(got, text[at:]) {
			t.Fatalf("from byte %d: %d bytes, expected %d; %v", at, len(got), len(text)-at, err)
		}
	}
	path := list[0].path(dir)
	whole := must.Get(os.ReadFile(path))(t)
	for i := range histtest.Long(30, 100) {
		bad := bytes.Clone(whole)
		if i%2 == 0 {
			bad = bad[:rng.IntN(len(bad))*min(i, 1)]
		} else {
			bad[rng.IntN(len(bad))] ^= 1 << rng.IntN(8)
		}
		must.OK(t, os.WriteFile(path, bad, 0o644))
		in, err := openSegment(dir, 3, 0)
		if err != nil {
			continue
		}
		got, err := io.ReadAll(in)
		if err == nil && !bytes.Equal(got, text) {
			t.Fatalf("%d: %d other bytes, and no error", i, len(got))
		}
		in.Close()
	}
}

// TestTidy: the segments before a checkpoint's are compressed, and deleted where they are too many or too old; that
// one stays as it is.
func TestTidy(t *testing.T) {
	const all, few = "1 true 2 true 3 false 4 false ", "3 false 4 false "
	for keep, want := range map[Keep]string{{}: all, {Bytes: 1 << 20}: all, {Bytes: 1}: few, {Age: 1}: few} {
		dir := t.TempDir()
		for n := range 4 {
			must.OK(t, os.WriteFile(segmentName(dir, n+1), []byte("0\tline\n"), 0o644))
		}
		must.OK(t, tidy(dir, 3, keep, func() bool { return false }))
		got := ""
		for _, s := range must.Get(segments(dir))(t) {
			got += fmt.Sprint(s.n, s.packed, " ")
		}
		must.Equal(t, got, want, "what %+v leaves", keep)
	}
}

// TestKeep: segments that no checkpoint needs are compressed and the oldest deleted; the violations are the same, their
// transactions are found in compressed segments, and check reads what is left.
func TestKeep(t *testing.T) {
	defer func(was int64) { segmentBytes = was }(segmentBytes)
	segmentBytes = 10_000
	packedReads, noted := 0, false
	tried := 0
	eachBroken(t, 1, func(m *mechanisms) {
		if tried++; tried%4 != 1 {
			return
		}
		o := LeopardOptions{Skew: m.skew, Lateness: m.apart / 3}
		run := func(keep Keep, checkpoint time.Duration) (dir string) {
			dir = t.TempDir()
			for at := 0; at < len(m.lines); at += 400 {
				if checkpoint == 0 {
					at = len(m.lines)
				}
				part := m.lines[:min(at+400, len(m.lines))]
				err := Run(t.Context(), Config{Dir: dir, Judge: leopardOf(t, o), Checkpoint: checkpoint, Keep: keep,
					Open: func(_ context.Context, after Places) (Source, error) {
						s := Pipe(bytes.NewReader(join(part[after.Last()+1:])), after.Last())
						few := ""
						if keep.Bytes > 0 {
							few = dir
						}
						return endless{s, len(part) < len(m.lines), few}, nil
					}})
				must.Hold(t, err == nil || errors.Is(err, errKilled), "%v", err)
			}
			return dir
		}
		read := func(dir string) string {
			b := violationsOf(t, dir)
			return string(b)
		}
		want := read(run(Keep{}, 0))
		all := run(Keep{}, 1)
		must.Equal(t, read(all), want, "%s: with compressed segments", m.name)
		list := must.Get(segments(all))(t)
		if len(list) > 1 && list[0].packed {
			packedReads++
		}
		few := run(Keep{Bytes: 1}, 1)
		list = must.Get(segments(few))(t)
		if list[0].n > 1 {
			if _, err := os.Stat(filepath.Join(few, beginningFile)); err != nil {
				t.Error(err)
			}
			h := must.Get(format.Read(t.Context(), few, format.Options{}))(t)
			noted = noted || len(h.Notes) > 0 && strings.Contains(h.Notes[0].Text, "deleted")
		}
		got := read(few)
		must.Equal(t, strings.Count(got, "\n"), strings.Count(want, "\n"), "%s: violations kept", m.name)
	})
	must.Equal(t, packedReads < 2 || !noted, false, "%d with compressed segments, said: %t", packedReads, noted)
}

// TestGone: of a violation whose transactions are not kept any more it is reported that they are not.
func TestGone(t *testing.T) {
	gone, whole := 0, 0
	eachBroken(t, 1, func(m *mechanisms) {
		if gone > 20 && whole > 20 {
			return
		}
		j := leopardOf(t, LeopardOptions{Skew: m.skew, Lateness: m.apart / 3})
		j.Begin(func(n int64) ([]byte, error) {
			if n%2 == 0 {
				return nil, fmt.Errorf("line %d: %w", n, ErrNotKept)
			}
			return bytes.TrimSuffix(m.lines[n], []byte("\n")), nil
		})
		must.OK(t, j.Take(NewBatch(0, m.lines), func(int64, error) {}))
		j.End()
		err := j.Findings(func(f *Finding) error {
			b, err := f.Line(1)
			if err != nil {
				return err
			}
			var v MechanismViolation
			if err := json.Unmarshal(b, &v); err != nil {
				return err
			}
			if len(v.Gone) == 0 {
				whole++
			} else if gone++; v.Gone[0]%2 != 0 || v.Proved || !strings.Contains(v.Text, "--keep deleted") {
				t.Errorf("%s", b)
			}
			return nil
		})
		must.OK(t, err)
	})
	must.Be(t, gone >= 20 && whole >= 20, "%d with transactions that are gone, %d without: too few", gone, whole)
}

// TestCut: a folder whose first segments are gone is read as far as it can be told: of a database that is right nobody
// is accused, of one that is wrong some are.
func TestCut(t *testing.T) {
	defer func(was int64) { segmentBytes = was }(segmentBytes)
	segmentBytes = 20_000
	for i, isolation := range []string{"snapshot-isolation", "read-committed"} {
		_, lines := arrivalsOf(t, datasets.Spec{Workload: []string{"gt", "list-append"}[i], Txns: 2000, Sessions: 8,
			Keys: 40, Ops: 5, Isolation: isolation, DBTimes: true, Times: datasets.NoTimes, Seed: 3}, 20, false)
		if isolation == "read-committed" {
			_, lines = arrivals(t, 3, 2000)
		}
		dir := t.TempDir()
		for _, to := range []int{500, 1000, 1500, len(lines)} {
			err := Run(t.Context(), Config{Dir: dir, Judge: aionOf(si, 400), Checkpoint: 1, Keep: Keep{Bytes: 1},
				Open: func(_ context.Context, after Places) (Source, error) {
					s := Pipe(bytes.NewReader(join(lines[after.Last()+1:to])), after.Last())
					return endless{s, to < len(lines), dir}, nil
				}})
			must.Hold(t, err == nil || errors.Is(err, errKilled), "%v", err)
		}
		h := must.Get(format.Read(t.Context(), dir, format.Options{}))(t)
		r := must.Get(timestamp.Chronos(t.Context(), h, si))(t)
		wrong := isolation == "read-committed"
		if h.NumTxns() >= len(lines)-2 || len(h.Notes) == 0 || (len(r.Violations) > 0) != wrong {
			t.Errorf("%s: %d of %d transactions, %d violations, notes %v", isolation, h.NumTxns(), len(lines),
				len(r.Violations), h.Notes)
		}
	}
}

// endless fails in place of ending, as far as it is told. It gives the keeper of segments time, and where a folder is
// named whose first segments are to go, more of it until they have gone.
type endless struct {
	Source
	fails bool
	few   string
}

func (e endless) Next(ctx context.Context, n int) ([]Line, error) {
	for range 100 {
		time.Sleep(2 * time.Millisecond)
		if e.few == "" {
			break
		}
		if list, err := segments(e.few); err != nil || len(list) < 3 || list[0].n > 1 {
			break
		}
	}
	lines, err := e.Source.Next(ctx, min(n, 50))
	if err == io.EOF && e.fails {
		err = errKilled
	}
	return lines, err
}
