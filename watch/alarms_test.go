package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/check"
	"isovet/check/mechanism"
	"isovet/check/timestamp"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// hostile is a stream as its way makes it: lines are repeated, late and out of their order, clocks are wrong, values
// are written again, a line is of the far future. The database is right, or has faults.
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

// TestAlarms: no judge accuses a history that check says is valid at the level, whatever came of its lines on the way,
// but on an assumption that its line names, and that the history breaks; and of each proved line check says that its
// evidence alone violates the level.
func TestAlarms(t *testing.T) {
	counts := map[string]int{}
	randtest.Seeds(t, randtest.Long[uint64](200, 10_000), func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0xa1a3))
		s := hostileStream(rng)
		h := must.Get(jsonl.Read(s.complete, "complete.jsonl"))(t)
		gate := GateOptions{Once: true, MaxJump: time.Minute, Patience: time.Minute}
		at := []level.Level{level.Serializable, level.SnapshotIsolation, level.StrictSerializable,
			level.SessionSerializable, level.SessionSnapshotIsolation, level.ReadCommitted}[rng.IntN(6)]
		valid := func(checker string, at level.Level) bool {
			c, ok := check.Auto(h, at)
			if checker != "" {
				c, ok = must.Get(check.ByName(checker))(t), true
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
		p := profileOf(t, s.profile)
		leopard := leopardOf(t, LeopardOptions{Profile: p, Level: &at, Lateness: s.lateness, Attach: attach,
			Gate: gate})
		isValid := valid("", at)
		try := func(name string, j Judge, right bool) {
			for _, x := range alarmsOf(t, j, s.lines, 1+rng.IntN(30), name == "aion") {
				counts[name]++
				if x.h != nil {
					c, _ := check.Auto(x.h, at)
					r, err := check.Run(t.Context(), c, x.h, check.Options{Level: at})
					if err != nil || r.Verdict != evidence.Violated {
						t.Errorf("seed %d, %s, %v: the evidence alone: %v, %+v; %s", seed, name, at, err, r, x.line)
					}
					counts[name+" by its evidence"]++
				}
				switch {
				case !right:
				case strings.Contains(x.line, unique) && othersWrote(s, &x):
					counts[name+" whose values came again"]++
				default:
					t.Errorf("seed %d, %s, %v: check says valid; %s\n%s", seed, name, at, x.line,
						bytes.Join(s.lines, []byte("\n")))
				}
			}
		}
		try("leopard", leopard, isValid)
		if slices.Contains(ReplayLevels(), at) {
			j := replayOf(t, ReplayOptions{Level: at, Lateness: s.lateness, Attach: attach, Gate: gate})
			try("replay", j, isValid)
		}
		if slices.Contains(timestamp.Levels(), at) {
			j := aionWith(t, AionOptions{Options: timestamp.Options{Level: at}, Lateness: s.lateness / 500,
				Attach: attach, Gate: gate})
			try("aion", j, valid("chronos", at))
		}
	})
	for _, j := range []string{"replay", "leopard", "aion"} {
		randtest.Mix(t, counts[j+" whose values came again"] > counts[" valid"]/20,
			"%s accuses too often where a value is written for the second time afterwards: %v", j, counts)
	}
	for _, c := range []string{"leopard by its evidence", "replay by its evidence", "aion", "chronos valid",
		" valid"} {
		randtest.Mix(t, counts[c] == 0, "no %q among %v", c, counts)
	}
	t.Log(counts)
}

