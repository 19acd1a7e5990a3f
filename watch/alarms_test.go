package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"isovet/check"
	"isovet/check/mechanism"
	"isovet/check/timestamp"
	"isovet/evidence"
	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest/randtest"
	"isovet/level"
)

// hostile is a stream as its way makes it: lines come again, late and out of their order, clocks are wrong, values are
// written again, a line is of the far future. The database is right, or has faults.
type hostile struct {
	lines    [][]byte // as they arrive
	complete []byte   // the file that has each line once, as sent, or, of one of the far future, as it should be
	lateness int64    // in ns
	profile  string
	midst    int // so many of the first, and the initial transaction, have not come
}

const second = int64(time.Second)

// hostileStream draws one.
func hostileStream(rng *rand.Rand) *hostile {
	type txn struct {
		id, session, seq   int
		start, end, commit int64 // true, ns
		startTS, commitTS  int64
		reads              [][2]int
		writes             [][2]int
		sent               int64
		line, line2        []byte
		status             string
	}
	s := &hostile{lateness: (1 + rng.Int64N(3)) * second, profile: []string{"postgresql:serializable",
		"postgresql:repeatable-read", "innodb:serializable", "postgresql:read-committed"}[rng.IntN(4)]}
	keys, sessions := 2+rng.IntN(6), 2+rng.IntN(5)
	skew := make([]int64, sessions)
	if rng.IntN(3) == 0 {
		skew[rng.IntN(sessions)] = (rng.Int64N(3) - 1) * 8 * second
	}
	equal := rng.IntN(3) // 0: values are unique; 1: some are written again; 2: there are few
	late, again, early, faulty := rng.IntN(3) == 0, rng.IntN(3) == 0, rng.IntN(6) == 0, rng.IntN(4) == 0
	si := rng.IntN(2) == 0
	type version struct {
		at  int64
		val int
	}
	held := make([][]version, keys)
	for k := range held {
		held[k] = []version{{-1, 0}}
		if rng.IntN(2) == 0 {
			held[k][0].val = rng.IntN(3)
		}
	}
	first := make([]int, keys)
	for k := range held {
		first[k] = held[k][0].val
	}
	at := func(k int, when int64) int {
		for i := len(held[k]) - 1; i >= 0; i-- {
			if held[k][i].at <= when {
				return i
			}
		}
		return 0
	}
	free := make([]int64, sessions)
	var txns []*txn
	most := 60
	if equal == 2 { // else check has much to try
		most = 12
	}
	seq := make([]int, sessions)
	for n := range 6 + rng.IntN(most) {
		x := &txn{id: n + 1, session: rng.IntN(sessions)}
		x.seq = seq[x.session]
		seq[x.session]++
		x.start = max(int64(n)*second/8, free[x.session]) + rng.Int64N(second/20)
		x.commit = x.start + second/50 + rng.Int64N(second/4)
		x.end = x.commit + second/100
		snap := x.start + (x.commit-x.start)/4
		if !si {
			snap = x.commit
		}
		free[x.session] = x.end + 1
		wrote := map[int]bool{}
		conflict := false
		for range 1 + rng.IntN(4) {
			k := rng.IntN(keys)
			if wrote[k] {
				continue
			}
			v := at(k, snap)
			if faulty && rng.IntN(6) == 0 && v > 0 {
				v--
			}
			if rng.IntN(4) > 0 && !slices.ContainsFunc(x.reads, func(r [2]int) bool { return r[0] == k }) {
				x.reads = append(x.reads, [2]int{k, held[k][v].val})
			}
			if rng.IntN(2) == 0 {
				val := 10 + 10*n + k
				switch {
				case equal == 1 && rng.IntN(3) == 0:
					val = held[k][rng.IntN(len(held[k]))].val
				case equal == 2:
					val = rng.IntN(4)
				}
				wrote[k] = true
				x.writes = append(x.writes, [2]int{k, val})
				conflict = conflict || at(k, x.commit) != at(k, snap) ||
					slices.ContainsFunc(held[k], func(v version) bool { return v.at > snap })
			}
		}
		x.startTS, x.commitTS = 2*snap/1000, 2*x.commit/1000+1
		if !si {
			x.startTS = x.commitTS - 1
			latest := func(k int) int64 { return held[k][len(held[k])-1].at }
			conflict = slices.ContainsFunc(x.writes, func(w [2]int) bool { return latest(w[0]) >= x.commit }) ||
				slices.ContainsFunc(x.reads, func(r [2]int) bool { return latest(r[0]) > x.commit })
		}
		if conflict {
			x.status = "aborted"
		} else {
			for _, w := range x.writes {
				held[w[0]] = append(held[w[0]], version{x.commit, w[1]})
				slices.SortFunc(held[w[0]], func(a, b version) int { return int(a.at - b.at) })
			}
		}
		if rng.IntN(20) == 0 && x.status == "" {
			x.status = "unknown"
		}
		txns = append(txns, x)
	}
	tell := func(x *txn, off, ts int64) []byte {
		b := fmt.Appendf(nil, `{"id":%d,"session":%d,"seq":%d,"start":%d,"commit":%d,"end":%d,"start_ts":%d,`+
			`"commit_ts":%d`, x.id, x.session, x.seq, x.start+off, x.commit+off, x.end+off, x.startTS+ts, x.commitTS+ts)
		if x.status != "" {
			b = fmt.Appendf(b, `,"status":%q`, x.status)
		}
		b = append(b, `,"ops":[`...)
		step := (x.commit - x.start) / 12
		n := int64(0)
		op := func(kind string, o [2]int) {
			if n > 0 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, `[%q,%d,%d,%d,%d]`, kind, o[0], o[1], x.start+off+n*step+1, x.start+off+(n+1)*step)
			n++
		}
		for _, o := range x.reads {
			op("r", o)
		}
		for _, o := range x.writes {
			op("w", o)
		}
		return append(b, "]}"...)
	}
	for _, x := range txns {
		x.line = tell(x, skew[x.session], 0)
		x.line2 = x.line
		x.sent = x.end + rng.Int64N(second)
		if late && rng.IntN(8) == 0 {
			x.sent += second + rng.Int64N(8*second)
		}
	}
	order := slices.Clone(txns)
	slices.SortStableFunc(order, func(a, b *txn) int { return int(a.sent - b.sent) })
	if early {
		x := order[0]
		x.line = tell(x, 3600*second, 3_600_000_000)
	}
	var head [][]byte
	if rng.IntN(3) == 0 {
		head = append(head, []byte(`{"format":"isovet-history","version":1}`))
	}
	init := []byte(`{"id":0,"init":true,"ops":[`)
	for k, v := range first {
		if k > 0 {
			init = append(init, ',')
		}
		init = fmt.Appendf(init, `["w",%d,%d]`, k, v)
	}
	head = append(head, append(init, "]}"...))
	if rng.IntN(4) > 0 { // else it begins in the midst
		s.lines = slices.Clone(head)
	} else {
		s.midst = 1 + rng.IntN(len(order)/2)
	}
	s.complete = append(bytes.Join(head, []byte("\n")), '\n')
	for i, x := range order {
		if i >= s.midst {
			s.lines = append(s.lines, x.line)
		}
		s.complete = append(append(s.complete, x.line2...), '\n')
		if again && rng.IntN(6) == 0 {
			s.lines = append(s.lines, order[rng.IntN(len(order))].line)
		}
	}
	return s
}

