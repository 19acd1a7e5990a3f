package watch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/check/timestamp"
	"isovet/datasets"
	"isovet/history"
	"isovet/internal/keyed"
	"isovet/internal/slice"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// player delivers lines at the times of a clock of its own.
type player struct {
	now   time.Time
	every time.Duration // a line
	most  int
	lines []string
	place int64
}

func (p *player) clock() time.Time { return p.now }

func (p *player) Next(ctx context.Context, _ int) (out []Line, err error) {
	for len(out) < p.most && len(p.lines) > 0 {
		out = append(out, Line{Place: p.place, Text: []byte(p.lines[0])})
		p.lines, p.place, p.now = p.lines[1:], p.place+1, p.now.Add(p.every)
	}
	if len(out) == 0 {
		return nil, io.EOF
	}
	return out, nil
}

func (p *player) Done() error  { return nil }
func (p *player) Close() error { return nil }

// play judges lines that come one a millisecond by a clock of the test's, and returns the folder.
func play(t testing.TB, j Judge, lines []string, most int) (dir string, s Snapshot) {
	t.Helper()
	p := &player{now: time.Unix(1_800_000_000, 0), every: time.Millisecond, most: most, lines: lines}
	var m Metrics
	dir = filepath.Join(t.(interface{ TempDir() string }).TempDir())
	err := Run(t.Context(), Config{Dir: dir, Judge: j, Metrics: &m, Now: p.clock,
		Bad:  func(place int64, err error) { t.Errorf("line %d: %v", place, err) },
		Open: func(context.Context, Places) (Source, error) { return p, nil }})
	must.OK(t, err)
	return dir, m.Get()
}

// classes takes the findings of a folder apart: those of the classes that are named, and the others.
func classes(t testing.TB, dir string, named ...string) (these, others []string) {
	t.Helper()
	b := violationsOf(t, dir)
	for line := range bytes.Lines(b) {
		var v Violation
		must.OK(t, json.Unmarshal(line, &v))
		if slices.Contains(named, v.Axiom) {
			these = append(these, keyOf(v))
		} else {
			others = append(others, keyOf(v))
		}
	}
	slices.Sort(these)
	slices.Sort(others)
	return these, others
}

// shuffled sends lines again, and some later than others, by at most so many.
func shuffled(rng *rand.Rand, lines []string, head, by int, twice float64) (out []string) {
	type sent struct {
		at   float64
		line string
	}
	var all []sent
	for i, l := range lines {
		at := float64(i) + rng.Float64()*float64(by)
		if i < head {
			at = -1e9 + float64(i)
		}
		all = append(all, sent{at, l})
		for n := 0; i > 0 && (n == 0 && i < head || rng.Float64() < twice); n++ { // the initial transaction, too
			all = append(all, sent{max(at, 0) + rng.Float64()*float64(2*by), l})
		}
	}
	slices.SortStableFunc(all, func(a, b sent) int { return cmp.Compare(a.at, b.at) })
	for _, x := range all {
		out = append(out, x.line)
	}
	return out
}

// stamps multiplies the timestamps of lines, and adds to them.
func stamps(t testing.TB, lines [][]byte, scale, from int64) (out []string) {
	for _, l := range lines {
		var m map[string]json.RawMessage
		must.OK(t, json.Unmarshal(l, &m))
		for _, f := range []string{"start_ts", "commit_ts"} {
			var n int64
			if json.Unmarshal(m[f], &n) == nil {
				m[f] = json.RawMessage(fmt.Sprint(from + scale*n))
			}
		}
		b := must.Get(json.Marshal(m))(t)
		out = append(out, string(b))
	}
	return out
}

const mad = `{"id":-%d,"session":%d,"start_ts":%d,"commit_ts":%d,"ops":[["w",%d,"mad"]]}`