// TestAlarmsAgain: no judge accuses streams whose values are written again by several, who come late or came before the
// stream.
func TestAlarmsAgain(t *testing.T) {
	gate := GateOptions{Once: true, MaxJump: time.Minute, Patience: time.Second}
	aion := func() (Judge, error) {
		return NewAion(AionOptions{Options: timestamp.Options{Level: level.SnapshotIsolation}, Lateness: 100,
			Attach: AttachAuto, Gate: gate})
	}
	leopard := func() (Judge, error) {
		p, err := mechanism.LookupProfile("postgresql:repeatable-read")
		if err != nil {
			return nil, err
		}
		return NewLeopard(LeopardOptions{Profile: p, Lateness: 100, Attach: AttachAuto, Gate: gate})
	}
	for _, c := range []struct {
		name  string
		judge func() (Judge, error)
		lines []string // times and operations
	}{
		{"before the stream, and later", aion, []string{`1,2:["w","y",1]`, `210,211:["r","x",2]`, `212,213:["w","x",3]`,
			`214,215:["w","x",2]`, `216,217:["w","x",2]`, `1000,1001:["w","y",2]`}},
		{"sent before the first, and committed after it", aion, []string{`1,2:["w","y",1]`, `3,4:["w","x",1]`,
			`90,91:["r","x",5]`, `92,93:["w","x",6]`}},
		{"the first line came late", aion, []string{`1,2:["w","y",1]`, `500,501:["r","x",7]`, `420,421:["w","x",5]`,
			`580,581:["r","x",7]`, `1000,1001:["w","y",2]`}},
		{"the reads of two who wrote", leopard, []string{`{"id":0,"init":true,"ops":[["w","x",0]]}`, `1,2:["w","x",2]`,
			`3,4:["r","x",2],["w","x",2]`, `11,12:["r","x",2],["w","x",5]`, `21,22?:["r","x",5],["w","x",2]`,
			`31,32:["r","x",2],["w","x",3]`, `61,62:["r","x",5]`, `71,72:["r","x",3],["w","x",5]`, `999,1000:["w","y",1]`,
			`1000,1001:["w","y",2]`}},
	} {
		j := must.Get(c.judge())(t)
		var lines [][]byte
		for i, l := range c.lines {
			at, ops, is := strings.Cut(l, ":[")
			if start, end, ok := strings.Cut(at, ","); is && ok && start[0] != '{' {
				end, unknown := strings.CutSuffix(end, "?")
				l = fmt.Sprintf(`{"id":%d,"start":%s,"end":%s,"start_ts":%[2]s,"commit_ts":%[3]s,"ops":[[%[4]s]}`, i+1,
					start, end, ops)
				if unknown {
					l = l[:len(l)-1] + `,"status":"unknown"}`
				}
			}
			lines = append(lines, []byte(l))
		}
		for _, x := range alarmsOf(t, j, lines, 1, true) {
			if x.h != nil || c.name != "the reads of two who wrote" { // what its profile forbids alone is told
				t.Errorf("%s: %s", c.name, x.line)
			}
		}
	}
}

// othersWrote reports whether what an alarm assumes is not so: that nobody who had not come then wrote what the
// transactions of its evidence read, or, of aion's, the one that it names.
func othersWrote(s *hostile, x *alarm) bool {
	type write struct{ key, val string }
	read, come := map[write]bool{}, map[int64]bool{}
	each := func(line []byte, kind string, do func(id int64, w write)) {
		var t struct {
			ID  int64
			Ops [][]json.RawMessage
		}
		if json.Unmarshal(line, &t) != nil {
			return
		}
		for _, o := range t.Ops {
			if string(o[0]) == kind {
				do(t.ID, write{string(o[1]), string(o[2])})
			}
		}
	}
	var v Violation
	if json.Unmarshal([]byte(x.line), &v) != nil {
		return false
	}
	for _, line := range s.lines[:x.came] {
		each(line, `"w"`, func(id int64, _ write) { come[id] = true })
		each(line, `"r"`, func(id int64, w write) {
			read[w] = read[w] || x.h == nil && id == v.Txn && w.key == string(v.Key)
		})
	}
	for op := 0; x.h != nil && op < x.h.NumOps(); op++ {
		if at := x.h.Ops.Ver[op]; x.h.Ops.Kind[op] == history.Read {
			val := x.h.Texts.AppendValue(nil, x.h.VerValue(at))
			read[write{x.h.KeyString(x.h.VerKey[at]), string(val)}] = true
		}
	}
	others := false
	for line := range bytes.Lines(s.complete) {
		each(line, `"w"`, func(id int64, w write) { others = others || read[w] && !come[id] })
	}
	return others
}

// alarm is a line that tells of a violation, of aion, or a proved one, with its evidence, as of so many lines that had
// come.
type alarm struct {
	line string
	h    *history.History
	came int
}

// alarmsOf are the alarms of a stream: of all violations, or of those that are proved.
func alarmsOf(t testing.TB, j Judge, lines [][]byte, most int, all bool) (out []alarm) {
	j.Begin(func(n int64) ([]byte, error) { return lines[n], nil })
	n, came := int64(0), 0
	take := func() {
		err := j.Findings(func(f *Finding) error {
			n++
			line, err := f.Line(n)
			switch x := (alarm{line: string(line), came: came}); {
			case err != nil:
			case isProved(line):
				p, err := f.Prove(nil)
				if err != nil || p.H == nil {
					return fmt.Errorf("proved without a history: %v, %+v; %s", err, p, line)
				}
				x.h = p.H
				out = append(out, x)
			case all && !f.Unjudged:
				out = append(out, x)
			}
			return err
		})
		must.OK(t, err)
	}
	now := int64(1_750_000_000) * second
	for at := range lines {
		if at%most == 0 {
			j.Clock(now)
			now += second / 4
		}
		must.OK(t, j.Take(NewBatch(int64(at), lines[at:at+1]), func(int64, error) {}))
		came = at + 1
		take()
	}
	j.End()
	take()
	return out
}