// TestAlarms: no judge accuses a history that check says is valid at the level, whatever came of its lines on the way;
// and of each proved line check says that its evidence alone violates the level.
func TestAlarms(t *testing.T) {
	counts := map[string]int{}
	randtest.Seeds(t, randtest.Long[uint64](200, 10_000), func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0xa1a3))
		s := hostileStream(rng)
		h, err := jsonl.Read(s.complete, "complete.jsonl")
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, s.complete)
		}
		gate := GateOptions{Once: true, MaxJump: time.Minute, Patience: time.Minute}
		at := []level.Level{level.Serializable, level.SnapshotIsolation, level.StrictSerializable,
			level.SessionSerializable, level.SessionSnapshotIsolation, level.ReadCommitted}[rng.IntN(6)]
		valid := func(checker string, at level.Level) bool {
			c, ok := check.Auto(h, at)
			if checker != "" {
				c, err = check.ByName(checker)
				ok = err == nil
			}
			if !ok {
				return false
			}
			r, err := check.Run(t.Context(), c, h, check.Options{Level: at})
			if err != nil {
				counts[checker+" error"]++
				return false
			}
			counts[fmt.Sprint(checker, " ", r.Verdict)]++
			return r.Verdict == evidence.Holds
		}
		attach := AttachAuto
		p, err := mechanism.LookupProfile(s.profile)
		if err != nil {
			t.Fatal(err)
		}
		leopard, err := NewLeopard(LeopardOptions{Profile: p, Level: &at, Lateness: s.lateness, Attach: attach,
			Gate: gate})
		if err != nil {
			t.Fatal(err)
		}
		isValid := valid("", at)
		violates := func(name string, f *Finding, line []byte) {
			p, err := f.Prove(nil)
			if err != nil || p.H == nil {
				t.Errorf("seed %d, %s: proved without a history: %v, %+v; %s", seed, name, err, p, line)
				return
			}
			c, _ := check.Auto(p.H, at)
			r, err := check.Run(t.Context(), c, p.H, check.Options{Level: at})
			if err != nil || r.Verdict != evidence.Violated {
				t.Errorf("seed %d, %s, %v: the evidence alone: %v, %+v; %s", seed, name, at, err, r, line)
			}
			counts[name+" by its evidence"]++
		}
		try := func(name string, j Judge, right bool, is func(f *Finding, line []byte) bool) {
			isNow := func(f *Finding, line []byte) bool {
				told := is(f, line)
				if told && name != "aion" {
					violates(name, f, line)
				}
				return told
			}
			for _, line := range alarmsOf(t, j, s.lines, 1+rng.IntN(30), isNow) {
				counts[name]++
				if right {
					if name != "aion" && writtenAgain(s.complete, line) {
						counts[name+" whose values came again"]++
						continue
					}
					t.Errorf("seed %d, %s, %v: check says valid; %s\n%s", seed, name, at, line,
						bytes.Join(s.lines, []byte("\n")))
				}
			}
		}
		try("leopard", leopard, isValid, func(f *Finding, line []byte) bool { return isProved(line) })
		if slices.Contains(ReplayLevels(), at) {
			j, err := NewReplay(ReplayOptions{Level: at, Lateness: s.lateness, Attach: attach, Gate: gate})
			if err != nil {
				t.Fatal(err)
			}
			try("replay", j, isValid, func(f *Finding, line []byte) bool { return isProved(line) })
		}
		if slices.Contains(timestamp.Levels(), at) && s.midst == 0 {
			j, err := NewAion(AionOptions{Options: timestamp.Options{Level: at}, Lateness: s.lateness / 500,
				Attach: attach, Gate: gate})
			if err != nil {
				t.Fatal(err)
			}
			try("aion", j, valid("chronos", at), func(f *Finding, _ []byte) bool { return !f.Unjudged })
		}
	})
	if randtest.Whole() && counts["replay whose values came again"] > counts[" valid"]/100 {
		t.Error("replay accuses too often where a value is written to its key for the second time afterwards")
	}
	for _, c := range []string{"leopard by its evidence", "replay by its evidence", "aion", "chronos valid",
		" valid"} {
		if randtest.Whole() && counts[c] == 0 {
			t.Errorf("no %q among %v", c, counts)
		}
	}
	t.Log(counts)
}

