package collect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"isovet/datasets/workload"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/ddmin"
	"isovet/internal/plural"
	"isovet/internal/slice"
	"isovet/level"
)

// Found is a violation and its database, which is still open and has the run's tables.
type Found struct {
	Target *Target
	Config Config
	Level  level.Level
	Answer *evidence.Result
	// Result is the run that showed the violation, or nil if a schedule did.
	Result *Result
	// Played and Schedule are the schedule that showed the violation, if one did.
	Played   *Played
	Schedule *Schedule
}

// Started returns the command of the database's server, or "" if this program did not start it.
func (f *Found) Started() string {
	if f.Target.cluster == nil {
		return ""
	}
	return f.Target.cluster.CommandLine()
}

// Sent returns a database's URL with the parameters of a way to send statements (Config.Send).
func Sent(url, send string) string {
	switch {
	case send == "":
		return url
	case strings.Contains(url, "?"):
		return url + "&" + send
	}
	return url + "?" + send
}

// Reproduction is a script that repeats a violation, with the results of playing it on fresh tables.
type Reproduction struct {
	Script *Script
	Replayed
	// Played is the last run that violated the level, or nil.
	Played *Played
	// Control has the runs of the same transactions one after the other, in the order of their ends. It is empty if
	// the script itself never violated the level.
	Control Replayed
	// Tried is the number of schedules that were played. From is the number of transactions in the first one that
	// violated the level.
	Tried, From int
}

// ReproduceOptions bound the search.
type ReproduceOptions struct {
	// For bounds the time to find and reduce a script; 0 means 30 s.
	For time.Duration
	// Runs is the number of runs of the final script; 0 means 10.
	Runs int
	Told func(what string)
}

// mostOverlapping bounds how many transactions a first script has besides those of the violation.
const mostOverlapping = 150

// Reproduce makes a script that repeats a violation, and reduces it as long as the database still violates the level.
// The script is played step by step on fresh tables with the rows that the tables had before. ids are the violation's
// transactions. Reproduce first tries these alone, then with all that overlapped them, in three orders: by when
// operations were sent, by that with commits when they were answered, and by when all were answered. If none violates
// the level, the script has these transactions and Violated is 0: then an order of steps cannot repeat the violation.
//
// The reduction is that of package ddmin, with the database as the test.
func (f *Found) Reproduce(ctx context.Context, ids []int64, o ReproduceOptions) (*Reproduction, error) {
	o.For, o.Runs = cmp.Or(o.For, 30*time.Second), cmp.Or(o.Runs, 10)
	if o.Told == nil {
		o.Told = func(string) {}
	}
	p := &reproducer{f: f, c: f.played(), o: o, ctx: ctx, until: time.Now().Add(o.For), out: &Reproduction{}}
	if f.Schedule != nil {
		s := ScriptOf(f.Schedule, f.Config.Isolation, f.Level.String())
		p.describe(s)
		return p.finish(s, s), nil
	}
	all := p.candidates(ids)
	if len(all) == 0 {
		return nil, fmt.Errorf("the run did not record its sessions' statements")
	}
	var whole, best *Script
	for _, cand := range all {
		for range 2 {
			if best == nil && !p.late() && p.violates(cand.script()) {
				whole = cand.script()
				p.out.From = len(cand.txns)
				best = p.tidy(p.reduce(cand))
			}
		}
	}
	if best == nil {
		best = all[0].script()
		whole = best
	}
	return p.finish(best, whole), nil
}

type reproducer struct {
	f     *Found
	c     Config
	o     ReproduceOptions
	ctx   context.Context
	until time.Time
	out   *Reproduction
}

func (p *reproducer) late() bool { return p.ctx.Err() != nil || time.Now().After(p.until) }

