package watch

import (
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"isovet/internal/keyed"
	"isovet/internal/test/histtest"
	"isovet/level"
)

// newKeys writes transactions each of which has a key of its own, and one in eight of which reads one of before. tell
// is called now and then with how many have been written.
func newKeys(w io.Writer, txns int64, tell func(n int64)) error {
	out := lineWriter(w)
	for i := range txns {
		at := 1_750_000_000_000_000_000 + 2000*i
		fmt.Fprintf(out, `{"id":%d,"session":%d,"start_ts":%d,"commit_ts":%d,"start":%d,"commit":%d,"end":%d,`, i,
			i%50, 2*i+10, 2*i+11, at, at+500, at+1000)
		fmt.Fprintf(out, `"ops":[["w",%d,%d]`, 1000+i, i+1)
		if i%8 == 7 {
			old := int64(keyed.Scramble(uint64(i)) % uint64(i))
			fmt.Fprintf(out, `,["r",%d,%d]`, 1000+old, old+1)
		}
		if _, err := out.WriteString("]}\n"); err != nil {
			return err
		}
		if i%1000 == 999 {
			tell(i + 1)
		}
	}
	return out.Flush()
}

// onDisk is what the files of a folder take; those that have two names count once.
func onDisk(dir string) (bytes int64) {
	seen := map[string]bool{}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() { // files go while we look
			return nil
		}
		if st, err := e.Info(); err == nil && !seen[e.Name()] {
			seen[e.Name()] = filepath.Ext(path) == ".sst"
			bytes += st.Size()
		}
		return nil
	})
	return bytes
}

// TestNewKeys: a key more in each transaction, ISOVET_LONG=1 for 50 million, or as many as ISOVET_TXNS says: what
// judges keep in memory does not grow, and what is right is found to be. What of keys lies on disk grows with them, the
// log does not.
func TestNewKeys(t *testing.T) {
	txns := int64(histtest.Long(9_000, 50_000_000))
	if n, err := strconv.ParseInt(os.Getenv("ISOVET_TXNS"), 10, 64); err == nil {
		txns = n
	}
	bounds := Bounds{Memory: 3 << 19}
	if txns >= 1_000_000 {
		bounds.Memory = 256 << 20
	}
	p, gate := profileOf(t, "postgresql:repeatable-read"), GateOptions{Once: true}
	for _, name := range []string{"aion", "leopard", "replay"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			bounds.Dir = filepath.Join(dir, "keys")
			var judge Judge
			switch name {
			case "aion":
				judge = aionWith(t, AionOptions{Options: si, Lateness: 1000, Gate: gate, Bounds: bounds})
			case "replay":
				judge = replayOf(t, ReplayOptions{Level: level.StrictSerializable, Lateness: int64(time.Millisecond),
					Gate: gate, Bounds: bounds})
			default:
				judge = leopardOf(t, LeopardOptions{Profile: p, Lateness: int64(time.Millisecond), Gate: gate,
					Bounds: bounds})
			}
			pauses := &paused{Judge: judge}
			judge = pauses
			debug.FreeOSMemory()
			limit := bounds.Memory // as the command line has it
			if txns < 1_000_000 {
				limit += 64 << 20 // what other tests left would have the collector run all the time
			}
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
			before := memory()
			var m Metrics
			next := txns / 10
			began, cpu := time.Now(), processSeconds()
			tell := func(n int64) {
				if s := m.Get(); n >= next {
					next += txns / 10
					t.Logf("%d transactions, %.0f s, %.0f s of processor, %d MB more in memory, %d keys on disk, "+
						"%d MB on disk, %d MB of them of keys; a checkpoint's pause %v", n, time.Since(began).Seconds(),
						processSeconds()-cpu, (memory()-before)>>20, count(s, "spilled_keys"), onDisk(dir)>>20,
						onDisk(bounds.Dir)>>20, s.CheckpointPause)
				}
			}
			r, w := io.Pipe()
			go func() { w.CloseWithError(newKeys(w, txns, tell)) }()
			err := Run(t.Context(), Config{Dir: dir, Judge: judge, Metrics: &m, Checkpoint: 20 * time.Second,
				Keep: Keep{Bytes: 1 << 30},
				Open: pipeOf(r)})
			s := m.Get()
			defer closeStore(t, pauses.Judge) // before its folder goes
			if err != nil || s.Txns != txns || len(s.Violations) > 0 || s.Bad > 0 || s.Late > 0 {
				t.Fatalf("%v, %+v", err, s)
			}
			grown := int64(memory()) - int64(before)
			// Where a batch ends is chance: up to the room and a batch of 4096 lines are in memory at the end.
			if spilled := count(s, "spilled_keys"); spilled < txns/3 {
				t.Errorf("%d keys on disk of %d", spilled, txns)
			}
			if most := bounds.Memory + bounds.Memory/4 + 64<<20; grown > most {
				t.Errorf("%d bytes more in memory; expected at most %d", grown, most)
			}
			t.Logf("%d MB more in memory, %d keys on disk, %.1f s of processor", grown>>20, count(s, "spilled_keys"),
				processSeconds()-cpu)
			t.Logf("%d checkpoints stopped the judge, for at most %v, %.0f ms of processor: %.3f s", len(pauses.busy),
				pauses.longest, 1e3*slices.Max(pauses.busy), pauses.busy)
		})
	}
}

