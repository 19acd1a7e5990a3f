package watch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/bounds"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/watch/online"
)

// streamOf are the lines of a history, the header and the initial transaction first, the others in a random order.
func streamOf(t testing.TB, h *history.History, rng *rand.Rand) [][]byte {
	var b bytes.Buffer
	must.OK(t, jsonl.Write(&b, h))
	var first, lines [][]byte
	for line := range bytes.Lines(b.Bytes()) {
		line = bytes.TrimSpace(line)
		if bytes.Contains(line, []byte(`"format":`)) || bytes.Contains(line, []byte(`"init":true`)) {
			first = append(first, line)
		} else {
			lines = append(lines, line)
		}
	}
	rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return append(first, lines...)
}

// replayed is what check says of a history.
func replayed(t testing.TB, h *history.History, l level.Level) *evidence.Result {
	t.Helper()
	c := must.Get(check.ByName("replay"))(t)
	return must.Get(check.Run(t.Context(), c, h, check.Options{Level: l}))(t)
}

// judgeReplay feeds a judge lines, cut into batches, and returns what it found, each class by its number.
func judgeReplay(t testing.TB, o ReplayOptions, lines [][]byte, per int) (classes map[string]int,
	found []ReplayViolation, j *replayJudge) {
	j = replayOf(t, o)
	j.Clock(1)
	j.Begin(func(n int64) ([]byte, error) { return lines[n], nil })
	for at := 0; at < len(lines); at += per {
		err := j.Take(NewBatch(int64(at), lines[at:min(at+per, len(lines))]), func(place int64, err error) {
			t.Fatalf("line %d: %v", place, err)
		})
		if err != nil {
			t.Fatalf("%v\n%s", err, bytes.Join(lines, []byte("\n")))
		}
	}
	j.End()
	classes = map[string]int{}
	must.OK(t, j.Findings(func(f *Finding) error {
		classes[f.Class]++
		text, err := f.Line(int64(len(found) + 1))
		if err != nil {
			return err
		}
		var v ReplayViolation
		if err := json.Unmarshal(text, &v); err != nil {
			return err
		}
		found = append(found, v)
		return nil
	}))
	return classes, found, j
}

// TestReplayTiny: of tiny histories in any order of arrival the judge says what check says of the file, and proves each
// violation.
func TestReplayTiny(t *testing.T) {
	verdicts := map[string]int{}
	randtest.Seeds(t, randtest.Long[uint64](40, 20_000), func(t testing.TB, seed uint64) {
		defer bounds.Set("online.nearby", []int{0, 1, 8, 64}[seed%4])()
		rng := rand.New(rand.NewPCG(seed, 0x0a11))
		h := random.Tiny(seed, random.Options{Txns: 3 + int(seed%6), Keys: 3, Aborted: seed%3 == 0, Unknown: seed%5 > 2,
			Duplicates: seed%7 == 0, Deletes: seed%11 == 0})
		lines := streamOf(t, h, rng)
		for _, l := range ReplayLevels() {
			want := replayed(t, h, l)
			classes, found, _ := judgeReplay(t, ReplayOptions{Level: l, Lateness: AllLate}, lines, 1+rng.IntN(9))
			same(t, fmt.Sprint("seed ", seed), l, want, classes, found, lines)
			verdicts[fmt.Sprint(l.Serial(), " ", want.Verdict)]++
		}
	})
	t.Log(verdicts)
}

// arriving are the lines of a history as they may arrive: each comes within a delay of its end, at most; and by how
// much one may be late then.
func arriving(t testing.TB, h *history.History, rng *rand.Rand) (lines [][]byte, lateness int64) {
	all := streamOf(t, h, rng)
	type timed struct {
		at   float64
		line []byte
	}
	var first [][]byte
	var by []timed
	longest := int64(0)
	for u := range uint32(h.NumTxns()) {
		if h.End(u) != history.NoTime && h.Start(u) != history.NoTime {
			longest = max(longest, h.End(u)-h.Start(u))
		}
	}
	delay := 1 + longest*int64(rng.IntN(4))
	for _, line := range all {
		var x struct {
			Format     string
			Init       bool
			Start, End *int64
		}
		must.OK(t, json.Unmarshal(line, &x))
		at := x.End
		if at == nil {
			at = x.Start
		}
		if x.Format != "" || x.Init || at == nil {
			first = append(first, line)
			continue
		}
		by = append(by, timed{float64(*at) + rng.Float64()*float64(delay), line})
	}
	slices.SortFunc(by, func(a, b timed) int { return cmp.Compare(a.at, b.at) })
	for _, x := range by {
		first = append(first, x.line)
	}
	return first, delay + longest + 1
}

