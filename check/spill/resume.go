package spill

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/cespare/xxhash/v2"

	"isovet/check/spill/plan"
	"isovet/internal/filelock"
)

// done is the record of a mapped task, in a file beside its chunks. Another run over the same history, with the same
// partitions, continues from it.
type done struct {
	Version     int
	Key         string
	Rule        plan.Rule
	First, Txns int64
	Index       []Entry
	Mapped      Mapped
	Chunks      sum
	Heads       sum
}

// doneVersion is the version of the record's format.
const doneVersion = 4

// Entry is a chunk in a task's file.
type Entry struct {
	Part int
	Off  int64
	N    int
	Info plan.ChunkInfo
}

// sum is the size and checksum of a file.
type sum struct {
	Bytes int64
	Hash  uint64
}

// sumOf reads a file to its end.
func sumOf(path string) (s sum, err error) {
	f, err := os.Open(path)
	if err != nil {
		return s, err
	}
	defer f.Close()
	d := xxhash.New()
	s.Bytes, err = io.Copy(d, f)
	s.Hash = d.Sum64()
	return s, err
}

type summing struct {
	w io.Writer
	d xxhash.Digest
	n int64
}

func newSumming(w io.Writer) *summing {
	s := &summing{w: w}
	s.d.Reset()
	return s
}

func (s *summing) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.d.Write(b[:n])
	s.n += int64(n)
	return n, err
}

func (s *summing) sum() sum { return sum{s.n, s.d.Sum64()} }

// path returns the name of a task's file.
func (e *engine) path(i int, ext string) string {
	return filepath.Join(e.o.Dir, fmt.Sprintf("map-%05d.%s", i, ext))
}

// resume uses a task that an earlier run has mapped, if its files have not changed.
func (e *engine) resume(rule plan.Rule, i int) bool {
	if e.in.Key == "" {
		return false
	}
	f, err := os.Open(e.path(i, "done"))
	if err != nil {
		return false
	}
	defer f.Close()
	var d done
	t := e.tasks[i]
	if gob.NewDecoder(f).Decode(&d) != nil || d.Version != doneVersion || d.Key != e.in.Key || d.First != t.first ||
		d.Txns != t.txns || d.Rule.Parts != rule.Parts || rule.RealTime && !d.Rule.RealTime ||
		rule.ByPlace != d.Rule.ByPlace || rule.Stamps != d.Rule.Stamps || rule.OneKey && !d.Rule.OneKey {
		return false
	}
	for ext, want := range map[string]sum{"chunks": d.Chunks, "heads": d.Heads} {
		if got, err := sumOf(e.path(i, ext)); err != nil || got != want {
			return false
		}
	}
	chunks, err := os.Open(e.path(i, "chunks"))
	if err != nil {
		return false
	}
	t.chunks = &file{File: chunks}
	t.heads, t.index = e.path(i, "heads"), d.Index
	t.mapped(d.Mapped)
	return true
}

// finish records that a task is mapped.
func (e *engine) finish(rule plan.Rule, i int, m Mapped, chunks, heads sum) error {
	if e.in.Key == "" {
		return nil
	}
	t := e.tasks[i]
	to := e.path(i, "done")
	var b bytes.Buffer
	d := done{doneVersion, e.in.Key, rule, t.first, t.txns, t.index, m, chunks, heads}
	if err := gob.NewEncoder(&b).Encode(&d); err != nil {
		return err
	}
	return e.replace(to, b.Bytes())
}

