package record_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/history/format/jsonl"
	"isovet/history/partlist"
	"isovet/history/split"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/record"
)

// inOrder reads a history and writes it as lines by the order of ids.
func inOrder(t *testing.T, h *history.History, err error) *history.History {
	t.Helper()
	must.OK(t, err)
	ids := map[int64]uint32{}
	most := int64(0)
	for x, id := range h.Txns.ID {
		ids[id] = uint32(x)
		most = max(most, id)
	}
	for s := range h.NumSessions() {
		for i, x := range h.SessTxn[h.SessOff[s]+1 : h.SessOff[s+1]] {
			if before := h.SessTxn[int(h.SessOff[s])+i]; h.Txns.ID[before] >= h.Txns.ID[x] {
				t.Errorf("session %d: transaction %d stands behind %d", h.SessName[s], h.Txns.ID[x], h.Txns.ID[before])
			}
		}
	}
	var b strings.Builder
	b.Write(record.Header(nil, h.Meta, false))
	for id := int64(0); id <= most; id++ {
		if x, ok := ids[id]; ok {
			one := must.Get(split.Sub(h, x, x+1))(t)
			var line strings.Builder
			must.OK(t, jsonl.Write(&line, one))
			_, rest, _ := strings.Cut(line.String(), "\n")
			b.WriteString(strings.Replace(rest, `"seq":0,`, "", 1))
		}
	}
	return must.Get(jsonl.Read([]byte(b.String()), "sorted"))(t)
}

// TestParts: a recording in parts is the recording in one file, whichever transactions were open when a part ended; and
// its folder is a history all the while.
func TestParts(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 5))
		dir := t.TempDir()
		clock := int64(0)
		o := record.Options{Meta: history.Meta{Name: "n", Note: "x"}, OpTimes: seed%3 == 0,
			Clock: func() int64 { clock++; return clock / 2 }}
		one := must.Get(record.Create(filepath.Join(dir, "one.jsonl"), o))(t)
		folder := filepath.Join(dir, "parts")
		teed := record.Header(nil, o.Meta, false)
		o.Tee = func(line []byte) { teed = append(teed, line...) }
		many, err := record.CreateParts(folder, o, []record.Rotation{{Txns: 1 + int64(rng.IntN(20))},
			{Bytes: 300}, {Every: time.Microsecond}}[seed%3])
		must.OK(t, err)
		recs := []*record.Recorder{one, many}
		both := func(f func(i int) error) {
			t.Helper()
			at := clock
			for i := range recs {
				clock = at // the same times in both
				must.OK(t, f(i))
			}
		}
		if seed%4 != 1 {
			for k := range 3 {
				both(func(i int) error { return recs[i].Initial(k, 0) })
			}
		}
		var sessions [5][2]*record.Session
		var open [5][2]*record.Txn
		var committing [5]bool
		for i := range sessions {
			both(func(r int) error { sessions[i][r] = recs[r].Session(); return nil })
		}
		version := 0
		for step := range 400 {
			i := rng.IntN(len(sessions))
			what, how := rng.IntN(5), rng.IntN(3)
			if open[i][0] == nil {
				both(func(r int) error { open[i][r] = sessions[i][r].Begin("t"); return nil })
				continue
			}
			version++
			if committing[i] {
				what = 3 + rng.IntN(2)
			}
			both(func(r int) error {
				x := open[i][r]
				switch what {
				case 0:
					return x.Read(version%3, 0)
				case 1:
					return x.Write(fmt.Sprint(version%7), version)
				case 2: // and stays so while others end
					committing[i] = true
					return x.Committing()
				case 3:
					open[i][r], committing[i] = nil, false
					return []func() error{func() error { return x.Commit(nil) }, func() error { return x.Abort(nil) },
						x.Unknown}[how]()
				}
				return nil
			})
			if step%20 == 19 {
				time.Sleep(time.Millisecond) // a part may be finished
			}
			if step%100 == 99 { // whatever stands there now
				must.Get(split.Read(t.Context(), []string{folder}, format.Options{}))(t)
			}
		}
		for i := range open {
			if open[i][0] != nil {
				both(func(r int) error { return open[i][r].Unknown() })
			}
		}
		if list, _ := os.ReadFile(filepath.Join(folder, partlist.Name)); !strings.Contains(string(list),
			`"recording": true`) {
			t.Errorf("seed %d: %s", seed, list)
		}
		both(func(r int) error { return recs[r].Close() })
		h, err := format.Read(t.Context(), filepath.Join(dir, "one.jsonl"), format.Options{})
		want := inOrder(t, h, err)
		h, err = split.Read(t.Context(), []string{folder}, format.Options{})
		got := inOrder(t, h, err)
		diff.Same(t, got, want, "seed %d", seed)
		if seed%4 == 1 { // nothing was there before, which is not among them
			h, err = jsonl.Read(teed, "teed")
			diff.Same(t, inOrder(t, h, err), want, "seed %d, as they end", seed)
		}
		_, list, err := format.Parts(folder)
		must.Equal(t, err != nil || list.Recording || len(list.Parts) < 2, false, "seed %d: %+v, %v", seed, list, err)
		if left, _ := filepath.Glob(filepath.Join(folder, "*.partial")); left != nil {
			t.Errorf("seed %d: %v is left", seed, left)
		}
		if err := many.Initial("late", 1); err == nil {
			t.Error("an initial value behind the first transaction was taken")
		}
	}
}

