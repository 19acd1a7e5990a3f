package watch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/check/timestamp"
	"isovet/history/format/jsonl"
	"isovet/internal/bounds"
	"isovet/internal/keystore"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
)

// drawnStream is a random stream of registers and lists by timestamps and client times, wrong in places, and in any
// order within a few transactions.
func drawnStream(rng *rand.Rand, txns int) (lines [][]byte) {
	keys := 1 + rng.IntN(40)
	sessions := 1 + rng.IntN(12)
	wrong := rng.Float64() * 0.1
	shuffle := rng.IntN(12)
	held := make([]int64, keys)
	lists := make([][]int64, keys)
	seq := make([]int64, sessions)
	if rng.IntN(2) == 0 {
		lines = append(lines, []byte(`{"format":"isovet-history","version":1,"initial":0}`))
	}
	type placed struct {
		at   int64
		line []byte
	}
	var all []placed
	val := int64(0)
	for i := range int64(txns) {
		start, commit := 10*i+10, 10*i+15+rng.Int64N(4)
		if rng.Float64() < wrong {
			start -= rng.Int64N(60)
		}
		s := rng.IntN(sessions)
		status := "committed"
		if rng.IntN(20) == 0 {
			status = "aborted"
		}
		var b []byte
		b = fmt.Appendf(b, `{"id":%d,"session":%d,"seq":%d,"status":%q,"start_ts":%d,"commit_ts":%d,`, i, s, seq[s],
			status, start, commit)
		b = fmt.Appendf(b, `"start":%d,"commit":%d,"end":%d,"ops":[`, start, commit, commit+1)
		seq[s]++
		if rng.Float64() < wrong/4 {
			seq[s]++
		}
		for o := range 1 + rng.IntN(4) {
			if o > 0 {
				b = append(b, ',')
			}
			k := rng.IntN(keys)
			read := held[k]
			if rng.Float64() < wrong && val > 0 {
				read = rng.Int64N(val)
			}
			switch val++; {
			case k%5 == 4 && rng.IntN(2) == 0:
				b = fmt.Appendf(b, `["a","k%d",%d]`, k, val)
				if status == "committed" {
					lists[k] = append(lists[k], val)
				}
			case k%5 == 4:
				b = fmt.Appendf(b, `["r","k%d",[`, k)
				for n, e := range lists[k] {
					if rng.Float64() < wrong/10 {
						e++
					}
					if n > 0 {
						b = append(b, ',')
					}
					b = fmt.Appendf(b, "%d", e)
				}
				b = append(b, "]]"...)
			case rng.IntN(2) == 0:
				b = fmt.Appendf(b, `["w","k%d",%d]`, k, val)
				if status == "committed" {
					held[k] = val
				}
			default:
				b = fmt.Appendf(b, `["r","k%d",%d]`, k, read)
			}
		}
		b = append(b, "]}"...)
		if rng.Float64() < wrong/10 {
			b = slices.Replace(b, len(b)-1, len(b), []byte(`,"status":"odd"}`)...)
		}
		all = append(all, placed{i + int64(rng.IntN(shuffle+1)), b})
		if rng.Float64() < wrong/4 {
			all = append(all, placed{i + int64(rng.IntN(30)), b}) // again
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return int(a.at - b.at) })
	for _, p := range all {
		lines = append(lines, p.line)
	}
	return lines
}

// told feeds a judge batches of at most so many lines, with a clock that goes on, and returns its findings.
// renew, if set, may make another of a judge now and then.
func told(t *testing.T, j Judge, lines [][]byte, most int, rng *rand.Rand, renew func(Judge) Judge) (out []string) {
	t.Helper()
	return toldFrom(t, j, lines, 0, most, rng, renew)
}

