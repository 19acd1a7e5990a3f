package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"isovet/check"
	"isovet/check/mechanism"
	"isovet/internal/test/histtest"
)

// processes has n processes' leopards watch lines, each some of the keys, in a folder of its own; of 1 all.
func processes(t *testing.T, n int, lines [][]byte, o LeopardOptions, checkpoint time.Duration) (dirs []string) {
	t.Helper()
	for range n {
		dirs = append(dirs, t.TempDir())
	}
	goOn(t, dirs, lines, o, checkpoint)
	return dirs
}

// goOn has the processes of folders go on with lines, of which the first may be what they have judged.
func goOn(t *testing.T, dirs []string, lines [][]byte, o LeopardOptions, checkpoint time.Duration) {
	t.Helper()
	n := len(dirs)
	for i, dir := range dirs {
		o.Folder = dir
		if o.Shard, o.Of = i, n; n == 1 {
			o.Shard, o.Of = 0, 0
		}
		j := leopardOf(t, o)
		watchLines(t, o.Folder, j, lines, checkpoint)
		closeLeopard(t, j.(*leopard))
	}
}

// watchLines has a judge go on with lines.
func watchLines(t *testing.T, dir string, j Judge, lines [][]byte, checkpoint time.Duration) {
	t.Helper()
	err := Run(t.Context(), Config{Dir: dir, Judge: j, Checkpoint: checkpoint,
		Open: func(_ context.Context, after Places) (Source, error) {
			return Pipe(bytes.NewReader(join(lines[after.Last()+1:])), after.Last()), nil
		}})
	if err != nil {
		t.Fatal(err)
	}
}

// united are the violations of folders, without their numbers.
func united(t *testing.T, m *Merged) (out []string) {
	t.Helper()
	for _, v := range m.Violations {
		out = append(out, strings.TrimSpace(numbered.ReplaceAllString(string(v), "")))
	}
	slices.Sort(out)
	return out
}

func single(t *testing.T, dir string) (out []string) {
	t.Helper()
	for _, v := range unnumbered(t, dir) {
		out = append(out, strings.TrimSpace(v))
	}
	slices.Sort(out)
	return out
}

// TestLeopardOfProcesses: what leopards find that judge their keys each, and what is found of what they write down that
// spans keys, is line by line what one finds alone: under profiles with each of the mechanisms, in streams valid and
// wrong, from the midst, late, with checkpoints all the time or at the end, and with idle keys on disk.
func TestLeopardOfProcesses(t *testing.T) {
	names := []string{"postgresql:serializable", "postgresql:repeatable-read", "innodb:serializable",
		"mysql:repeatable-read"}
	kinds := map[string]int{}
	spanning := 0
	try := func(seed uint64, lines [][]byte, o LeopardOptions) {
		t.Helper()
		once := processes(t, 1, lines, o, 0)
		want := slices.Compact(single(t, once[0]))
		checkpoint := []time.Duration{2 * time.Millisecond, time.Hour}[seed%2]
		if seed%3 == 0 {
			o.Bounds = Bounds{Memory: 1 << 26, Dir: filepath.Join(t.TempDir(), "keys")}
		}
		n := 2 + int(seed%3)
		dirs := processes(t, n, lines, o, checkpoint)
		m, err := Merge(dirs)
		if err != nil || m.Unspanned != "" || len(m.Missing) > 0 {
			t.Fatalf("seed %d: %v %+v", seed, err, m)
		}
		sameFindings(t, seed, united(t, m), want)
		for _, l := range m.lines {
			kinds[kindOf(string(l.text))]++
			if len(l.at) == 0 {
				spanning++
			}
		}
	}
	for seed := range uint64(histtest.Long(6, 300)) {
		rng := rand.New(rand.NewPCG(seed, 37))
		lines := drawnStream(rng, 40+rng.IntN(300))
		profile, err := mechanism.LookupProfile(names[seed%uint64(len(names))])
		if err != nil {
			t.Fatal(err)
		}
		try(seed, endedLines(lines), LeopardOptions{Profile: profile, Lateness: rng.Int64N(300),
			Attach: Attach(rng.IntN(3)), Skew: rng.Int64N(3) * 5, Gate: GateOptions{Once: true}})
	}
	for seed := range uint64(histtest.Long(12, 300)) {
		profile, err := mechanism.LookupProfile(names[seed%2])
		if err != nil {
			t.Fatal(err)
		}
		lines := tangled(rand.New(rand.NewPCG(seed, 38)), 300)
		try(seed, lines, LeopardOptions{Profile: profile, Lateness: 500})
	}
	seed := uint64(1 << 20)
	eachBroken(t, histtest.Long[uint64](1, 60), func(m *mechanisms) {
		seed++
		try(seed, m.lines, LeopardOptions{Skew: m.skew, Lateness: m.apart / int64(1+seed%3)})
	})
	for _, k := range []string{"LATE", "overwritten", "not-visible", mechanism.Cycle, mechanism.LostUpdate,
		mechanism.NoSnapshot, mechanism.Fractured} {
		if kinds[k] == 0 {
			t.Errorf("no %s among %v", k, kinds)
		}
	}
	if spanning < 10 {
		t.Errorf("only %d that span keys", spanning)
	}
	t.Log(spanning, kinds)
}