// TestFoundLater: a value that was there before, and is found when the stream has begun, precedes all transactions,
// also those that overwrote it before it was found.
func TestFoundLater(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "parts")
	rec := must.Get(record.CreateParts(dir, record.Options{}, record.Rotation{Txns: 2}))(t)
	reader, writer := rec.Session(), rec.Session()
	r := reader.Begin("")
	for n := range 5 {
		w := writer.Begin("")
		must.OK(t, errors.Join(w.Write("x", n), w.Commit(nil)))
	}
	must.OK(t, errors.Join(rec.Initial("x", "before"), r.Read("x", "before"), r.Commit(nil), rec.Close()))
	h := must.Get(split.Read(t.Context(), []string{dir}, format.Options{}))(t)
	must.Equal(t, h.NumTxns(), 7, "transactions")
	verdict(t, h, level.StrictSerializable, evidence.Holds)
}

// TestPartsFail: what cannot be finished stays as it was recorded, and is read; nothing is lost of it.
func TestPartsFail(t *testing.T) {
	full := errors.New("no space left")
	for _, how := range []func() (partlist.Part, error){func() (partlist.Part, error) { return partlist.Part{}, full },
		func() (partlist.Part, error) { panic(full) }} {
		dir := filepath.Join(t.TempDir(), "new", "folder")
		rec, err := record.CreateParts(dir, record.Options{}, record.Rotation{Txns: 5,
			Finish: func(*record.Whole) (partlist.Part, error) { return how() }})
		must.OK(t, err)
		s := rec.Session()
		n := 0
		for end := time.Now().Add(20 * time.Second); rec.Err() == nil && time.Now().Before(end); n++ {
			x := s.Begin("")
			_ = x.Write("k", n)
			_ = x.Commit(nil)
		}
		if err := rec.Close(); err == nil || !strings.Contains(err.Error(), full.Error()) {
			t.Errorf("%v; expected %v", err, full)
		}
		h, err := split.Read(t.Context(), []string{dir}, format.Options{})
		must.Equal(t, err != nil || h.NumTxns() < n-1 || h.NumTxns() > n || len(h.Notes) == 0, false,
			"%d transactions of %d, %v", h.NumTxns(), n, err)
		if _, err := record.CreateParts(dir, record.Options{}, record.Rotation{}); err == nil ||
			!strings.Contains(err.Error(), "expected a new or empty one") {
			t.Errorf("a folder with a recording was taken: %v", err)
		}
	}
}