// play plays a script once.
func (p *reproducer) play(s *Script) (*Played, *evidence.Result) {
	x, err := s.Schedule()
	if err != nil {
		return nil, nil
	}
	p.out.Tried++
	// A play that begins in time, or that only counts, may take a little longer.
	ctx, stop := context.WithTimeout(p.ctx, max(time.Until(p.until), 0)+max(p.o.For/6, 2*time.Second))
	defer stop()
	played, err := p.f.Target.Play(ctx, p.c, x)
	if err != nil {
		return nil, nil
	}
	r, err := Examine(ctx, played.History, p.f.Level, 5*time.Second)
	if err != nil {
		return nil, nil
	}
	return played, r
}

func (p *reproducer) violates(s *Script) bool {
	_, violated := p.waits(s)
	return violated
}

// waits returns how many of a script's steps wait for others, or false if the script does not violate the level.
func (p *reproducer) waits(s *Script) (int, bool) {
	played, r := p.play(s)
	if r == nil || r.Verdict != evidence.Violated {
		return 0, false
	}
	return len(played.Waited), true
}

// finish plays the final script the requested number of times. If fewer than eight of ten runs show the violation, it
// also plays the unreduced script, and takes that one if it shows the violation more often.
func (p *reproducer) finish(best, whole *Script) *Reproduction {
	p.count(best)
	if 10*p.out.Violated < 8*p.out.Runs && whole != best && p.ctx.Err() == nil {
		first := *p.out
		p.count(whole)
		if p.out.Violated <= first.Violated {
			first.Tried = p.out.Tried
			*p.out = first
		}
	}
	if p.out.Violated > 0 {
		p.until = time.Now().Add(p.o.For / 2)
		p.out.Control, _ = p.runs(p.out.Script.serial(), "control")
	}
	return p.out
}

func (p *reproducer) count(s *Script) {
	p.out.Script = s
	p.out.Replayed, p.out.Played = p.runs(s, "run")
}

// runs plays a script the requested number of times, and also returns the last run that violated the level.
func (p *reproducer) runs(s *Script, name string) (out Replayed, last *Played) {
	for n := range p.o.Runs {
		if p.ctx.Err() != nil || n >= 3 && out.Violated == 0 && p.late() {
			break
		}
		p.o.Told(fmt.Sprintf("%s %d of %d", name, n+1, p.o.Runs))
		played, r := p.play(s)
		out.Runs++
		switch {
		case r == nil, r.Verdict == evidence.Unknown:
			out.Undecided++
		case r.Verdict == evidence.Violated:
			out.Violated++
			out.Last, last = r, played
		}
	}
	return out, last
}

// candidate is a script that is being reduced.
type candidate struct {
	p     *reproducer
	txns  []txnScript
	order scriptOrder
	rows  []candidateRow
}

type candidateRow struct {
	key   workload.Key
	cells []int64
}

func (p *reproducer) candidates(ids []int64) (out []*candidate) {
	r := p.f.Result.run
	if r == nil || !r.cfg.KeepCalls {
		return nil
	}
	var all, own []txnScript
	r.each(func(id int64, t *txnRec, l *log, e *endRec) {
		x := scripted(id, t, l, e)
		all = append(all, x)
		if slices.Contains(ids, id) {
			own = append(own, x)
		}
	})
	if len(own) == 0 {
		return nil
	}
	from, to := own[0].start, own[0].end
	for _, x := range own {
		from, to = min(from, x.start), max(to, x.end)
	}
	rows := r.stateAt(from)
	around := slice.Filter(all, func(x txnScript) bool { return x.start <= to && x.end > from })
	sets := [][]txnScript{own}
	if len(around) > len(own) && len(around) <= mostOverlapping {
		sets = append(sets, around)
	}
	for _, set := range sets {
		for _, order := range []scriptOrder{byStart, byEffect, byEnd} {
			out = append(out, &candidate{p: p, txns: set, order: order, rows: r.needed(rows, set)})
		}
	}
	return out
}