// toldFrom reads a stream whose first so many lines, a header aside, are not shown.
func toldFrom(t *testing.T, j Judge, lines [][]byte, from int64, most int, rng *rand.Rand,
	renew func(Judge) Judge) (out []string) {
	t.Helper()
	j.Begin(func(n int64) ([]byte, error) { return lines[n-from], nil })
	n := int64(0)
	take := func() {
		err := j.Findings(func(f *Finding) error {
			n++
			b, err := f.Line(n)
			out = append(out, string(b))
			return err
		})
		must.OK(t, err)
	}
	now := int64(1_750_000_000_000_000_000)
	for at := 0; at < len(lines); {
		k := min(1+rng.IntN(most), len(lines)-at)
		first := from + int64(at)
		if from > 0 && at == 0 && jsonl.IsHeader(lines[0]) {
			first, k = 0, 1
		}
		must.OK(t, j.Take(NewBatch(first, lines[at:at+k]), func(place int64, err error) {
			out = append(out, fmt.Sprint(place-first+int64(at), err))
		}))
		for l := at; l < at+k; l++ {
			if l%7 == 0 {
				now += int64(3 * time.Second)
			}
		}
		at += k
		take()
		j.Clock(now)
		take()
		if renew != nil {
			j = renew(j)
		}
	}
	j.End()
	take()
	return out
}

// spillAll has a judge let everything go to the disk that may, after every few transactions.
func spillAll(j Judge) {
	switch j := j.(type) {
	case *aion:
		j.room = shares{0, 1 << 62}
	case *leopard:
		j.everything = true
	case *replayJudge:
		j.mem.room = shares{0, 1 << 62}
	}
}

// closeStore closes what a judge has on disk, and returns how many keys and sessions that were.
func closeStore(t *testing.T, j Judge) (stored int64) {
	t.Helper()
	var store *keystore.Store
	switch j := j.(type) {
	case *aion:
		store = j.store
		stored = j.p.keys.Stored() + j.p.sessions.Stored()
	case *leopard:
		store = j.store
		stored = j.keys.Stored()
	case *replayJudge:
		store = j.mem.store
		stored = j.keys.Stored() + j.sess.Stored()
	}
	if store != nil {
		must.OK(t, store.Close())
	}
	return stored
}

// TestEvictionSays: whatever lies on disk, and however often it begins again at a checkpoint, a judge that lets
// everything go after every few transactions finds what one finds that keeps all, line by line.
func TestEvictionSays(t *testing.T) {
	defer bounds.Set("keystore.fewNumbers", 1)()
	defer bounds.Set("keystore.takenOf", 1)()
	levels := timestamp.Levels()
	names := []string{"postgresql:serializable", "postgresql:repeatable-read", "innodb:serializable",
		"postgresql:read-committed"}
	gate := GateOptions{Once: true, MaxJump: time.Minute, Patience: time.Minute}
	// stream draws one, and who judges it.
	for name, stream := range map[string]func(seed uint64, rng *rand.Rand) ([][]byte, func(b Bounds) Judge){
		"aion": func(seed uint64, rng *rand.Rand) ([][]byte, func(b Bounds) Judge) {
			lines := drawnStream(rng, 40+rng.IntN(200))
			o := AionOptions{Options: timestamp.Options{Level: levels[rng.IntN(len(levels))]},
				Lateness: rng.Int64N(300), Attach: Attach(rng.IntN(3)), Gate: gate}
			return lines, func(b Bounds) Judge { o.Bounds = b; return aionWith(t, o) }
		},
		"leopard": func(seed uint64, rng *rand.Rand) ([][]byte, func(b Bounds) Judge) {
			lines := drawnStream(rng, 40+rng.IntN(600))
			o := LeopardOptions{Profile: profileOf(t, names[rng.IntN(len(names))]), Lateness: rng.Int64N(300),
				Attach: Attach(rng.IntN(3)), Gate: gate}
			return lines, func(b Bounds) Judge { o.Bounds = b; return leopardOf(t, o) }
		},
		"replay": func(seed uint64, rng *rand.Rand) (lines [][]byte, judge func(b Bounds) Judge) {
			var lateness int64
			if seed%3 == 0 {
				lines, lateness = drawnStream(rng, 40+rng.IntN(200)), rng.Int64N(300)
			} else {
				lines, lateness = arriving(t, random.Medium(seed, random.Options{Keys: 1 + rng.IntN(60),
					Aborted: seed&1 != 0, Unknown: seed&2 != 0, Duplicates: seed%5 == 0}), rng)
			}
			o := ReplayOptions{Level: ReplayLevels()[rng.IntN(len(ReplayLevels()))], Lateness: lateness,
				Attach: Attach(rng.IntN(3)), Horizon: 1 + rng.IntN(50),
				Gate: GateOptions{Once: true, Patience: time.Minute}}
			return lines, func(b Bounds) Judge { o.Bounds = b; return replayOf(t, o) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			found, spilled, restarts := 0, int64(0), 0
			seeds, often := histtest.Long(6, 5000), histtest.Long(4, 12)
			for seed := range uint64(seeds) {
				rng := rand.New(rand.NewPCG(seed, 19))
				nearby := bounds.Set("online.nearby", []int{0, 1, 8, 64}[seed%4])
				lines, judge := stream(seed, rng)
				most := 1 + rng.IntN(8)
				want := told(t, judge(Bounds{}), lines, most, rand.New(rand.NewPCG(seed, 1)), nil)
				at := Bounds{Memory: 1 << 24, Dir: filepath.Join(t.TempDir(), "keys")}
				j := judge(at)
				spillAll(j)
				got := told(t, j, lines, most, rand.New(rand.NewPCG(seed, 1)), func(was Judge) Judge {
					if seed%4 != 1 || rng.IntN(often) > 0 {
						return was
					}
					restarts++
					cp := t.TempDir()
					must.OK(t, was.Checkpoint(cp))
					closeStore(t, was)
					j = judge(at)
					spillAll(j)
					j.Begin(func(n int64) ([]byte, error) { return lines[n], nil })
					must.OK(t, j.Restore(cp))
					return j
				})
				sameFindings(t, seed, got, want)
				found += len(want)
				spilled += closeStore(t, j)
				nearby()
			}
			must.Be(t, found >= 100 && spilled >= 20 && restarts >= 5, "too few")
			t.Logf("%d findings, %d keys and sessions on disk, %d times from a checkpoint", found, spilled, restarts)
		})
	}
}