// clean removes the files of tasks, except those that kept selects, and unlocks the folder.
func (e *engine) clean(kept func(name string) bool) {
	files, err := os.ReadDir(e.o.Dir)
	if err != nil {
		return
	}
	for _, f := range files {
		name := f.Name()
		ours := name == "moved.chunks"
		for _, ext := range []string{".chunks", ".heads", ".done", ".done.new"} {
			var n int
			rest, is := strings.CutSuffix(name, ext)
			for _, of := range []string{"map-%05d", "step-%05d"} {
				if k, err := fmt.Sscanf(rest, of, &n); is && err == nil && k == 1 {
					ours = true
				}
			}
		}
		if ours && !kept(name) {
			os.Remove(filepath.Join(e.o.Dir, name))
		}
	}
	err = os.Remove(e.lock.Name())
	filelock.Close(e.lock)
	if err != nil { // some systems do not remove open files
		os.Remove(e.lock.Name())
	}
	os.Remove(e.o.Dir) // if nothing else is in it
}

// A check of the same history repeats the same steps, because its requests to partitions, groups of pieces and windows
// follow from earlier answers. So each answer is stored in a file with its request, and a check that was killed
// continues from these.

// step is a step whose parts each have an answer.
type step struct {
	n     int // number of steps before it; -1: answers are not stored
	asked uint64
}

// step begins the next step. asked has everything that its answers depend on, except the history and the options.
func (e *engine) step(kind string, asked any) (step, error) {
	if !e.kept() {
		return step{n: -1}, nil
	}
	d := xxhash.New()
	enc := json.NewEncoder(d)
	err := errors.Join(enc.Encode([]any{journalVersion, e.in.Key, kind, e.steps, e.rule, e.o.Level, e.o.Skew,
		e.o.MaxWindow, e.o.Memory, e.o.Workers}), enc.Encode(asked))
	s := step{e.steps, d.Sum64()}
	e.steps++
	return s, err
}

// kept reports whether answers are stored.
func (e *engine) kept() bool { return e.in.Key != "" && e.o.Backend == nil && !e.unkept }

// journalVersion is the version of the stored answers' format.
const journalVersion = 1

// keptHead is the size of a checksum and a length, before the request and the answer.
const keptHead = 16

// answers returns the answers of a step's n parts, which do gives unless they are stored: see step.
func answers[A any](ctx context.Context, e *engine, kind string, asked any, workers, n int,
	do func(ctx context.Context, i int) (A, error)) ([]A, error) {
	s, err := e.step(kind, asked)
	if err != nil {
		return nil, err
	}
	got := make([]A, n)
	err = parallel(ctx, workers, n, func(ctx context.Context, i int) (err error) {
		got[i], err = answer(e, s, i, func() (A, error) { return do(ctx, i) })
		return err
	})
	return got, err
}

// answer returns the stored answer of a step's part. If there is none, it calls do and stores the answer, unless that
// reached a bound.
func answer[A any](e *engine, s step, i int, do func() (A, error)) (a A, err error) {
	if s.n < 0 {
		return do()
	}
	path := filepath.Join(e.o.Dir, fmt.Sprintf("step-%05d-%05d.done", s.n, i))
	if b, err := os.ReadFile(path); err == nil && len(b) >= keptHead && binary.LittleEndian.Uint64(b) == s.asked &&
		binary.LittleEndian.Uint64(b[8:]) == xxhash.Sum64(b[keptHead:]) &&
		gob.NewDecoder(bytes.NewReader(b[keptHead:])).Decode(&a) == nil {
		e.recalled.Add(1)
		return a, nil
	}
	var fresh A
	if fresh, err = do(); err != nil {
		return fresh, err
	}
	if r, is := any(&fresh).(*Replayed); is && (r.TooMany || r.NoRoom) {
		return fresh, nil
	}
	a = fresh
	b := bytes.NewBuffer(make([]byte, keptHead, 1<<10))
	if err := gob.NewEncoder(b).Encode(&a); err != nil {
		return a, err
	}
	binary.LittleEndian.PutUint64(b.Bytes(), s.asked)
	binary.LittleEndian.PutUint64(b.Bytes()[8:], xxhash.Sum64(b.Bytes()[keptHead:]))
	return a, e.replace(path, b.Bytes())
}

// replace writes a file atomically.
func (e *engine) replace(path string, b []byte) error {
	f, err := e.create(path + ".new")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
