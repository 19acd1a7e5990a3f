package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/internal/bounds"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// permuted are the lines of a history in an order of arrival in which each is within the lateness of 400, but for a
// part of them, which come much later.
func permuted(t *testing.T, seed uint64, isolation string, late float64) [][]byte {
	t.Helper()
	_, lines := arrivalsOf(t, datasets.Spec{Workload: "gt", Txns: 250, Sessions: 8, Keys: 60, Ops: 4,
		Isolation: isolation, DBTimes: true, Times: datasets.NoTimes, Seed: seed}, 20, false)
	rng := rand.New(rand.NewPCG(seed, 8))
	at := make([]int, len(lines))
	for i := range at {
		if at[i] = i; i > 2 && rng.Float64() < late {
			at[i] += rng.IntN(len(lines))
		}
	}
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return at[a] - at[b] })
	out := make([][]byte, len(lines))
	for i, n := range order {
		out[i] = lines[n]
	}
	return out
}

// TestSuspects: of a history that is right, whatever the order in which it is delivered, no violation is told, and each
// read that was suspected is withdrawn, which is reported, with a LATE line of its own; of one that is wrong each is
// withdrawn, or confirmed with a violation. In time nothing is even late. A GAP line tells of what has not come yet.
func TestSuspects(t *testing.T) {
	suspects, cleared, convicted := 0, 0, 0
	for seed := range randtest.Long[uint64](36, 400) {
		isolation, delay := "snapshot-isolation", []float64{0, .05, .2}[seed%3]
		if seed%4 == 3 {
			isolation = "read-uncommitted"
		}
		lines := permuted(t, seed, isolation, delay)
		judge := aionWith(t, AionOptions{Options: si, Lateness: 400, Gate: GateOptions{Once: true,
			Patience: time.Hour}})
		judge.Clock(1e18) // as the log has it before the first line
		open, settled := map[string]bool{}, map[string]string{}
		take := func() {
			told := must.Get(judge.SuspectsTold(true))(t)
			for _, s := range told {
				name := fmt.Sprint(s.Txn, " ", string(s.Key), " ", *s.Op)
				switch {
				case !s.Suspect || s.Axiom != "EXT":
					t.Fatalf("%+v", s)
				case s.Settled == "" && !open[name]:
					open[name] = true
					suspects++
				case s.Settled != "" && open[name] && settled[name] == "":
					settled[name] = s.Settled
				default:
					t.Fatalf("seed %d: %s: %q, out of turn", seed, name, s.Settled)
				}
			}
		}
		out := pieces(t, rand.New(rand.NewPCG(seed, 1)), judge, lines, func(j Judge) Judge {
			listed := j.(suspecting).Suspects(1 << 20)
			for i := range listed {
				must.Equal(t, listed[i].Settled, "", "%+v", listed[i])
			}
			take()
			return j
		})
		take()
		if left := judge.Suspects(10); len(left) > 0 {
			t.Errorf("seed %d: suspects at the end: %+v", seed, left)
		}
		said := map[string]string{}
		for _, line := range out {
			var v Violation
			must.OK(t, json.Unmarshal([]byte(line), &v))
			if v.Op != nil && (v.Axiom == late || v.Axiom == "EXT" &&
				slices.Contains([]string{"", "own", "after"}, v.Why)) {
				said[fmt.Sprint(v.Txn, " ", string(v.Key), " ", *v.Op)] = v.Axiom
			}
			if isolation == "snapshot-isolation" && v.Axiom != late && v.Axiom != gap || delay == 0 && v.Axiom == late {
				t.Errorf("seed %d, delayed %v: %s", seed, delay, line)
			}
		}
		for name := range open {
			switch {
			case settled[name] == withdrawn && said[name] == late:
				cleared++
			case settled[name] == confirmed && said[name] == "EXT":
				convicted++
			default:
				t.Errorf("seed %d: %s: settled %q, told as %q", seed, name, settled[name], said[name])
			}
		}
	}
	if suspects < 50 || cleared < 20 || convicted < 3 {
		t.Errorf("%d suspects, %d withdrawn, %d confirmed", suspects, cleared, convicted)
	}
	t.Logf("%d suspects, %d withdrawn, %d confirmed", suspects, cleared, convicted)
}