// TestDelivery: lines out of their order, again, and some far ahead of all others: what is found is what Chronos finds
// in the history, whatever the timestamps are, and what is far ahead is reported.
func TestDelivery(t *testing.T) {
	clock := time.Unix(1_800_000_000, 0)
	randtest.Seeds(t, randtest.Long[uint64](6, 120), func(tb testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0xde1))
		h, raw := arrivals(t, seed, 400+rng.IntN(400))
		want := chronos(t, h, si)
		// a counter; nanoseconds and milliseconds since 1970: the store's timestamps are some 40 a transaction
		scale := []int64{1, 50_000, 1}[seed%3]
		from := []int64{0, clock.UnixNano(), clock.UnixMilli()}[seed%3]
		lines := stamps(tb, raw, scale, from)
		lines = shuffled(rng, lines, 2, 60, .1)
		jumps := 0
		for range rng.IntN(4) {
			jumps++
			i := len(lines)/4 + rng.IntN(len(lines)/2)
			at := from + int64(jumps)*1_000_000_000_000_000
			lines = slices.Insert(lines, i, fmt.Sprintf(mad, jumps, rng.IntN(8), at, at+1, rng.IntN(40)))
		}
		j := aionWith(t, AionOptions{Options: si, Wait: 2 * time.Second, Attach: AttachAuto,
			Gate: GateOptions{Once: true, MaxJump: time.Minute, Patience: 3 * time.Second}})
		dir, s := play(tb, j, lines, 1+rng.IntN(100))
		ahead, got := classes(tb, dir, jumped)
		if !slices.Equal(got, want) || len(ahead) != jumps || s.Late > 0 {
			t.Fatalf("seed %d: %d violations, Chronos has %d; %d of %d jumps; %d late", seed, len(got), len(want),
				len(ahead), jumps, s.Late)
		}
		must.Same(t, count(s, "duplicates_total"), int64(len(lines)-len(raw)-jumps), "seed %d", seed)
		must.Equal(t, len(want) < 10, false, "seed %d: only %d violations", seed, len(want))
	})
}

func count(s Snapshot, name string) int64 {
	for _, c := range s.More {
		if c.Name == name {
			return c.N
		}
	}
	return -1
}

// TestJump: a database whose timestamps jump for all of its sessions is judged on, and says nothing wrong.
func TestJump(t *testing.T) {
	var lines []string
	at := int64(10)
	for i := range 400 {
		if i == 200 {
			at += 1e15
		}
		lines = append(lines, fmt.Sprintf(`{"id":%d,"session":%d,"start_ts":%d,"commit_ts":%d,"ops":[["r",1,%d],`+
			`["w",1,%d]]}`, i, i%5, at, at+1, i, i+1))
		at += 2
	}
	j := aionWith(t, AionOptions{Options: si, Lateness: 100, Attach: AttachAlways, Gate: GateOptions{Once: true,
		MaxJump: time.Minute}})
	dir, s := play(t, j, lines, 7)
	ahead, others := classes(t, dir, jumped)
	if len(ahead) == 0 || len(ahead) > 20 || len(others) > 0 || s.Txns != 400 || count(s, "quarantine") != 0 {
		t.Errorf("%q, %q, %d judged", ahead, others, s.Txns)
	}
	for by := range int64(2) { // what is at the bound passes, and not one behind it
		at := j.g.bound() + by
		line := fmt.Appendf(nil, `{"id":%d,"session":9,"start_ts":%d,"commit_ts":%[2]d,"ops":[]}`, 1000+by, at)
		must.OK(t, j.Take(NewBatch(500+by, [][]byte{line}), func(int64, error) { t.Error("a bad line") }))
		var s Snapshot
		j.Stats(&s)
		must.Equal(t, count(s, "quarantine"), by, "in quarantine")
	}
}

// TestClock: where timestamps do not tell time, a transaction is late if it starts before what the stream had reached
// so long ago by the clock, and a read of what nobody wrote is a violation when its wait is over.
func TestClock(t *testing.T) {
	txn := func(id, at int, ops string) string {
		return fmt.Sprintf(`{"id":%d,"session":%d,"start_ts":%d,"commit_ts":%d,"ops":[%s]}`, id, id%4, at, at+1, ops)
	}
	run := func(lateAt int) (classes []string) {
		var lines []string
		for i := range 5000 { // 5 s
			ops := `["r","x",null]`
			if i == 1000 {
				ops = `["r","y",7]` // written at 500, which comes later
			}
			if i == 1200 {
				ops = `["r","z",8]` // nobody writes that
			}
			lines = append(lines, txn(i, 10*i+10, ops))
		}
		lines = slices.Insert(lines, lateAt,
			`{"id":9000,"start_ts":5005,"commit_ts":5006,"ops":[["w","y",7]]}`)
		j := aionWith(t, AionOptions{Options: si, Wait: time.Second, Unit: UnitNone, Gate: GateOptions{Once: true,
			Patience: 2 * time.Second}})
		p := &player{now: time.Unix(1_800_000_000, 0), every: time.Millisecond, most: 10, lines: lines}
		must.OK(t, Run(t.Context(), Config{Dir: t.TempDir(), Judge: j, Now: p.clock, Violation: func(line []byte) {
			var v Violation
			must.OK(t, json.Unmarshal(line, &v))
			// by the clock that is judged by: the source is further
			passed := j.g.pace.clock - time.Unix(1_800_000_000, 0).UnixNano()
			classes = append(classes, fmt.Sprintf("%s after %.0f", keyOf(v), time.Duration(passed).Seconds()))
		}, Open: func(context.Context, Places) (Source, error) { return p, nil }}))
		return classes
	}
	// In time; late, when the read waits; later than that.
	for _, c := range []struct {
		at   int
		want string
	}{
		{1200, `[EXT 1200 - "z" 0 after 4]`},
		{2800, `[LATE 9000 -  - after 3 LATE 1000 9000 "y" 0 after 3 EXT 1200 - "z" 0 after 4]`},
		{4900, `[EXT 1000 - "y" 0 after 4 EXT 1200 - "z" 0 after 4 LATE 9000 -  - after 5]`},
	} {
		must.Equal(t, fmt.Sprint(run(c.at)), c.want, "at %d", c.at)
	}
}