// paused is a judge whose checkpoints' pauses are measured: the work in them, seconds of its thread's processor time,
// and how long the longest took.
type paused struct {
	Judge
	busy    []float64
	longest time.Duration
}

func (p *paused) Checkpoint(dir string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began, busy := time.Now(), threadSeconds()
	err := p.Judge.Checkpoint(dir)
	p.busy = append(p.busy, threadSeconds()-busy)
	p.longest = max(p.longest, time.Since(began))
	return err
}

// threadSeconds is the processor time of this thread where the system counts it, on Linux; else 0.
func threadSeconds() float64 {
	const thread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if runtime.GOOS != "linux" || syscall.Getrusage(thread, &u) != nil {
		return 0
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// manyKeys writes transactions of 8 operations on so many keys, drawn at random, one after the other by timestamps and
// by client times, some hundred under way at a time.
func manyKeys(w io.Writer, txns, keys int64) error {
	rng := rand.New(rand.NewPCG(5, 5))
	vals := make([]int64, keys)
	out := lineWriter(w)
	for i := range txns {
		at := 1_750_000_000_000_000_000 + 30_000*i
		fmt.Fprintf(out, `{"id":%d,"session":%d,"start_ts":%d,"commit_ts":%d,"start":%d,"commit":%d,"end":%d,"ops":[`,
			i, i%50, 2*i+10, 2*i+11, at, at+20_000, at+25_000+rng.Int64N(3_000_000))
		open := ""
		for k := range 8 {
			key, kind := rng.Int64N(keys), 'r'
			if k%2 == 1 {
				kind, vals[key] = 'w', 8*i+int64(k)
			}
			fmt.Fprintf(out, `%s["%c",%d,%d]`, open, kind, key, vals[key])
			open = ","
		}
		out.WriteString("]}\n")
	}
	return out.Flush()
}

// TestManyKeys: of keys drawn at random more than fit into the memory, what is right is found to be; ISOVET_LONG=1 says
// what it costs beside a judge that has all of them in memory.
func TestManyKeys(t *testing.T) {
	txns := int64(histtest.Long(1_500, 500_000))
	keys := int64(histtest.Long(20_000, 100_000))
	p := profileOf(t, "postgresql:repeatable-read")
	for _, name := range []string{"aion", "leopard"} {
		t.Run(name, func(t *testing.T) {
			alone := 0.0
			for _, size := range []int64{0, histtest.Long[int64](2<<20, 64<<20)} {
				dir := t.TempDir()
				bounds := Bounds{Memory: size, Dir: filepath.Join(dir, "keys")}
				g := GateOptions{Once: true, MaxJump: time.Minute, Patience: time.Minute}
				var judge Judge
				if name == "aion" {
					judge = aionWith(t, AionOptions{Options: si, Lateness: 10_000, Gate: g, Bounds: bounds})
				} else {
					judge = leopardOf(t, LeopardOptions{Profile: p, Lateness: int64(20 * time.Millisecond), Gate: g,
						Bounds: bounds})
				}
				s, took := piped(t, Config{Dir: dir, Judge: judge}, int(txns),
					func(w io.Writer) error { return manyKeys(w, txns, keys) })
				if size == 0 {
					alone = took
				} else if closeStore(t, judge); count(s, "spilled_keys") == 0 {
					t.Error("no keys on disk")
				}
				t.Logf("--memory %d MiB: %.1f µs of processor a transaction, %.1f times as much; %d keys on disk",
					size>>20, took, took/alone, count(s, "spilled_keys"))
			}
		})
	}
}