// TestSuspectsReplay is the same of replay, at all its levels: each read that was told to wait for a writer that comes
// late is confirmed, with a violation, or withdrawn; withdrawn are all of a history that is right.
func TestSuspectsReplay(t *testing.T) {
	suspects, cleared, convicted := 0, 0, 0
	randtest.Seeds(t, randtest.Long[uint64](5, 2000), func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0x0a15))
		h := random.Medium(seed, random.Options{Aborted: seed&1 != 0, Unknown: seed&2 != 0})
		lines, lateness := arriving(t, h, rng)
		for i := range lines { // some come late
			if to := i + rng.IntN(60); i > 1 && to < len(lines) && rng.IntN(8) == 0 {
				line := lines[i]
				copy(lines[i:to], lines[i+1:to+1])
				lines[to] = line
			}
		}
		lateness /= 4
		for _, l := range ReplayLevels() {
			want := replayed(t, h, l)
			j := replayOf(t, ReplayOptions{Level: l, Lateness: lateness, Gate: GateOptions{Patience: 1 << 60}})
			j.Clock(1)
			j.Begin(func(n int64) ([]byte, error) { return lines[n], nil })
			wrong, open := map[string]bool{}, map[string]bool{}
			var settled []string
			take := func() {
				told := must.Get(j.SuspectsTold(true))(t)
				for _, s := range told {
					name := fmt.Sprint(s.Txn, " ", string(s.Key), " ", *s.Op)
					switch {
					case s.Settled == "" && !open[name]:
						open[name] = true
						suspects++
						continue
					case s.Settled == confirmed && open[name]:
						settled = append(settled, name)
						convicted++
					case s.Settled == withdrawn && open[name]:
						cleared++
					default:
						t.Fatalf("seed %d, %s: %s: %q, out of turn", seed, l, name, s.Settled)
					}
					delete(open, name)
				}
				must.OK(t, j.Findings(func(f *Finding) error {
					text, err := f.Line(1)
					if err != nil {
						return err
					}
					var v ReplayViolation
					if f.Class == violated {
						if err := json.Unmarshal(text, &v); err != nil {
							return err
						}
						wrong[fmt.Sprint(v.Txn, " ", string(v.Key), " ", *v.Op)] = true
					}
					return nil
				}))
				if listed := j.Suspects(1 << 20); len(listed) < len(open) {
					t.Fatalf("seed %d, %s: %d wait, and %d are listed", seed, l, len(open), len(listed))
				}
			}
			for at := 0; at < len(lines); at += 7 {
				err := j.Take(NewBatch(int64(at), lines[at:min(at+7, len(lines))]), func(_ int64, err error) {
					t.Fatal(err)
				})
				must.OK(t, err)
				take()
			}
			j.End()
			take()
			for _, name := range settled {
				must.Be(t, wrong[name], "seed %d, %s: %s is confirmed, and no violation", seed, l, name)
			}
			if len(open) > 0 || want.Verdict == evidence.Holds && len(wrong)+len(settled) > 0 {
				t.Errorf("seed %d, %s: check says %s; %v wrong, %v confirmed, %v left open", seed, l, want.Verdict,
					wrong, settled, open)
			}
		}
	})
	randtest.Mix(t, suspects < 50 || cleared < 20 || convicted < 3,
		"%d suspects, %d withdrawn, %d confirmed", suspects, cleared, convicted)
}

// TestPatience: a read of a value that nobody wrote is a violation once the patience is over, not before, though no
// line arrives, and never if lines are lost.
func TestPatience(t *testing.T) {
	var lines [][]byte
	for i, ops := range []string{`["w","x",1]`, `["r","x",1]`, `["r","x",7]`} {
		lines = append(lines, fmt.Appendf(nil, `{"id":%d,"session":%[1]d,"start":%d,"commit":%d,"end":%[3]d,`+
			`"start_ts":%[2]d,"commit_ts":%[3]d,"ops":[%s]}`, i, 10*i+10, 10*i+15, ops))
	}
	gate := GateOptions{Patience: time.Minute}
	for _, lost := range []bool{false, true} {
		for _, j := range []Judge{aionWith(t, AionOptions{Options: si, Gate: gate}),
			replayOf(t, ReplayOptions{Level: level.StrictSerializable, Gate: gate}),
			must.Get(NewLeopard(LeopardOptions{Profile: profileOf(t, "postgresql:serializable"), Gate: gate}))(t)} {
			j.Begin(func(n int64) ([]byte, error) { return lines[n], nil })
			j.Clock(1e18)
			must.OK(t, j.Take(NewBatch(0, lines[:2]), nil))
			if lost {
				j.Lost()
			}
			must.OK(t, j.Take(NewBatch(2, lines[2:]), nil))
			mark, _ := j.Quiet()
			j.Advance(mark)
			for after, want := range []int{0, 0, 0, 1} {
				n := 0
				j.Clock(1e18 + int64(after)*29e9)
				must.OK(t, j.Findings(func(*Finding) error { n++; return nil }))
				if n > 0 && lost || n != want && !lost {
					t.Errorf("%T, lost %t, after %d s: %d findings", j, lost, 29*after, n)
				}
			}
		}
	}
}

// TestManyWait: where more reads wait for late writers than can, no judge accuses anybody, and each has a line.
func TestManyWait(t *testing.T) {
	for _, name := range []string{"watch.maxWaiting", "online.maxSuspects", "mechanism.maxSuspects"} {
		defer bounds.Set(name, 3)()
	}
	var lines [][]byte
	add := func(at int, op string, val int) {
		lines = append(lines, fmt.Appendf(nil, `{"id":%d,"session":%[1]d,"start":%d,"commit":%d,"end":%[3]d,`+
			`"start_ts":%[2]d,"commit_ts":%[3]d,"ops":[[%q,"x%d",%[5]d]]}`, len(lines), at, at+5, op, val))
	}
	for i := range 8 {
		add(100, "r", 1+i)
	}
	for i := range 8 {
		add(10+i, "w", 1+i) // late
	}
	gate := GateOptions{Patience: time.Minute}
	for _, j := range []Judge{aionWith(t, AionOptions{Options: si, Lateness: 9, Gate: gate}),
		replayOf(t, ReplayOptions{Level: level.StrictSerializable, Lateness: 9, Gate: gate}),
		must.Get(NewLeopard(LeopardOptions{Profile: profileOf(t, "postgresql:serializable"), Lateness: 9,
			Gate: gate}))(t)} {
		j.Begin(func(n int64) ([]byte, error) { return lines[n], nil })
		j.Clock(1e18)
		must.OK(t, j.Take(NewBatch(0, lines[:8]), nil))
		mark, _ := j.Quiet()
		j.Advance(mark)
		must.OK(t, j.Take(NewBatch(8, lines[8:]), nil))
		reads := map[string]int{}
		must.OK(t, j.Findings(func(f *Finding) error {
			line, err := f.Line(1)
			must.Be(t, f.Unjudged, "%T: %s", j, line)
			var v Violation
			if err = errors.Join(err, json.Unmarshal(line, &v)); v.Op != nil {
				reads[string(v.Key)]++
			}
			return err
		}))
		must.Equal(t, len(reads) < 5, false, "%T: reads with a line: %v", j, reads)
	}
}