// tangled makes transactions that overlap, each of which reads as of its first operation; some take a later moment for
// some of their reads, and some do not see all of another. Nobody looks for cycles.
func tangled(rng *rand.Rand, txns int) (lines [][]byte) {
	type version struct{ at, val int }
	held := make([][]version, 8)
	for i := range txns {
		start := 100*i + rng.IntN(40)
		end := start + 220 + rng.IntN(400)
		wrong := rng.IntN(8) == 0
		b := fmt.Appendf(nil, `{"id":%d,"session":%d,"start":%d,"commit":%d,"end":%d,"ops":[`, i, i%16, start, end, end+3)
		for n, k := range rng.Perm(len(held))[:2+rng.IntN(4)] {
			if n > 0 {
				b = append(b, ',')
			}
			at, took := start+10, 100 // the snapshot is taken meanwhile
			if n > 0 {
				at, took = start+110+10*n, 4
			}
			if n > 0 && rng.IntN(3) == 0 {
				b = fmt.Appendf(b, `["w",%d,%d,%d,%d]`, k, 10*i+n+1, at, at+took)
				held[k] = append(held[k], version{end + 4, 10*i + n + 1})
				continue
			}
			seen, best := start+60, version{-1, 0}
			if wrong {
				seen += rng.IntN(110) - 55
			}
			for _, v := range held[k] {
				if v.at < seen && v.at > best.at {
					best = v
				}
			}
			b = fmt.Appendf(b, `["r",%d,%d,%d,%d]`, k, best.val, at, at+took)
		}
		lines = append(lines, append(b, "]}\n"...))
	}
	return append([][]byte{[]byte(`{"format":"isovet-history","version":1,"initial":0}` + "\n")}, lines...)
}

// endedLines are lines with their ends.
func endedLines(lines [][]byte) (out [][]byte) {
	for _, l := range lines {
		out = append(out, append(bytes.TrimSpace(l), '\n'))
	}
	return out
}

// TestMergeLeopardIncidents: what spans keys has incidents, and small histories with certificates that hold.
func TestMergeLeopardIncidents(t *testing.T) {
	profile, err := mechanism.LookupProfile("postgresql:serializable")
	if err != nil {
		t.Fatal(err)
	}
	lines := tangled(rand.New(rand.NewPCG(1, 38)), 300)
	m, err := Merge(processes(t, 3, lines, LeopardOptions{Profile: profile, Lateness: 500}, time.Hour))
	if err != nil || m.Unspanned != "" {
		t.Fatal(err, m.Unspanned)
	}
	dir := filepath.Join(t.TempDir(), "merged")
	if err := m.Write(dir); err != nil {
		t.Fatal(err)
	}
	cycles, count := int64(0), int64(0)
	for _, x := range m.Incidents {
		count += x.Count
		if x.Kind == mechanism.Cycle {
			cycles += x.Count
			if len(x.Evidence) == 0 || len(x.Lines) == 0 {
				t.Errorf("%+v", x)
			}
		}
	}
	if cycles < 10 || count != int64(len(m.Violations)) {
		t.Errorf("%d of cycles, %d of %d violations in incidents", cycles, count, len(m.Violations))
	}
	written := readIncidentsOf(t, dir)
	histories, certified := proofsOf(t, dir, written, "", check.Options{})
	if histories < 1 || certified < 1 {
		t.Errorf("%d histories, %d certified", histories, certified)
	}
}