// TestInitialInPieces: an initial transaction that is taken in pieces, between which everything goes to the disk, holds
// what it holds that is taken at once.
func TestInitialInPieces(t *testing.T) {
	defer bounds.Set("keystore.fewNumbers", 1)()
	defer bounds.Set("keystore.takenOf", 1)()
	found, pieces := 0, 0
	levels := timestamp.Levels()
	for seed := range uint64(histtest.Long(8, 3000)) {
		rng := rand.New(rand.NewPCG(seed, 22))
		lines := drawnStream(rng, 10+rng.IntN(100))
		init := []byte(`{"init":true,"ops":[`)
		n := 0
		for range 1 + rng.IntN(100) { // of keys that the others use, and lists in parts
			switch k := rng.IntN(60); {
			case k%5 != 4 && !bytes.Contains(init, fmt.Appendf(nil, `"k%d",`, k)):
				init = fmt.Appendf(init, `["w","k%d",%d],`, k, rng.IntN(50))
			case k%5 == 4:
				init = fmt.Appendf(init, `["a","k%d",%d],`, k, 10_000+n)
			default:
				continue
			}
			n++
		}
		init = append(bytes.TrimSuffix(init, []byte(",")), "]}"...)
		at := 0
		if jsonl.IsHeader(lines[0]) {
			at = 1
		}
		lines = slices.Insert(lines, at, init)
		o := AionOptions{Options: timestamp.Options{Level: levels[rng.IntN(len(levels))]}, Lateness: rng.Int64N(300),
			Attach: Attach(rng.IntN(3)), Gate: GateOptions{Once: true, MaxJump: time.Minute, Patience: time.Minute}}
		most := 2 + rng.IntN(30)
		want := told(t, aionWith(t, o), lines, most, rand.New(rand.NewPCG(seed, 1)), nil)
		o.Bounds = Bounds{Memory: 1 << 20, Dir: filepath.Join(t.TempDir(), "keys")}
		least := bounds.Set("watch.pieceKeys", 1+rng.IntN(5))
		j := aionWith(t, o)
		j.room = shares{[]int64{0, rng.Int64N(4000)}[seed%2], 1 << 62}
		sameFindings(t, seed, told(t, j, lines, most, rand.New(rand.NewPCG(seed, 1)), nil), want)
		least()
		found += len(want)
		if n > 5 {
			pieces++
		}
		closeStore(t, j)
	}
	must.Equal(t, found < 50 || pieces < 4, false, "%d findings, %d streams with pieces", found, pieces)
}

func sameFindings(t *testing.T, seed uint64, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("seed %d: finding %d of %d, %d:\n%s\n%s", seed, i, len(got), len(want),
				strings.Join(got[min(i, len(got)):min(i+3, len(got))], "\n"),
				strings.Join(want[min(i, len(want)):min(i+3, len(want))], "\n"))
		}
	}
}