// cut begins a stream in its midst.
func cutStream(rng *rand.Rand, lines []string) []string {
	return lines[len(lines)/4+rng.IntN(len(lines)/2):]
}

// TestAttach: from the midst of a stream of a database that is right nothing is found, in any order within the
// lateness; of one that is wrong, what is found is what is found in the whole history, but where a read that is wrong
// has shown what its key held.
func TestAttach(t *testing.T) {
	missed, there, extra := 0, 0, 0
	randtest.Seeds(t, randtest.Long[uint64](4, 240), func(tb testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0xa77))
		right := seed%2 == 0
		iso := map[bool]string{true: "snapshot-isolation", false: "read-committed"}[right]
		h, raw := arrivalsOf(t, datasets.Spec{Workload: []string{"gt", "list-append"}[seed/2%2], Txns: 600,
			Sessions: 8, Keys: 40, Ops: 5, Isolation: iso, DBTimes: true, Times: datasets.NoTimes, Seed: seed},
			float64(rng.IntN(40)), true)
		lines := cutStream(rng, stamps(tb, raw[2:], 1, 0))
		j := aionWith(t, AionOptions{Options: si, Wait: 2 * time.Second, Attach: AttachAuto,
			Gate: GateOptions{Once: true, MaxJump: time.Minute, Patience: time.Second}})
		dir, s := play(tb, j, lines, 50)
		gaps, got := classes(tb, dir, gap)
		in := map[string]bool{}
		want := chronos(t, h, si)
		for _, v := range want {
			in[short(v)] = true
		}
		for _, v := range got {
			if in[short(v)] {
				continue
			}
			if extra++; right {
				t.Fatalf("seed %d: %s is not in the whole history", seed, v)
			}
		}
		if right && len(want) > 0 || len(gaps) > 0 || s.Late > 0 {
			t.Fatalf("seed %d: %d violations, %q, %d late", seed, len(want), gaps, s.Late)
		}
		ids := map[string]bool{}
		for _, l := range lines[len(lines)/5:] {
			var x struct{ ID json.RawMessage }
			must.OK(t, json.Unmarshal([]byte(l), &x))
			ids[string(x.ID)] = true
		}
		for _, v := range want {
			f := strings.Fields(v)
			if ids[f[1]] && (f[2] == "-" || ids[f[2]]) {
				there++
				if !slices.ContainsFunc(got, func(g string) bool { return short(g) == short(v) }) {
					missed++
				}
			}
		}
	})
	randtest.Mix(t, there < 500 || missed > there/50 || extra > there/20,
		"%d of %d missed, %d others", missed, there, extra)
}

// short leaves out who else a violation names.
func short(v string) string {
	f := strings.Fields(v)
	return fmt.Sprint(f[0], f[1], f[3:])
}

// TestAttachLeopard: the same by client times; and transactions that come late, or twice, do not make a database look
// wrong that is right.
func TestAttachLeopard(t *testing.T) {
	lates := int64(0)
	randtest.Seeds(t, 12, func(tb testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0x1e0))
		m := brokenRun(t, []string{"blindw", "list-append"}[seed%2], []string{"serializable", "snapshot"}[seed/2%2],
			"", seed, 300)
		must.Hold(t, len(m.want) == 0, "%s: a store that is right is wrong", m.name)
		lines := slice.Map(m.lines, func(l []byte) string { return strings.TrimSpace(string(l)) })
		head, late := lines[0], m.apart
		lines = cutStream(rng, lines[2:])
		if seed%3 == 0 {
			late = m.apart / 4
		}
		lines = shuffled(rng, lines, 0, 1, .1)
		j := leopardOf(t, LeopardOptions{Skew: m.skew, Lateness: late, Attach: AttachAlways,
			Gate: GateOptions{Once: true, MaxJump: time.Minute, Patience: time.Minute}})
		dir, s := play(tb, j, append([]string{head}, lines...), 50)
		vs, _, _ := foundBy(t, dir)
		must.Equal(t, len(vs), 0, "%s: violations %q", m.name, vs)
		lates += s.Late
	})
	randtest.Mix(t, lates < 10, "only %d late", lates)
}

