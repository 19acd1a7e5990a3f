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
	"sync/atomic"
	"testing"
	"time"

	"isovet/check/timestamp"
	"isovet/datasets"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// pieces feeds a judge lines in batches of random sizes, with the clock going on between them, and returns the lines of
// its findings. turn is called between two batches, and where a call has ended early; it returns who goes on.
func pieces(t *testing.T, rng *rand.Rand, j Judge, lines [][]byte, turn func(Judge) Judge) (out []string) {
	t.Helper()
	recall := func(n int64) ([]byte, error) { return bytes.TrimSuffix(lines[n], []byte("\n")), nil }
	j.Begin(recall)
	whole := func(do func() error) {
		for {
			must.OK(t, do())
			if x, is := j.(Interruptible); !is || !x.Cut() {
				return
			}
			j = turn(j)
		}
	}
	take := func() {
		whole(func() error {
			return j.Findings(func(f *Finding) error {
				b, err := f.Line(int64(len(out)) + 1)
				out = append(out, string(b))
				return err
			})
		})
	}
	clock := int64(1e18)
	for at := 0; at < len(lines); {
		n := min(1+rng.IntN(min(60, len(lines)/4)), len(lines)-at)
		if every, _ := j.Tick(); every > 0 && rng.IntN(3) == 0 {
			clock += rng.Int64N(int64(2 * time.Second))
			whole(func() error { j.Clock(clock); return nil })
			take()
		}
		whole(func() error { return j.Take(NewBatch(int64(at), lines[at:at+n]), func(int64, error) {}) })
		take()
		at += n
		j = turn(j)
	}
	whole(func() error { j.End(); return nil })
	take()
	return out
}