// writtenAgain reports whether several transactions wrote one of the values that those of a violation read, so that
// what its proof assumes is not so.
func writtenAgain(complete []byte, violation string) bool {
	var v struct{ Txns []int64 }
	var wrote, read = map[string]int{}, map[string]bool{}
	if json.Unmarshal([]byte(violation), &v) != nil {
		return false
	}
	for line := range bytes.Lines(complete) {
		var t struct {
			ID  int64
			Ops [][]any
		}
		if json.Unmarshal(line, &t) != nil {
			continue
		}
		for _, o := range t.Ops {
			at := fmt.Sprint(o[1], " ", o[2])
			if o[0] == "w" {
				wrote[at]++
			} else if slices.Contains(v.Txns, t.ID) {
				read[at] = true
			}
		}
	}
	for at := range read {
		if wrote[at] > 1 {
			return true
		}
	}
	return false
}

// alarmsOf are the findings of a stream that tell of a violation.
func alarmsOf(t testing.TB, j Judge, lines [][]byte, most int, is func(f *Finding, line []byte) bool) (out []string) {
	j.Begin(func(n int64) ([]byte, error) { return lines[n], nil })
	n := int64(0)
	take := func() {
		err := j.Findings(func(f *Finding) error {
			n++
			line, err := f.Line(n)
			if err == nil && is(f, line) {
				out = append(out, string(line))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	now := int64(1_750_000_000) * second
	for at := 0; at < len(lines); at += most {
		j.Clock(now)
		now += second / 4
		if err := j.Take(NewBatch(int64(at), lines[at:min(at+most, len(lines))]), func(int64, error) {}); err != nil {
			t.Fatal(err)
		}
		take()
	}
	j.End()
	take()
	return out
}
