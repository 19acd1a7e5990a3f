package large

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"isovet/history"
	"isovet/level"
)

// Backend does the passes of [Verify] over parts of the history, on other machines. Tasks and answers are bytes; a task
// that is done twice gives the same answer. What [Verify] says is what it says without a backend, wherever the history
// is cut.
type Backend interface {
	// Pieces does a task for each part of the history ([DoPiece]), and keeps the records that these emit, by partition,
	// in the order of the history. Answers are in that order, too.
	Pieces(ctx context.Context, task []byte) (answers [][]byte, err error)
	// Partitions does a task for each of n partitions ([DoPartition]) of the records of the last task of Pieces.
	Partitions(ctx context.Context, task []byte, n int) (answers [][]byte, err error)
}

// DoPiece does a task of Backend.Pieces, txns being the transactions of the part, with their places in the whole
// history. Records that go to emit must be copied. An error is of the history's files, or of emit.
func DoPiece(ctx context.Context, asked []byte, txns func(ctx context.Context, f func(h *history.History,
	first int64) error) error, emit func(part int, record []byte) error) ([]byte, error) {
	var t task
	if err := decode(asked, &t); err != nil {
		return nil, err
	}
	v := t.verifier()
	ids := setOf(t.IDs)
	var a answer
	var err error
	switch t.Do {
	case doRead:
		a.Passed, err = v.pass(ctx, txns, t.Parts, emit)
	case doReads:
		a.Reads, err = v.reads(ctx, txns, ids)
	case doInstalls:
		a.Installs, err = v.installs(ctx, txns, ids, t.Reads)
	case doTxns:
		a.Txns, err = t.wanted(ids).txns(ctx, txns)
	default:
		err = fmt.Errorf("there is no task %q over pieces of a history", t.Do)
	}
	if err != nil {
		return nil, err
	}
	return encode(&a)
}

// DoPartition does a task of Backend.Partitions, records being all of the partition, one behind the other.
func DoPartition(asked, records []byte) ([]byte, error) {
	var t task
	if err := decode(asked, &t); err != nil {
		return nil, err
	}
	if t.Do != doReplay {
		return nil, fmt.Errorf("there is no task %q over partitions", t.Do)
	}
	var a answer
	err := t.verifier().part(records)
	var no refuted
	if errors.As(err, &no) {
		a.Refuted, err = no.Error(), nil
	}
	if err != nil {
		return nil, err
	}
	return encode(&a)
}

// What is to be done.
const (
	doRead     = "read"
	doReplay   = "replay"
	doReads    = "reads"
	doInstalls = "installs"
	doTxns     = "transactions"
)

// task is what a part of the work is told: what it is, and what of the certificate it needs.
type task struct {
	Do                               string
	Level                            level.Level
	Linear, ByPlace, Stamps, AtStart bool
	Skew                             int64
	Exceptions                       []exception
	Initial                          value
	Parts                            int

	IDs       []int64
	Reads     []read
	Versions  []version
	Snapshots []value
	Installed []installed
}

type installed struct {
	ID  int64
	Key value
}

// answer is what came out of it.
type answer struct {
	Passed   *passed
	Refuted  string
	Reads    []read
	Installs []install
	Txns     []txn
}

func (v *verifier) task(do string) *task {
	return &task{Do: do, Level: v.level, Linear: v.linear, ByPlace: v.byPlace, Stamps: v.stamps.on,
		AtStart: v.stamps.readOnlyAtStart, Skew: v.skew}
}

func (t *task) verifier() *verifier {
	return &verifier{level: t.Level, linear: t.Linear, skew: t.Skew, byPlace: t.ByPlace, ex: t.Exceptions,
		stamps: stamped{t.Stamps, t.AtStart}, initial: t.Initial}
}

func (t *task) wanted(ids map[int64]bool) *wanted {
	w := &wanted{ids: ids, versions: setOf(t.Versions), snapshots: setOf(t.Snapshots), values: map[int64]bool{},
		installed: map[int64]map[value]bool{}}
	for _, v := range t.Versions {
		w.values[v.Value.n] = true
	}
	for _, x := range t.Installed {
		if w.installed[x.ID] == nil {
			w.installed[x.ID] = map[value]bool{}
		}
		w.installed[x.ID][x.Key] = true
	}
	return w
}

func setOf[T comparable](list []T) map[T]bool {
	s := make(map[T]bool, len(list))
	for _, x := range list {
		s[x] = true
	}
	return s
}

// there does the passes by a backend.
type there struct{ v *verifier }

func (r *there) close() {}

func (r *there) pieces(ctx context.Context, t *task, f func(a *answer)) error {
	b, err := encode(t)
	if err != nil {
		return err
	}
	all, err := r.v.o.Backend.Pieces(ctx, b)
	if err != nil {
		return err
	}
	for _, b := range all {
		var a answer
		if err := decode(b, &a); err != nil {
			return err
		}
		f(&a)
	}
	return nil
}