// mediumArrives is a history of some hundred transactions, and how its lines arrive.
func mediumArrives(t testing.TB, seed uint64, rng *rand.Rand) (h *history.History, lines [][]byte, lateness int64) {
	o := random.Options{Aborted: seed&1 != 0, Unknown: seed&2 != 0}
	if seed%3 == 0 {
		o.Keys, o.Sessions = 100, 20
	}
	h = random.Medium(seed, o)
	lines, lateness = arriving(t, h, rng)
	return h, lines, lateness
}

// TestReplayMedium: the same of histories of some hundred transactions that arrive within a lateness, and are judged as
// they come.
func TestReplayMedium(t *testing.T) {
	verdicts := map[string]int{}
	randtest.Seeds(t, randtest.Long[uint64](6, 4000), func(t testing.TB, seed uint64) {
		defer bounds.Set("online.nearby", []int{0, 1, 8, 64}[seed%4])()
		rng := rand.New(rand.NewPCG(seed, 0x0a12))
		h, lines, lateness := mediumArrives(t, seed, rng)
		for _, l := range ReplayLevels() {
			want := replayed(t, h, l)
			classes, found, _ := judgeReplay(t, ReplayOptions{Level: l, Lateness: lateness,
				Gate: GateOptions{Patience: 1 << 60}}, lines, 1+rng.IntN(99))
			same(t, fmt.Sprint("seed ", seed), l, want, classes, found, lines)
			verdicts[fmt.Sprint(l.Serial(), " ", want.Verdict)]++
		}
	})
	t.Log(verdicts)
}

// TestReplayDoubtful: a transaction reads from one of unknown outcome that read what nobody has written yet, and
// contradicts its session; where the one waits, the other is decided.
func TestReplayDoubtful(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/place-in-session-of-a-doubtful-read.jsonl"))(t)
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	for _, l := range []level.Level{level.SessionSerializable, level.SessionSnapshotIsolation, level.Serializable} {
		classes, found, _ := judgeReplay(t, ReplayOptions{Level: l, Lateness: 2818,
			Gate: GateOptions{Patience: 1 << 60}}, lines, 10)
		if classes[undecided] > 0 || classes[late] > 0 || l == level.SessionSerializable && classes[violated] == 0 {
			t.Errorf("%s: %v %+v", l, classes, found)
		}
	}
}

// same compares what a judge found with the verdict on the file.
func same(t testing.TB, name string, l level.Level, want *evidence.Result, classes map[string]int,
	found []ReplayViolation, lines [][]byte) {
	t.Helper()
	for _, v := range found {
		if v.Axiom == violated && !v.Proved {
			t.Fatalf("%s, %s: not proved: %+v\n%s", name, l, v, bytes.Join(lines, []byte("\n")))
		}
	}
	if wrong := classes[violated] > 0; wrong != (want.Verdict == evidence.Violated) || classes[undecided] > 0 ||
		classes[late] > 0 {
		t.Fatalf("%s, %s: check says %s, watch found %v %+v\n%s", name, l, want.Verdict, classes, found,
			bytes.Join(lines, []byte("\n")))
	}
}

