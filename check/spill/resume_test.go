package spill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"isovet/datasets"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// resumable is a history with faults, and options by which all stages have work: windows, rounds, proofs.
func resumable(t *testing.T, seed uint64) (*history.History, Options) {
	h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Txns: 1000, Keys: 100, Seed: seed,
		Fault: "write-skew,lost-update", Faults: int(seed % 3), Isolation: "snapshot-isolation",
		Times: datasets.TxnTimes}))(t)
	l := []level.Level{level.SnapshotIsolation, level.Serializable, level.StrictSerializable}[seed%3]
	return h, Options{Dir: filepath.Join(t.TempDir(), "spill"), Level: l, Parts: 3, Workers: 1}
}

// told is all that an answer says, as text.
func told(t *testing.T, a *Answer) string {
	var b bytes.Buffer
	if err := a.WriteCertificate(&b, "test"); err != nil && !errors.Is(err, ErrNoCertificate) {
		t.Fatal(err)
	}
	s := a.Stats
	s.Resumed, s.Recalled = 0, 0
	fmt.Fprintln(&b, a.Verdict, a.Reason, len(a.Found), a.Open, s)
	return b.String()
}

// keyed is a history in pieces that are the same each time.
func keyed(h *history.History) *Input {
	in := cut(h, rand.New(rand.NewPCG(5, 5)))
	in.Key = "test"
	return in
}

// A check that is stopped wherever it writes, which is all that a killed one leaves, goes on there: the answer is the
// same, byte by byte, and what was done is not done again.
func TestResume(t *testing.T) {
	used := 0
	for seed := range histtest.Long[uint64](2, 200) {
		h, o := resumable(t, seed)
		a := must.Get(Check(t.Context(), keyed(h), o))(t)
		want := told(t, a)
		r := rand.New(rand.NewPCG(seed, 1))
		for tries := 0; ; tries++ {
			var left atomic.Int64
			left.Store(int64(2000 * (tries + 1) * (1 + r.IntN(30))))
			o.full = func(n int) error {
				if left.Add(-int64(n)) < 0 {
					return &os.PathError{Op: "write", Path: "it", Err: syscall.ENOSPC}
				}
				return nil
			}
			stored, _ := filepath.Glob(filepath.Join(o.Dir, "step-*.done"))
			a, err := Check(context.Background(), keyed(h), o)
			if err != nil {
				must.Hold(t, errors.Is(err, syscall.ENOSPC) && strings.Contains(err.Error(), "goes on"),
					"seed %d: %v", seed, err)
				damage(t, o.Dir, r)
				continue
			}
			must.Same(t, told(t, a), want, "seed %d: after %d stops", seed, tries)
			if used += a.Stats.Recalled; tries == 0 || a.Stats.Recalled < len(stored)-1 { // one may be damaged
				t.Errorf("seed %d: %d stops, %d of %d answers used", seed, tries, a.Stats.Recalled, len(stored))
			}
			break
		}
		if _, err := os.Stat(o.Dir); err == nil {
			t.Errorf("seed %d: the folder is left", seed)
		}
	}
	must.Equal(t, used > 0, true, "answers of a stopped check were used")
}

// damage does to files what a machine that goes down may do, now and then.
func damage(t *testing.T, dir string, r *rand.Rand) {
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 || r.IntN(3) > 0 {
		return
	}
	path := filepath.Join(dir, files[r.IntN(len(files))].Name())
	b := must.Get(os.ReadFile(path))(t)
	switch n := r.IntN(3); {
	case n == 0 || len(b) == 0:
		err = os.Remove(path)
	case n == 1:
		err = os.Truncate(path, int64(r.IntN(len(b))))
	default:
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		err = os.WriteFile(path, b, 0o644)
	}
	must.OK(t, err)
}

// The files of one level, history or bound is not used for another.
func TestResumeOfAnother(t *testing.T) {
	h, o := resumable(t, 4)
	in := func(key string) *Input {
		i := keyed(h)
		i.Key = key
		return i
	}
	fresh := map[level.Level]string{}
	for _, l := range Levels()[:histtest.Long(2, 6)] {
		o.Level = l
		a := must.Get(Check(t.Context(), in("test"), o))(t)
		fresh[l] = told(t, a)
	}
	stopped := 0
	for i, l := range Levels()[:histtest.Long(2, 6)] {
		left := 60_000
		o.Level, o.full = Levels()[(i+1)%len(Levels())], func(n int) error {
			if left -= n; left < 0 {
				return syscall.ENOSPC
			}
			return nil
		}
		if _, err := Check(context.Background(), in("test"), o); err != nil {
			stopped++
		}
		o.Level, o.full = l, nil
		a := must.Get(Check(t.Context(), in("test"), o))(t)
		if got := told(t, a); !reflect.DeepEqual(got, fresh[l]) {
			t.Errorf("%s: %s\nexpected\n%s", l, got, fresh[l])
		}
	}
	must.Be(t, stopped != 0, "no check was stopped")
}

// A disk that has not nearly what a check needs is claimed to be so before anything is read; one that has about as much
// is tried.
func TestTooLittleDisk(t *testing.T) {
	h, o := resumable(t, 1)
	in := keyed(h)
	in.Bytes = 1 << 30
	read := false
	each := in.Pieces[0].Each
	in.Pieces[0].Each = func(ctx context.Context, f func(*history.History, uint64) error) error {
		read = true
		return each(ctx, f)
	}
	o.free = func() (int64, bool) { return 100 << 20, true }
	_, err := Check(context.Background(), in, o)
	must.Be(t, err != nil && strings.Contains(err.Error(), "100 MiB is free") && !read,
		"100 MiB: %v, read: %t; expected a refusal before", err, read)
	for _, free := range []int64{500 << 20, 1 << 40} {
		o.free = func() (int64, bool) { return free, true }
		if _, err := Check(context.Background(), in, o); err != nil {
			t.Errorf("%d bytes free, %d needed: %v", free, Disk(in), err)
		}
	}
}

func TestFree(t *testing.T) {
	dir := t.TempDir()
	n, known := Free(filepath.Join(dir, "not", "there"))
	if m, is := Free(dir); is != known || known && (n <= 0 || m <= 0) {
		t.Errorf("%d bytes free where tests write files, %d in a folder there that is to be made", m, n)
	}
}
