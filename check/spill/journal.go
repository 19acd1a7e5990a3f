package spill

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cespare/xxhash/v2"
)

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