// TestReplayForgets: with a horizon of a few transactions nothing is reported of what is right but that a read is
// undecided, and something of what is wrong; from the midst of a stream, nothing of what is right.
func TestReplayForgets(t *testing.T) {
	said := map[string]int{}
	randtest.Seeds(t, randtest.Long[uint64](6, 4000), func(t testing.TB, seed uint64) {
		seed ^= 3 // the gate's reads a version that was overwritten and forgotten
		defer bounds.Set("online.nearby", []int{0, 1, 8, 64}[seed%4])()
		defer bounds.Set("online.numGraves", []int{1 << 16, 2}[seed%2])()
		rng := rand.New(rand.NewPCG(seed, 0x0a13))
		h, lines, lateness := mediumArrives(t, seed, rng)
		for _, l := range ReplayLevels() {
			want := replayed(t, h, l)
			given := ReplayOptions{Level: l, Lateness: lateness, Gate: GateOptions{Patience: 1 << 60}}
			given.Horizon = 1 + rng.IntN(40)
			classes, found, _ := judgeReplay(t, given, lines, 1+rng.IntN(99))
			right := want.Verdict == evidence.Holds
			if right && classes[violated] > 0 || !right && len(classes) == 0 || classes[late] > 0 {
				t.Fatalf("seed %d, %s, horizon %d: check says %s, watch found %v %+v\n%s", seed, l, given.Horizon,
					want.Verdict, classes, found, bytes.Join(lines, []byte("\n")))
			}
			said[fmt.Sprint(want.Verdict, " ", classes[violated] > 0, " ", classes[undecided] > 0)]++
			if given.Attach = AttachAlways; rng.IntN(2) == 0 {
				given.Horizon = 0
			}
			from := 1 + rng.IntN(len(lines)/2)
			classes, found, _ = judgeReplay(t, given, lines[from:], 1+rng.IntN(99))
			if right && (classes[violated] > 0 || classes[undecided] > 0 && l.RealTime() && given.Horizon == 0) {
				t.Fatalf("seed %d, %s, from line %d: check says %s, watch found %v %+v\n%s", seed, l, from,
					want.Verdict, classes, found, bytes.Join(lines[from:], []byte("\n")))
			}
			said[fmt.Sprint("from the midst ", want.Verdict, " ", len(classes) > 0)]++
		}
	})
	t.Log(said)
}

// TestReplayCredit: where what is wrong may take little time, something is reported of it still, and nothing of what is
// right at the levels with real time; but where a search may take few steps, that it was given up.
func TestReplayCredit(t *testing.T) {
	said := map[string]int{}
	randtest.Seeds(t, randtest.Long[uint64](8, 4000), func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0x0a14))
		defer bounds.Set("online.nearby", rng.IntN(9))()
		defer bounds.Set("online.maxCredit", rng.IntN(100))()
		short := seed%3 == 0
		if short {
			defer bounds.Set("online.maxSteps", 1+rng.IntN(3000))()
		}
		h := random.Medium(seed, random.Options{Aborted: seed&1 != 0, Unknown: seed&2 != 0})
		lines, lateness := arriving(t, h, rng)
		for _, l := range ReplayLevels() {
			want := replayed(t, h, l)
			classes, found, j := judgeReplay(t, ReplayOptions{Level: l, Lateness: lateness,
				Gate: GateOptions{Patience: 1 << 60}}, lines, 1+rng.IntN(99))
			right := want.Verdict == evidence.Holds
			if right && (classes[violated] > 0 || classes[undecided] > 0 && l.RealTime() && !short) ||
				!right && len(classes) == 0 {
				t.Fatalf("seed %d, %s: check says %s, watch found %v %+v\n%s", seed, l, want.Verdict, classes, found,
					bytes.Join(lines, []byte("\n")))
			}
			said[fmt.Sprint(want.Verdict, " ", classes[violated] > 0, " ", j.e.Stats().Skipped > 0)]++
			for _, v := range found {
				said[v.Why]++
			}
		}
	})
	t.Log(said)
	randtest.Mix(t, said["violation false true"]+said["violation true true"] == 0 || said[online.GaveUp] == 0,
		"nothing was left out; the test shows nothing")
}

