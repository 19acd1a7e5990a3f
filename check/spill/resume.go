package spill

import (
	"bytes"
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
)

// done is the record of a task that was mapped, beside its files: another run over the same history, in the same
// partitions, goes on from there.
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

// doneVersion is that of the files' format.
const doneVersion = 3

// Entry is a chunk in a task's file.
type Entry struct {
	Part int
	Off  int64
	N    int
	Info plan.ChunkInfo
}

// sum tells a file's content.
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

// summing is a writer that sums what it writes.
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

// path is that of one of a task's files.
func (e *engine) path(i int, ext string) string {
	return filepath.Join(e.o.Dir, fmt.Sprintf("map-%05d.%s", i, ext))
}

// resume takes over a task that an earlier run has mapped, if its files are as they were.
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

// finish notes that a task is mapped.
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

// clean removes the files of tasks from the folder, but those of kept ones, and gives the folder back.
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
	e.leaveFolder()
}

// A check does the same, step by step, each time that it is run over the same history: what it asks of partitions, of
// groups of pieces and of windows follows from the answers before. Each answer is kept in a file, with what was asked,
// so that a check that was killed goes on where it was: the next one takes the answers from there.

// step is one that has parts, each with an answer of its own.
type step struct {
	n     int // steps before it; -1: answers are not kept
	asked uint64
}

// step begins the next step. asked is all that its answers depend on, but for the history and the options.
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

// kept says that answers are kept.
func (e *engine) kept() bool { return e.in.Key != "" && e.o.Backend == nil && !e.unkept }

// journalVersion is that of answers.
const journalVersion = 1

// kept is a file of an answer: what was asked, a checksum, and the answer.
const keptHead = 16

// answer is the kept answer of a step's part, or else the one that do gives, which is kept from now on unless again
// says that it is to be asked again.
func answer[A any](e *engine, s step, i int, do func() (A, error), again func(*A) bool) (a A, err error) {
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
	if fresh, err = do(); err != nil || again != nil && again(&fresh) {
		return fresh, err
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

// replace writes a file that is whole or not there.
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
