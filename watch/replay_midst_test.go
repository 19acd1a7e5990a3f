package watch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/level"
)

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