// TestLateIsRight: transactions that come late do not make a database look wrong that is right.
func TestLateIsRight(t *testing.T) {
	lates := int64(0)
	randtest.Seeds(t, 10, func(tb testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0x1a7e))
		h, raw := arrivalsOf(t, datasets.Spec{Workload: []string{"gt", "list-append"}[seed%2], Txns: 800,
			Sessions: 8, Keys: 40, Ops: 5, Isolation: "snapshot-isolation",
			DBTimes: true, Times: datasets.NoTimes, Seed: seed},
			20, true)
		if want := chronos(t, h, si); len(want) > 0 {
			t.Fatal(want)
		}
		lines := stamps(tb, raw, 1, 0)
		for range 20 { // some come half a second later
			i := 2 + rng.IntN(len(lines)/2)
			l := lines[i]
			lines = slices.Insert(slices.Delete(lines, i, i+1), min(i+500, len(lines)-1), l)
		}
		j := aionWith(t, AionOptions{Options: si, Wait: 100 * time.Millisecond, Gate: GateOptions{Once: true,
			Patience: 10 * time.Second}})
		dir, s := play(tb, j, lines, 10)
		if _, got := classes(tb, dir, late, gap); len(got) > 0 {
			t.Fatalf("seed %d: %q", seed, got)
		}
		lates += s.Late
	})
	randtest.Mix(t, lates < 100, "only %d late", lates)
}

// TestGap: a number that is missing in a session is reported once the watermark has passed, and the session goes on;
// what comes after all is judged.
func TestGap(t *testing.T) {
	line := func(seq, start, commit int) string {
		return fmt.Sprintf(`{"id":%d,"session":1,"seq":%d,"start_ts":%d,"commit_ts":%d,"ops":[]}`, seq, seq, start, commit)
	}
	other := func(at int) string {
		return fmt.Sprintf(`{"id":%d,"start_ts":%d,"commit_ts":%d,"ops":[]}`, 1000+at, at, at+1)
	}
	lines := []string{line(0, 1, 2), line(1, 3, 4), line(4, 5, 6), line(5, 7, 8), other(300), other(301),
		line(6, 300, 302), line(7, 301, 303), line(3, 290, 299), other(900), other(901)}
	dir, s := play(t, aionOf(timestamp.Options{Level: level.SessionSnapshotIsolation}, 100), lines, 1)
	counts := func(s Snapshot) [3]int64 {
		return [3]int64{count(s, "gaps_total"), count(s, "gaps_found_total"), count(s, "gap_sessions")}
	}
	must.Equal(t, counts(s), [3]int64{1, 1, 1}, "gaps, found, sessions with gaps")
	_, s = play(t, aionOf(timestamp.Options{Level: level.SessionSnapshotIsolation}, 100), append(lines,
		line(2, 280, 285)), 1)
	must.Equal(t, counts(s), [3]int64{1, 2, 0}, "gaps, found, sessions with gaps")
	b, err := os.ReadFile(filepath.Join(dir, "violations.jsonl"))
	want := `{"n":1,"axiom":"GAP","txn":4,"other":1,"missing":[2,3]}
{"n":2,"axiom":"SESSION","txn":7,"other":6}
{"n":3,"axiom":"SESSION","txn":4,"other":3}
`
	must.Equal(t, err != nil || string(b) != want, false, "%s, %v", b, err)
}

// TestUnits: timestamps of today are known by their size.
func TestUnits(t *testing.T) {
	now := time.Unix(1_800_000_000, 123)
	for u, at := range map[Unit]int64{Nanoseconds: now.UnixNano(), Microseconds: now.UnixMicro(),
		Milliseconds: now.UnixMilli(), Seconds: now.Unix(), TSO: now.UnixMilli()<<18 + 5, UnitNone: 4711} {
		must.Equal(t, detect(at, now.UnixNano()), u, "%d", at)
		if v, err := ParseUnit(u.String()); v != u || err != nil {
			t.Error(v, err)
		}
	}
}

// TestIDsAreTold: of many transactions with ids of their own none is taken for another, nor two for one.
func TestIDsAreTold(t *testing.T) {
	var s seen
	h := history.TxnHead{HasID: true}
	for id := range int64(histtest.Long(1<<17, 50_000_000)) {
		h.ID = id
		if same, other := s.add(&h, keyed.Scramble(uint64(id))); same || other {
			t.Fatalf("%d: %t, %t", id, same, other)
		}
	}
	if same, _ := s.add(&h, keyed.Scramble(uint64(h.ID))); !same {
		t.Error("the last one is forgotten")
	}
	if _, other := s.add(&h, 12345<<32); !other {
		t.Error("the last one's id is forgotten")
	}
}