// TestCheckpoint: a judge that is restored in the midst, of a call that has ended early too, finds what the one that it
// was restored from finds, to the last byte, as does one restored from that.
func TestCheckpoint(t *testing.T) {
	turns, total := 0, 0
	check := func(seed uint64, lines [][]byte, judge func() Judge) {
		t.Helper()
		want := pieces(t, rand.New(rand.NewPCG(seed, 1)), judge(), lines, func(j Judge) Judge { return j })
		often := rand.New(rand.NewPCG(seed, 2))
		dirs := t.TempDir()
		hasty := func() Judge {
			j := judge()
			if x, is := j.(Interruptible); is {
				x.Until(func() bool { return often.IntN(30) == 0 })
			}
			return j
		}
		got := pieces(t, rand.New(rand.NewPCG(seed, 1)), hasty(), lines, func(j Judge) Judge {
			if often.IntN(3) > 0 {
				return j
			}
			dir := filepath.Join(dirs, fmt.Sprint(turns))
			turns++
			must.OK(t, os.Mkdir(dir, 0o755))
			must.OK(t, j.Checkpoint(dir))
			next := hasty()
			next.Begin(func(n int64) ([]byte, error) { return bytes.TrimSuffix(lines[n], []byte("\n")), nil })
			must.OK(t, next.Restore(dir))
			var a, b Snapshot
			j.Stats(&a)
			next.Stats(&b)
			a.Rectified, b.Rectified = Rectified{}, Rectified{} // of this run
			must.Equal(t, fmt.Sprint(b), fmt.Sprint(a), "seed %d: restored", seed)
			return next
		})
		if !slices.Equal(got, want) {
			for i := range min(len(got), len(want)) {
				must.Equal(t, got[i], want[i], "seed %d: finding %d", seed, i)
			}
			t.Fatalf("seed %d: %d findings, %d without a restart", seed, len(got), len(want))
		}
		total += len(want)
	}
	gates := []GateOptions{{}, {Once: true, MaxJump: time.Minute, Patience: time.Second}}
	for seed := range uint64(histtest.Long(2, 12)) {
		spec := datasets.Spec{Workload: []string{"gt", "list-append"}[seed%2], Keys: 40,
			Sessions: 8, Txns: histtest.Long(450, 700), Ops: 5,
			Isolation: "read-committed", DBTimes: true, Times: datasets.NoTimes, Seed: seed}
		_, lines := arrivalsOf(t, spec, 60, false)
		if seed%3 == 0 {
			lines = lines[100:] // from the midst
		}
		if seed%4 == 1 { // some are repeated, some missing
			lines = append(slices.Concat(lines[:300], lines[250:400], lines[410:]), lines[100])
		}
		o := AionOptions{Options: timestamp.Options{Level: []level.Level{level.SessionSnapshotIsolation,
			level.SessionSerializable}[seed/2%2]}, Lateness: []int64{0, 100, 400}[seed%3], Attach: AttachAuto,
			Gate: gates[seed%2]}
		check(seed, lines, func() Judge {
			return aionWith(t, o)
		})
	}
	for seed := range uint64(histtest.Long(4, 24)) { // one is far ahead, and later all are
		var lines [][]byte
		for i := range uint64(40) {
			at := 10 * i
			if i == seed || i > 20 {
				at += 1 << 40
			}
			lines = append(lines, fmt.Appendf(nil, `{"id":%d,"session":%d,"start_ts":%d,"commit_ts":%d,"ops":[["w","x",%[1]d]]}`,
				i, i%12, at, at+1))
		}
		check(seed, lines, func() Judge {
			return aionWith(t, AionOptions{Options: si, Lateness: 100, Attach: AttachAuto, Gate: gates[1]})
		})
	}
	broken := 0
	eachBroken(t, 1, func(m *mechanisms) {
		if broken++; broken%histtest.Long(4, 1) > 0 {
			return
		}
		o := LeopardOptions{Skew: m.skew, Lateness: m.apart / 3, Attach: AttachAuto, Gate: gates[total%2]}
		check(uint64(m.apart), m.lines, func() Judge { return leopardOf(t, o) })
	})
	for seed := range uint64(histtest.Long(2, 8)) {
		spec := datasets.Spec{Workload: "mix", Txns: histtest.Long(350, 800), Sessions: 8, Keys: 40, Ops: 5,
			Isolation: []string{"read-committed", "snapshot-isolation"}[seed%2], Times: datasets.TxnTimes,
			Seed: seed, UnknownRate: 0.05}
		h := must.Get(datasets.Generate(t.Context(), spec))(t)
		lines, lateness := arriving(t, h, rand.New(rand.NewPCG(seed, 3)))
		if seed%3 == 0 {
			lines = lines[200:] // from the midst
		}
		o := ReplayOptions{Level: ReplayLevels()[seed%6], Lateness: lateness / 2, Attach: AttachAuto,
			Gate: gates[seed%2], Horizon: []int{100, 0}[seed/2%2]}
		check(seed, lines, func() Judge {
			return replayOf(t, o)
		})
	}
	must.Equal(t, turns < 50 || total < 300, false, "%d restarts, %d findings: too few to be a test", turns, total)
	t.Logf("%d restarts, %d findings", turns, total)
}

// mortal is a judge whose process has been killed: it writes nothing any more.
type mortal struct {
	Judge
	dead *atomic.Bool
}

func (m mortal) Checkpoint(dir string) error {
	if m.dead.Load() {
		return errKilled
	}
	return m.Judge.Checkpoint(dir)
}