// stateAt returns the tables' rows at a time, by the transactions that had ended then.
func (r *run) stateAt(at int64) map[workload.Key][]int64 {
	rows := map[workload.Key][]int64{}
	for i, t := range slice.Refs(r.tables) {
		for pk := range int64(t.Rows) {
			if !t.List {
				rows[workload.MakeKey(i, pk)] = loadedCells(t, pk)
			}
		}
	}
	r.each(func(_ int64, t *txnRec, l *log, _ *endRec) {
		if t.status == history.Aborted || t.ended() > at {
			return
		}
		apply(rows, l.calls[t.off:t.off+t.n])
	})
	return rows
}

// apply applies the effects of operations to rows.
func apply(rows map[workload.Key][]int64, calls []callRec) {
	for _, k := range slice.Refs(calls) {
		switch op := &k.op; op.Kind {
		case workload.Write:
			if op.IfAbsent && op.Absent {
				continue
			}
			if rows[op.Key] = op.Row; op.Row == nil {
				rows[op.Key] = []int64{op.Payload}
			}
		case workload.Delete:
			delete(rows, op.Key)
		case workload.UpdateWhere, workload.DeleteWhere:
			for _, m := range k.found {
				key := workload.MakeKey(op.Key.Table(), m.PK)
				if delete(rows, key); op.Kind == workload.UpdateWhere && m.New != nil {
					rows[key] = m.New[1:]
				}
			}
		}
	}
}

// mostRows bounds the rows that a script loads into a table with conditions. If the table is larger, the script loads
// only the rows that its steps name, and their neighbours: these fill pages of an index, which some databases lock.
const mostRows, neighbours = 2000, 500

// needed returns the rows that a script's steps may access.
func (r *run) needed(rows map[workload.Key][]int64, txns []txnScript) []candidateRow {
	named, near, count := map[workload.Key]bool{}, map[workload.Key]bool{}, map[int]int{}
	for i := range txns {
		for _, st := range txns[i].steps {
			k := workload.MakeKey(st.Table, st.Key)
			named[k], near[k/neighbours], near[k/neighbours+1], near[k/neighbours-1] = true, true, true, true
		}
	}
	for k := range rows {
		count[k.Table()]++
	}
	return rowsOf(rows, func(k workload.Key) bool {
		n := k.Table()
		return named[k] || r.tables[n].Columns != nil && (count[n] <= mostRows || near[k/neighbours])
	})
}

// rowsOf returns the wanted rows in the order of their keys.
func rowsOf(rows map[workload.Key][]int64, wanted func(workload.Key) bool) (out []candidateRow) {
	for _, k := range slices.Sorted(maps.Keys(rows)) {
		if wanted(k) {
			out = append(out, candidateRow{k, rows[k]})
		}
	}
	return out
}

// Setup makes the tables of a script and asks the database for the plans of the events' statements.
func (f *Found) Setup(ctx context.Context, s *Script, events []Event) (Setup, error) {
	x, err := s.Schedule()
	if err != nil {
		return Setup{}, err
	}
	return f.Target.Setup(ctx, f.played(), x, events)
}

func (f *Found) played() Config {
	c := f.Config
	c.Live, c.Partial, c.Rotate, c.Own, c.NoRecord = nil, "", nil, nil, false
	c.Fault, c.Values, c.Progress, c.Variant, c.Keys, c.Ops = Fault{}, 0, nil, "", 0, 0
	return c
}