// TestReplayForeign: a line that is not understood may have written what takes part in a violation; the violation is
// told, with what is understood of it.
func TestReplayForeign(t *testing.T) {
	lines := bytes.Split([]byte(`{"id":1,"session":1,"start":1,"end":2,"ops":[["w","x",1]]}
{"id":2,"session":2,"start":3,"end":4,"status":"aborted","status":"aborted","ops":[["w","x",2]]}
{"id":3,"session":3,"start":5,"end":6,"ops":[["w","x",3]]}
{"id":4,"session":4,"start":7,"end":8,"ops":[["r","x",2],["w","y",1]]}
{"id":5,"session":5,"start":9,"end":10,"ops":[["r","x",3],["r","y",1]]}
{"id":6,"session":6,"start":11,"end":12,"ops":[["r","x",1],["r","x",2]]}
{"id":7,"session":7,"start":13,"end":14,"ops":[["r","x",2],["r","y",null]]}`), []byte("\n"))
	for _, l := range ReplayLevels() {
		j := replayOf(t, ReplayOptions{Level: l, Lateness: AllLate})
		j.Begin(func(n int64) ([]byte, error) { return lines[n], nil })
		bad, found := 0, 0
		must.OK(t, j.Take(NewBatch(0, lines), func(int64, error) { bad++ }))
		j.End()
		if err := j.Findings(func(f *Finding) error {
			if f.Class == violated {
				found++
			}
			_, err := f.Line(1)
			return err
		}); err != nil || bad != 1 || found == 0 {
			t.Errorf("%s: %v, %d bad lines, %d violations", l, err, bad, found)
		}
	}
}

// staleStream are transactions of 4 operations on 12 keys that end in turn, each read of which sees one of the last
// versions.
func staleStream(txns int, rng *rand.Rand) (lines [][]byte) {
	lines = append(lines, []byte(`{"format":"isovet-history","version":1,"initial":0}`))
	var vals [12][3]int
	for i := range txns {
		b := fmt.Appendf(nil, `{"id":%d,"session":%d,"start":%d,"end":%d,"ops":[`, i, i%8, 10*i, 10*i+60)
		key := rng.IntN(12)
		write := rng.IntN(2) == 0
		for n := range 4 {
			if n > 0 {
				b = append(b, ',')
			}
			key = (key + 1 + rng.IntN(3)) % 12 // once each
			v := &vals[key]
			if write {
				v[2], v[1], v[0] = v[1], v[0], 4*i+n+1
				b = fmt.Appendf(b, `["w",%d,%d]`, key, v[0])
			} else {
				b = fmt.Appendf(b, `["r",%d,%d]`, key, v[rng.IntN(3)])
			}
		}
		lines = append(lines, append(b, "]}"...))
	}
	return lines
}

// TestReplayMany: of streams in which much is wrong the same is told in the same order however many proofs are looked
// for at a time, and each is proved.
func TestReplayMany(t *testing.T) {
	told := 0
	randtest.Seeds(t, randtest.Long[uint64](2, 500), func(t testing.TB, seed uint64) {
		lines := staleStream(80, rand.New(rand.NewPCG(seed, 0x0a15)))
		for _, l := range []level.Level{level.Serializable, level.SnapshotIsolation} {
			o := ReplayOptions{Level: l, Lateness: 100, Gate: GateOptions{Patience: 1 << 60}}
			var want []ReplayViolation
			for i, cores := range []int{1, 4} {
				before := runtime.GOMAXPROCS(cores)
				classes, found, _ := judgeReplay(t, o, lines, 50)
				runtime.GOMAXPROCS(before)
				if i == 0 {
					want = found
				}
				if !reflect.DeepEqual(found, want) || classes[violated] != len(found) {
					t.Fatalf("seed %d, %s: %d cores tell %v %+v; one tells %+v", seed, l, cores, classes, found, want)
				}
			}
			told += len(want)
		}
	})
	t.Logf("%d violations", told)
	randtest.Mix(t, told < 50, "%d violations; there should be many", told)
}

// rmwStream are lines of transactions, each of which reads and replaces two of 100 keys; 24 are under way at a time.
// The first versions are of before the stream.
func rmwStream(txns int, rng *rand.Rand) (lines [][]byte) {
	var vals [100]int
	next := 1000
	for i := range txns {
		a := rng.IntN(100)
		b := (a + 1 + rng.IntN(99)) % 100
		lines = append(lines, fmt.Appendf(nil, `{"id":%d,"session":%d,"start":%d,"end":%d,"ops":`+
			`[["r",%d,%d],["w",%d,%d],["r",%d,%d],["w",%d,%d]]}`, i, i%24, 1000*i, 1000*i+10000+rng.IntN(13000),
			a, vals[a], a, next, b, vals[b], b, next+1))
		vals[a], vals[b] = next, next+1
		next += 2
	}
	return lines
}