func (r *there) read(ctx context.Context, n int) (all []*passed, err error) {
	t := r.v.task(doRead)
	t.Exceptions, t.Parts = r.v.ex, n
	err = r.pieces(ctx, t, func(a *answer) { all = append(all, a.Passed) })
	return all, err
}

func (r *there) replay(ctx context.Context, n int) error {
	t := r.v.task(doReplay)
	t.Exceptions, t.Initial = r.v.ex, r.v.initial
	b, err := encode(t)
	if err != nil {
		return err
	}
	all, err := r.v.o.Backend.Partitions(ctx, b, n)
	if err != nil {
		return err
	}
	for _, b := range all {
		var a answer
		if err := decode(b, &a); err != nil {
			return err
		}
		if a.Refuted != "" {
			return refute("%s", a.Refuted)
		}
	}
	return nil
}

func (r *there) reads(ctx context.Context, ids map[int64]bool) (all []read, err error) {
	t := r.v.task(doReads)
	t.IDs = slices.Sorted(maps.Keys(ids))
	err = r.pieces(ctx, t, func(a *answer) { all = append(all, a.Reads...) })
	return all, err
}

func (r *there) installs(ctx context.Context, ids map[int64]bool, reads []read) ([]install, error) {
	t := r.v.task(doInstalls)
	t.IDs, t.Reads = slices.Sorted(maps.Keys(ids)), reads
	last := make([]install, len(reads))
	for i := range last {
		last[i].At = history.NoTime
	}
	err := r.pieces(ctx, t, func(a *answer) {
		for i, x := range a.Installs {
			if x.At > last[i].At {
				last[i] = x
			}
		}
	})
	return last, err
}

func (r *there) txns(ctx context.Context, w *wanted) (all []txn, err error) {
	t := r.v.task(doTxns)
	t.IDs = slices.Sorted(maps.Keys(w.ids))
	t.Versions = slices.SortedFunc(maps.Keys(w.versions), func(a, b version) int {
		return cmp.Or(a.Key.compare(b.Key), a.Value.compare(b.Value))
	})
	t.Snapshots = slices.SortedFunc(maps.Keys(w.snapshots), value.compare)
	for _, id := range slices.Sorted(maps.Keys(w.installed)) {
		for _, k := range slices.SortedFunc(maps.Keys(w.installed[id]), value.compare) {
			t.Installed = append(t.Installed, installed{id, k})
		}
	}
	err = r.pieces(ctx, t, func(a *answer) { all = append(all, a.Txns...) })
	return all, err
}

// Number has package gob number the types of tasks and answers, which it does in the order in which a process meets
// types: processes that do so at the same moment, by init, give the same bytes for the same.
func Number() error { return numbered() }

var numbered = sync.OnceValue(func() error {
	return gob.NewEncoder(io.Discard).Encode(struct {
		A task
		B answer
	}{})
})

func encode(v any) ([]byte, error) {
	if err := numbered(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}

func decode(b []byte, v any) error {
	if err := numbered(); err != nil {
		return err
	}
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(v); err != nil {
		return fmt.Errorf("what was sent for a certificate cannot be read: %w", err)
	}
	return nil
}

func (v value) compare(w value) int {
	return cmp.Or(cmp.Compare(v.kind, w.kind), cmp.Compare(v.n, w.n), cmp.Compare(v.text, w.text))
}

// MarshalBinary is how it is sent.
func (v value) MarshalBinary() ([]byte, error) {
	return append(binary.AppendVarint([]byte{byte(v.kind)}, v.n), v.text...), nil
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (v *value) UnmarshalBinary(b []byte) error {
	if len(b) < 2 {
		return errSent
	}
	n, size := binary.Varint(b[1:])
	if size <= 0 {
		return errSent
	}
	*v = value{n, history.ValueKind(b[0]), string(b[1+size:])}
	return nil
}

// MarshalBinary is how it is sent.
func (a at) MarshalBinary() ([]byte, error) { return a.append(nil), nil }

func (a at) append(b []byte) []byte {
	b = binary.AppendVarint(b, a.t)
	b = binary.AppendUvarint(b, a.n)
	return binary.AppendUvarint(b, uint64(a.sub))
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (a *at) UnmarshalBinary(b []byte) error {
	r := &reader{b: b}
	*a = r.at()
	return r.err()
}

// MarshalBinary is how it is sent.
func (e exception) MarshalBinary() ([]byte, error) {
	b := binary.AppendVarint(nil, e.place)
	b = binary.AppendVarint(b, e.id)
	b = e.commit.append(e.begin.append(b))
	return binary.AppendVarint(binary.AppendVarint(b, e.start), e.end), nil
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (e *exception) UnmarshalBinary(b []byte) error {
	r := &reader{b: b}
	*e = exception{place: r.varint(), id: r.varint(), begin: r.at(), commit: r.at(), start: r.varint(), end: r.varint()}
	return r.err()
}

func (r *reader) at() at { return at{r.varint(), r.uvarint(), uint32(r.uvarint())} }

func (r *reader) err() error {
	if r.bad || len(r.b) > 0 {
		return errSent
	}
	return nil
}

var errSent = errors.New("what was sent for a certificate cannot be read")