// TestResume: killed at random places and started again, with a checkpoint after every batch, the folder has the
// violations of one run, byte for byte, and the second of two starts reads little of the log.
func TestResume(t *testing.T) {
	defer func(was int64) { segmentBytes = was }(segmentBytes)
	segmentBytes = 20_000
	_, lines := arrivals(t, 5, 2500)
	in := filepath.Join(t.TempDir(), "in.jsonl")
	must.OK(t, os.WriteFile(in, join(lines), 0o666))
	rng := rand.New(rand.NewPCG(1, 2))
	run := func(dir string, dead *atomic.Bool, wrap func(Source) Source) (Snapshot, error) {
		var m Metrics
		err := Run(t.Context(), Config{Dir: dir, Judge: mortal{aionOf(si, 200), dead}, Checkpoint: 1, Metrics: &m,
			Open: func(_ context.Context, after Places) (Source, error) {
				s, err := Files(FileOptions{Path: in, Once: true}, after)
				return wrap(s), err
			}})
		return m.Get(), err
	}
	once, again := t.TempDir(), t.TempDir()
	var never atomic.Bool
	all := must.Get(run(once, &never, func(s Source) Source { return s }))(t)
	want, err := os.ReadFile(filepath.Join(once, "violations.jsonl"))
	must.Hold(t, err == nil && bytes.Count(want, []byte("\n")) >= 100, "%d bytes of violations; %v", len(want), err)
	stops := 0
	for err = errKilled; err != nil; stops++ {
		var dead atomic.Bool
		left := 1 + rng.IntN(len(lines)/8)
		_, err = run(again, &dead, func(s Source) Source {
			return &ending{dying{s, &left, 1 + rng.IntN(60), []string{"next", "done"}[rng.IntN(2)]}, &dead}
		})
		must.Hold(t, err == nil || errors.Is(err, errKilled), "%v", err)
		if whole, _, err := checkpoints(again); err != nil || len(whole) > keptCheckpoints || stops > 0 &&
			len(whole) == 0 {
			t.Fatalf("checkpoints %v, %v", whole, err)
		}
		if stops%5 == 4 { // the latest is damaged: the one before is taken
			whole, _, _ := checkpoints(again)
			path := filepath.Join(again, fmt.Sprintf(checkpointName, whole[0]), []string{stateFile,
				manifestFile}[stops%2])
			must.OK(t, os.Truncate(path, 10))
		}
	}
	got := violationsOf(t, again)
	must.Hold(t, bytes.Equal(got, want), "%d bytes of violations, %d in one run", len(got), len(want))
	must.Equal(t, stops < 8, false, "%d stops are too few", stops)
	last, err := run(again, &never, func(s Source) Source { return s })
	if err != nil || last.Lines != all.Lines || last.Txns != all.Txns || fmt.Sprint(last.Violations) !=
		fmt.Sprint(all.Violations) {
		t.Errorf("%+v, %v\nin one run %+v", last, err, all)
	}
}

// ending says when the process is killed.
type ending struct {
	dying
	dead *atomic.Bool
}

func (e *ending) Next(ctx context.Context, n int) ([]Line, error) {
	lines, err := e.dying.Next(ctx, n)
	if errors.Is(err, errKilled) {
		e.dead.Store(true)
	}
	return lines, err
}

func (e *ending) Done() error {
	err := e.dying.Done()
	if errors.Is(err, errKilled) {
		e.dead.Store(true)
	}
	return err
}

// impatient is a judge of whose watch SIGTERM ends: once it has been asked so often whether to.
type impatient struct {
	*replayJudge
	left int
	end  func()
}

func (j *impatient) Until(stop func() bool) {
	j.replayJudge.Until(func() bool {
		if j.left--; j.left == 0 {
			j.end()
		}
		return stop()
	})
}

// TestLeave: a watch that is told to end in the midst of a call of its judge leaves a checkpoint of that, so that one
// that is told so again and again, each time after the same work, gets to the end, with the violations of one run.
func TestLeave(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.jsonl")
	lines := bytes.Join(staleStream(150, rand.New(rand.NewPCG(1, 0x0a18))), []byte("\n"))
	must.OK(t, os.WriteFile(in, append(lines, '\n'), 0o666))
	run := func(dir string, often int) (runs int, violations []byte) {
		for err := context.Canceled; errors.Is(err, context.Canceled); runs++ {
			j := replayOf(t, ReplayOptions{Level: level.Serializable, Lateness: 1 << 40})
			ctx, cancel := context.WithCancel(t.Context())
			err = Run(ctx, Config{Dir: dir, Judge: &impatient{j, often, cancel}, Checkpoint: time.Hour,
				Open: func(_ context.Context, after Places) (Source, error) {
					return Files(FileOptions{Path: in, Once: true}, after)
				}})
			if cancel(); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		return runs, violationsOf(t, dir)
	}
	_, want := run(t.TempDir(), 1<<40)
	runs, got := run(t.TempDir(), 25)
	if !bytes.Equal(got, want) || runs < 5 || bytes.Count(want, []byte("\n")) < 20 {
		t.Errorf("%d runs; %s\nin one run %s", runs, got, want)
	}
}