// TestReplayMidstCheap: what keys held where a stream begins is found out as the first reads are placed, without a
// search in what came behind them.
func TestReplayMidstCheap(t *testing.T) {
	lines := rmwStream(randtest.Long(5_000, 16_000), rand.New(rand.NewPCG(1, 2)))
	for _, l := range []level.Level{level.StrictSerializable, level.Serializable, level.SessionSnapshotIsolation} {
		classes, _, j := judgeReplay(t, ReplayOptions{Level: l, Lateness: 5e9, Attach: AttachAlways}, lines, len(lines))
		if s := j.e.Stats(); len(classes) > 0 || s.Largest > 500 {
			t.Errorf("%s: found %v, %d windows, the largest of %d transactions", l, classes, s.Windows, s.Largest)
		}
	}
}

// withUnseen adds to a history the writers of versions that nobody in it wrote: of unknown outcome, without times.
func withUnseen(t testing.TB, lines [][]byte) *history.History {
	seqOf := func(line []byte) int {
		n := 0
		if m := seqField.FindSubmatch(line); m != nil {
			n, _ = strconv.Atoi(string(m[1]))
		}
		return n
	}
	all := append([][]byte{[]byte(`{"format":"isovet-history","version":1}`)}, lines...)
	slices.SortStableFunc(all, func(a, b []byte) int { return seqOf(a) - seqOf(b) })
	for i := range all { // a reader of files expects numbers from 0 on
		all[i] = seqField.ReplaceAll(all[i], nil)
	}
	h := must.Get(jsonl.Read(bytes.Join(all, []byte("\n")), "midst"))(t)
	wrote := map[string]bool{}
	for op, v := range h.Ops.Ver {
		if h.Ops.Kind[op] == history.Write && h.VerValue(v).Kind != history.Null { // which is written more than once
			wrote[versionOf(h, v)] = true
		}
	}
	for op, v := range h.Ops.Ver {
		if name := versionOf(h, v); h.Ops.Kind[op] == history.Read && !wrote[name] {
			wrote[name] = true
			all = append(all, fmt.Appendf(nil, `{"id":%d,"status":"unknown","ops":[["w",%s,%s]]}`,
				1_000_000+len(all), h.KeyString(h.VerKey[v]), h.Texts.AppendValue(nil, h.VerValue(v))))
		}
	}
	h = must.Get(jsonl.Read(bytes.Join(all, []byte("\n")), "midst"))(t)
	return h
}

var seqField = regexp.MustCompile(`"seq":([0-9]+),`)

// TestReplayMidst: of a stream that begins in the midst the judge accuses nobody if the whole is right, and finds
// something if its lines are wrong even where what nobody in them wrote was written by somebody else at some time. But
// what those of unknown outcome read is no constraint where the stream begins.
func TestReplayMidst(t *testing.T) {
	said := map[string]int{}
	randtest.Seeds(t, randtest.Long[uint64](10, 4000), func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0x0a17))
		o := random.Options{Aborted: seed&1 != 0, Unknown: seed&2 != 0, Deletes: seed%5 == 0}
		if seed%3 == 0 {
			o.Keys, o.Sessions = 100, 20
		}
		whole := random.Medium(seed, o)
		lines, lateness := arriving(t, whole, rng)
		lines = lines[1+rng.IntN(len(lines)*3/4):]
		h := withUnseen(t, lines)
		for _, l := range ReplayLevels() {
			all, rest := replayed(t, whole, l).Verdict, replayed(t, h, l).Verdict
			classes, found, _ := judgeReplay(t, ReplayOptions{Level: l, Lateness: lateness, Attach: AttachAlways,
				Gate: GateOptions{Patience: 1 << 60}}, lines, 1+rng.IntN(99))
			open := !l.RealTime() || o.Deletes // what was deleted before may be seen at any time
			if all == evidence.Holds && (classes[violated] > 0 || !open && len(classes) > 0) ||
				rest == evidence.Violated && !o.Unknown && len(classes) == 0 {
				t.Fatalf("seed %d, %s: check says %s of all lines, %s of the last, watch found %v %+v\n%s",
					seed, l, all, rest, classes, found, bytes.Join(lines, []byte("\n")))
			}
			said[fmt.Sprint(all, " ", rest, " ", classes[violated] > 0, " ", classes[undecided] > 0)]++
		}
	})
	t.Log(said)
}