// TestMergeLeopardWrong: who merges is told when a part is missing or has no checkpoint, when parts took transactions
// in different orders, when facts are damaged or gone, and that folders are of different options.
func TestMergeLeopardWrong(t *testing.T) {
	m := brokenRun(t, "blindw", "serializable-snapshot", "certifier", 0, 300)
	o := LeopardOptions{Skew: m.skew, Lateness: m.apart}
	dirs := processes(t, 2, m.lines, o, time.Hour)
	whole, err := Merge(dirs)
	if err != nil || whole.Unspanned != "" {
		t.Fatalf("%v %q", err, whole.Unspanned)
	}
	if got, err := Merge(dirs[:1]); err != nil || got.Unspanned == "" || len(got.Missing) != 1 {
		t.Errorf("one of two: %v %+v", err, got)
	}
	if got, err := Merge(processes(t, 2, m.lines, o, 0)); err != nil || got.Unspanned == "" || got.Known {
		t.Errorf("no checkpoint: %v %+v", err, got)
	}
	// One process took two transactions that end at once the other way round.
	other := slices.Clone(m.lines)
	other = slices.Delete(other, 100, 110)
	dir := processes(t, 2, other, o, time.Hour)[1]
	if got, err := Merge([]string{dirs[0], dir}); err != nil || !strings.Contains(got.Unspanned, "not judged by all") {
		t.Errorf("other transactions: %v %+v", err, got)
	}
	path := filepath.Join(dirs[1], fmt.Sprintf(factsName, 1))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var damaged *FactsError
	for _, n := range []int{0, 5, len(text) / 2, len(text) - 5} {
		if err := os.WriteFile(path, text[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := Merge(dirs); !errors.As(err, &damaged) {
			t.Errorf("cut at %d of %d: %v %+v", n, len(text), err, got)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got, err := Merge(dirs); !errors.As(err, &damaged) {
		t.Errorf("gone: %v %+v", err, got)
	}
	if _, err := NewLeopard(LeopardOptions{Of: 2, Shards: 2, Folder: "x"}); err == nil {
		t.Error("shards of processes are taken")
	}
	if _, err := NewLeopard(LeopardOptions{Of: 2}); err == nil {
		t.Error("no folder is taken")
	}
}

// TestMergeInto: merges into one folder, one after the other while processes go on, find together what one process
// finds, read facts once, and have them deleted; reads that nobody needs any more are forgotten. Another merge says
// that it does not know what was found before.
func TestMergeInto(t *testing.T) {
	deleted, histories, certified := int64(0), 0, 0
	for seed := range uint64(histtest.Long(1, 60)) {
		rng := rand.New(rand.NewPCG(seed, 39))
		profile, err := mechanism.LookupProfile("postgresql:serializable")
		if err != nil {
			t.Fatal(err)
		}
		o := LeopardOptions{Profile: profile, Lateness: 500}
		lines := tangled(rng, 400)
		once, dirs := []string{t.TempDir()}, []string{t.TempDir(), t.TempDir(), t.TempDir()}
		into := filepath.Join(t.TempDir(), "merged")
		var m *Merged
		for to := 0; to < len(lines); {
			to = min(to+40+rng.IntN(100), len(lines))
			goOn(t, once, lines[:to], o, 0)
			goOn(t, dirs, lines[:to], o, time.Millisecond)
			if to < len(lines) && rng.IntN(4) == 0 {
				continue
			}
			if m, err = MergeInto(dirs, into); err != nil || m.Unspanned != "" {
				t.Fatalf("seed %d: %v %+v", seed, err, m)
			}
			sameFindings(t, seed, united(t, m), slices.Compact(single(t, once[0])))
			sameFindings(t, seed, single(t, into), united(t, m))
		}
		h, c := proofsOf(t, into, readIncidentsOf(t, into), "", check.Options{})
		histories, certified = histories+h, certified+c
		for _, dir := range dirs {
			all, err := factsFiles(dir)
			if err != nil || len(all) == 0 {
				t.Fatal(err, all)
			}
			deleted += all[0] - 1
		}
		if seed > 0 {
			continue
		}
		again, err := MergeInto(dirs, into)
		if err != nil || again.Unspanned != "" || len(again.Violations) != len(m.Violations) {
			t.Errorf("again: %v %+v", err, again)
		}
		ctx, stop := context.WithCancel(t.Context())
		followed := 0
		err = FollowMerge(ctx, dirs, into, time.Millisecond, func(m *Merged, err error) error {
			if followed++; followed == 1 {
				time.AfterFunc(20*time.Millisecond, stop)
			}
			again = m
			return err
		})
		if err != nil || followed == 0 || len(again.Violations) != len(m.Violations) {
			t.Errorf("followed %d times: %v %+v", followed, err, again)
		}
		other, err := Merge(dirs)
		if err != nil || !strings.Contains(other.Unspanned, into) || len(other.Violations) >= len(m.Violations) {
			t.Errorf("another one: %v %q", err, other.Unspanned)
		}
	}
	if deleted < 5 || histories < 2 || certified < 1 {
		t.Errorf("%d files of facts were deleted; %d histories, %d certified", deleted, histories, certified)
	}
	t.Logf("%d files of facts were deleted; %d histories, %d certified", deleted, histories, certified)
}

// TestFactsFull: where there is no room for facts for a while, in the midst of a write too, nothing ends and nothing is
// lost: what is merged is what one process finds.
func TestFactsFull(t *testing.T) {
	defer func(was time.Duration) { fullEvery = was }(fullEvery)
	fullEvery = time.Millisecond
	profile, err := mechanism.LookupProfile("postgresql:serializable")
	if err != nil {
		t.Fatal(err)
	}
	o := LeopardOptions{Profile: profile, Lateness: 500}
	lines := tangled(rand.New(rand.NewPCG(5, 38)), 400)
	want := slices.Compact(single(t, processes(t, 1, lines, o, 0)[0]))
	var dirs []string
	refused := 0
	for part := range 2 {
		var mu sync.Mutex
		n, full := 0, 0
		fail := func() error { // of two goroutines
			mu.Lock()
			defer mu.Unlock()
			if n++; n%3 == 0 {
				full = 1 + n%2
			}
			if full--; full >= 0 {
				refused++
				return &os.PathError{Op: "write", Path: "there", Err: syscall.ENOSPC}
			}
			return nil
		}
		o.Folder, o.Shard, o.Of, o.disk = t.TempDir(), part, 2, disk{fail}
		j := leopardOf(t, o)
		err := Run(t.Context(), Config{Dir: o.Folder, Judge: j, Checkpoint: time.Millisecond,
			Open: func(_ context.Context, after Places) (Source, error) {
				return slow{Pipe(bytes.NewReader(join(lines[after.Last()+1:])), after.Last()), 20}, nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		closeLeopard(t, j.(*leopard))
		o.disk = disk{}
		last := leopardOf(t, o) // the last checkpoint may have found no room
		if err := Run(t.Context(), Config{Dir: o.Folder, Judge: last, Checkpoint: time.Hour,
			Open: func(_ context.Context, after Places) (Source, error) {
				return Pipe(bytes.NewReader(nil), after.Last()), nil
			}}); err != nil {
			t.Fatal(err)
		}
		closeLeopard(t, last.(*leopard))
		dirs = append(dirs, o.Folder)
	}
	m, err := Merge(dirs)
	if err != nil || m.Unspanned != "" || refused < 10 {
		t.Fatalf("%v %+v, refused %d times", err, m, refused)
	}
	sameFindings(t, 5, united(t, m), want)
	t.Logf("refused %d times", refused)
}