func (x *candidate) script() *Script {
	type timed struct {
		at int64
		ScriptStep
	}
	var all []timed
	for _, t := range slice.Refs(x.txns) {
		last := int64(history.NoTime)
		for j, st := range t.steps {
			last = max(last, t.at[x.order][j])
			st.Session = int(t.session) + 1
			all = append(all, timed{last, st})
		}
	}
	slices.SortStableFunc(all, func(a, b timed) int { return cmp.Compare(a.at, b.at) })
	r := x.p.f.Result.run
	s := &Script{Tables: scriptTables(r.tables)}
	x.p.describe(s)
	s.Steps = slice.Map(all, func(st timed) ScriptStep { return st.ScriptStep })
	for i := range s.sessions() {
		if n := len(r.info.Nodes); n > 1 {
			s.Nodes = append(s.Nodes, i%n)
		}
	}
	for _, row := range x.rows {
		t := &s.Tables[row.key.Table()]
		t.Rows = append(t.Rows, append([]int64{row.key.PK()}, row.cells...))
	}
	return s.renumbered()
}

func (p *reproducer) describe(s *Script) {
	s.Isolation, s.Level = p.c.Isolation, p.f.Level.String()
	s.SetupSQL, s.SessionSQL = p.c.SetupSQL, p.c.SessionSQL
}

// reduce removes transactions, rows and operations as long as the database still violates the level.
func (p *reproducer) reduce(x *candidate) *Script {
	tell := func() {
		p.o.Told("cutting the schedule down: " + plural.Of(len(x.txns), "transaction") + ", " +
			plural.Of(len(x.rows), "row"))
	}
	tell()
	sweep(p, &x.txns, func() bool { return p.violates(x.script()) })
	x.fold()
	tell()
	sweep(p, &x.rows, func() bool { return p.violates(x.script()) })
	tell()
	type place struct{ txn, step int }
	var places []place
	for i := range x.txns {
		for j := 1; j < len(x.txns[i].steps)-1; j++ {
			places = append(places, place{i, j})
		}
	}
	whole := x.txns
	sweep(p, &places, func() bool {
		before := x.txns
		x.txns = nil
		for i := range whole {
			t := whole[i]
			n := len(t.steps)
			t.steps, t.at = []ScriptStep{t.steps[0]}, [3][]int64{{t.at[0][0]}, {t.at[1][0]}, {t.at[2][0]}}
			keep := func(j int) {
				t.steps = append(t.steps, whole[i].steps[j])
				for o := range t.at {
					t.at[o] = append(t.at[o], whole[i].at[o][j])
				}
			}
			for _, pl := range places {
				if pl.txn == i {
					keep(pl.step)
				}
			}
			if keep(n - 1); len(t.steps) > 2 {
				x.txns = append(x.txns, t)
			}
		}
		if p.violates(x.script()) {
			return true
		}
		x.txns = before
		return false
	})
	return x.script()
}

// fold replaces transactions that ended before the others began by initial rows, if the level stays violated.
func (x *candidate) fold() {
	for i := 0; i < len(x.txns) && !x.p.late(); {
		t := x.txns[i]
		overlaps := slices.ContainsFunc(x.txns, func(u txnScript) bool { return u.id != t.id && u.start < t.end })
		if overlaps || len(x.txns) == 1 {
			i++
			continue
		}
		before := *x
		rows := map[workload.Key][]int64{}
		for _, row := range x.rows {
			rows[row.key] = row.cells
		}
		apply(rows, t.calls)
		x.txns = slices.Delete(slices.Clone(x.txns), i, i+1)
		x.rows = rowsOf(rows, func(workload.Key) bool { return true })
		if !x.p.violates(x.script()) {
			*x = before
			i++
		}
	}
}

// sweep removes elements of a list as long as ok returns true.
func sweep[T any](p *reproducer, list *[]T, ok func() bool) {
	all := slices.Clone(*list)
	gone := make([]bool, len(all))
	ddmin.Sweep(len(all), func(i int) bool { return !gone[i] }, func(run []int) bool {
		before := *list
		for _, i := range run {
			gone[i] = true
		}
		*list = slice.Pick(all, slice.Places[int](gone, func(g bool) bool { return !g }))
		if ok() {
			return true
		}
		for _, i := range run {
			gone[i] = false
		}
		*list = before
		return false
	}, p.late)
}
