package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"isovet/check"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// Figures 13 and 14 and Table II of [MTC]: violations found in databases. The paper's databases are PostgreSQL 12.3
// and 11.8, MongoDB 4.2.6, Galera 10.7.3, Dgraph 1.1.1 and Cassandra 2.0.1. We use current ones that promise less than
// they are asked for.

// trial is one way to look for bugs: a workload, and the checker for its histories.
type trial struct {
	name, workload, variant, checker string
	ops                              []int
}

var mtcTrials = []trial{
	{"mini, mtc", "mini", "exponential", "mtc", []int{4}},
	{"append, elle", "list-append", "", "elle", []int{2, 4, 8}},
	{"wr, elle-register", "mix", "zipf", "elle-register", []int{2, 4, 8}},
}

// trialsOf is the result of one kind of trial on one database: means over the trials, in milliseconds.
type trialsOf struct {
	group, series string
	memory        bool // not on a server
	trialMeans
}

// trialMeans has the number of trials, the number of those that found a violation, and the means of their times.
// Evidence is part of Verification.
type trialMeans struct {
	Trials, Found                      int
	Generation, Verification, Evidence float64
}

// weak is a database that promises less than it is asked for.
type weak struct {
	name, isolation string
	at              level.Level
	server          string // "": the store in memory
}

func weakDatabases() []weak {
	return []weak{
		{"snapshot store, SER", "snapshot-isolation", level.SessionSerializable, ""},
		{"read-committed store, SI", "read-committed", level.SessionSnapshotIsolation, ""},
		{"PostgreSQL repeatable-read, SER", "repeatable-read", level.SessionSerializable, "postgres:start"},
		{"PostgreSQL read-committed, SI", "read-committed", level.SessionSnapshotIsolation, "postgres:start"},
		{"MariaDB repeatable-read, SI", "repeatable-read", level.SessionSnapshotIsolation, "mariadb:start"},
	}
}

// runTrials runs each of mtcTrials on each weak database. All figures share the results.
func (l *Lab) runTrials(ctx context.Context, r *Report) ([]trialsOf, error) {
	n, repeat := l.Pick(100, 500, 3000), l.Pick(2, 10, 40)
	r.Note("A trial runs %d transactions on ten keys in ten sessions, on a database that promises less than the "+
		"level checked. The paper uses PostgreSQL 12.3 at serializable, with a bug that later releases do not have, "+
		"and MongoDB 4.2.6; it ran as many trials of 3,000 transactions as half an hour allowed.", n)
	if l.trials != nil {
		r.Note("The runs are those of the previous figure.")
		return l.trials, nil
	}
	patience := time.Duration(l.Pick(1, 2, 5)) * time.Minute
	r.Note("After %v of trials of one kind on a server, no further trial begins: the server needs a second to "+
		"refuse transactions that wait for each other's locks.", patience)
	var out []trialsOf
	for _, db := range weakDatabases() {
		times := repeat
		var urls []string
		if db.server != "" {
			times = max(2, repeat/2)
			s, err := l.serve(ctx, r, db.server)
			if err != nil {
				return nil, err
			}
			if s == nil {
				continue
			}
			urls = s.URLs
		}
		for _, ops := range []int{2, 4, 8} {
			for _, t := range mtcTrials {
				c, err := check.ByName(t.checker)
				if err != nil || !slices.Contains(t.ops, ops) {
					continue
				}
				if !slices.Contains(c.Info().Levels, db.at) {
					r.Note("%s is left out at %s, which it does not decide.", t.checker, db.at)
					continue
				}
				x := trialsOf{group: fmt.Sprintf("%s, %d", db.name, ops), series: t.name, memory: urls == nil}
				x.trialMeans, err = stepOf(l, r, x.group+", "+x.series, func() (m trialMeans, err error) {
					spec := datasets.Spec{Workload: t.workload, Variant: t.variant, Txns: n, Keys: 10, Sessions: 10,
						Isolation: db.isolation}
					if t.workload != "mini" {
						spec.Ops = ops
					}
					return l.repeated(ctx, r, urls, spec, c, db.at, times, patience)
				})
				if err != nil {
					return nil, err
				}
				out = append(out, x)
			}
		}
	}
	l.trials = out
	return out, nil
}

// repeated repeats a trial. On a server it ends when patience is used up.
func (l *Lab) repeated(ctx context.Context, r *Report, urls []string, spec datasets.Spec, c check.Checker,
	at level.Level, times int, patience time.Duration) (m trialMeans, err error) {
	began := time.Now()
	for i := range times {
		if i > 0 && urls != nil && time.Since(began) > patience {
			break
		}
		spec.Seed = l.Seed*1000 + uint64(i) + 1
		h, made, err := l.history(ctx, r, urls, spec)
		if err != nil {
			return m, err
		}
		v, checked, err := l.judge(ctx, c, h, at)
		if err != nil {
			return m, err
		}
		if v.Verdict == evidence.Violated {
			m.Found++
		}
		m.Trials++
		m.Generation += made
		m.Verification += checked
		m.Evidence += v.Stats.Stages["evidence"]
	}
	for _, sum := range []*float64{&m.Generation, &m.Verification, &m.Evidence} {
		*sum /= float64(m.Trials)
	}
	return m, nil
}

// history makes a history in memory or, if there are URLs, on databases, and returns how long that took.
func (l *Lab) history(ctx context.Context, r *Report, urls []string, spec datasets.Spec) (*history.History, float64,
	error) {
	if urls == nil {
		res, ms, err := l.generate(ctx, spec)
		if err != nil {
			return nil, 0, err
		}
		return res.History, ms, nil
	}
	res, err := l.collect(ctx, r, Traffic{DB: urls, Spec: spec})
	if err != nil {
		return nil, 0, err
	}
	return res.History, milliseconds(res.Elapsed), nil
}

// judge checks a history in this process, within the time-out. Some checkers, such as Elle for registers, may leave it
// undecided.
func (l *Lab) judge(ctx context.Context, c check.Checker, h *history.History, at level.Level) (*evidence.Result,
	float64, error) {
	limited, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	res, err := check.Run(limited, c, h, check.Options{Level: at})
	if err != nil {
		return nil, 0, err
	}
	return res, res.Stats.CheckMS, ctx.Err()
}

func mtcFig13(ctx context.Context, lab *Lab, r *Report) error {
	trials, err := lab.runTrials(ctx, r)
	if err != nil {
		return err
	}
	by := "found"
	for _, t := range trials {
		share := float64(t.Found) / float64(t.Trials)
		r.Add(decided("found", t.group, t.series, 100*share))
		if !t.memory {
			const halfHour = 30 * 60 * 1000
			by = "pace"
			r.Add(decided(by, t.group, t.series, math.Round(share*halfHour/(t.Generation+t.Verification))))
		}
	}
	return nil
}

// beats counts databases and sizes of transactions for which is returns true about a series of mini-transactions and
// another one.
func (r *Report) beats(metric, mini, other string, is func(m, e float64) bool) (count, all int) {
	for _, db := range weakDatabases() {
		m := r.Find(metric, db.name+", 4", mini)
		for _, ops := range []int{2, 4, 8} {
			if e := r.Find(metric, fmt.Sprintf("%s, %d", db.name, ops), other); m != nil && e != nil {
				all++
				if is(m.Value, e.Value) {
					count++
				}
			}
		}
	}
	return count, all
}

func mtcFig14(ctx context.Context, lab *Lab, r *Report) error {
	trials, err := lab.runTrials(ctx, r)
	if err != nil {
		return err
	}
	for _, t := range trials {
		r.Add(decided("generation", t.group, t.series, t.Generation))
		r.Add(decided("time", t.group, t.series, t.Verification))
		r.Add(decided("evidence", t.group, t.series, t.Evidence))
	}
	return nil
}

// bug is a line of Table II.
type bug struct {
	name   string
	at     level.Level
	spec   datasets.Spec // with a fault: run in memory
	server string        // else what is started, of which all nodes or the first are asked
	first  bool
	kind   level.Anomaly // that is looked for; "": any
	// none says that the database promises the level, so that a violation would be a discovery.
	none bool
}

func mtcBugs(n int) []bug {
	const si, ser = level.SessionSnapshotIsolation, level.SessionSerializable
	const postgres = "postgres:start:standby"
	mini := func(keys int, isolation string) datasets.Spec {
		return datasets.Spec{Workload: "mini", Txns: n / 4, Keys: keys, Isolation: isolation}
	}
	planted := func(fault, isolation string) datasets.Spec {
		return datasets.Spec{Workload: "mini", Txns: n, Keys: 100, Isolation: isolation, Fault: fault, FaultAt: n / 3}
	}
	return []bug{
		{name: "lost update at SI: Galera, its default level", at: si, server: "galera:start:3", spec: mini(100, "")},
		{name: "lost update at SI: MariaDB, repeatable-read", at: si, server: "mariadb:start", spec: mini(100,
			"repeatable-read")},
		{name: "aborted read at SI: MariaDB, read-uncommitted", at: si, server: "mariadb:start", spec: mini(10,
			"read-uncommitted"), kind: level.G1a},
		{name: "write skew at SER: PostgreSQL, repeatable-read", at: ser, server: postgres, first: true, spec: mini(20,
			"repeatable-read")},
		{name: "none at SER: PostgreSQL, serializable", at: ser, server: postgres, first: true, spec: mini(20,
			"serializable"), none: true},
		{name: "long fork at SI: PostgreSQL with its standby, repeatable-read", at: si, server: postgres,
			spec: mini(8, "repeatable-read")},
		{name: "lost update at SI: planted", at: si, spec: planted("lost-update", "snapshot-isolation")},
		{name: "aborted read at SI: planted", at: si, spec: planted("aborted-read", "snapshot-isolation")},
		{name: "causality violation at SI: planted", at: si,
			spec: planted("causality-violation", "snapshot-isolation")},
		{name: "write skew at SER: planted", at: ser, spec: planted("write-skew", "serializable")},
		{name: "long fork at SER: planted", at: ser, spec: planted("long-fork", "serializable")},
		{name: "aborted read at SSER: planted", at: level.StrictSerializable,
			spec: planted("aborted-read", "serializable")},
	}
}

// find runs a bug's workload and checks its history, with new seeds until there is a violation. The counts cover all
// rounds.
func (l *Lab) find(ctx context.Context, r *Report, b bug) (found *evidence.Result, position, txns int, generation,
	verification float64, err error) {
	c, err := check.ByName("mtc")
	if err != nil {
		return nil, 0, 0, 0, 0, err
	}
	rounds := 1
	var urls []string
	if b.server != "" {
		s, err := l.serve(ctx, r, b.server)
		if s == nil {
			return nil, 0, 0, 0, 0, err
		}
		if urls = s.URLs; b.first {
			urls = urls[:1]
		}
		rounds = l.Pick(3, 10, 100)
	}
	for i := range rounds {
		b.spec.Seed = l.Seed + uint64(i)
		h, made, err := l.history(ctx, r, urls, b.spec)
		if err != nil {
			return nil, 0, 0, 0, 0, err
		}
		res, checked, err := l.judge(ctx, c, h, b.at)
		if err != nil {
			return nil, 0, 0, 0, 0, err
		}
		generation += made
		verification = max(verification, checked)
		for _, a := range res.Anomalies {
			if b.kind == "" || a.Kind == b.kind {
				res.Anomalies = []evidence.Anomaly{a}
				return res, txns + int(slices.Min(a.Txns)), 0, generation, verification, nil
			}
		}
		if res.Verdict == evidence.Unknown {
			r.Note("%s, round %d: %s.", b.name, i+1, res.Reason)
		}
		txns += h.NumTxns()
	}
	return nil, 0, txns, generation, verification, nil
}

func mtcTable2(ctx context.Context, lab *Lab, r *Report) error {
	n := lab.Pick(200, 10_000, 50_000)
	for _, b := range mtcBugs(n) {
		err := lab.step(r, b.name, func() error {
			if b.server == "galera:start:3" && lab.Scale == QuickScale {
				r.Note("%s is left out at the quick scale: three servers take a while to start.", b.name)
				return nil
			}
			res, first, txns, generation, verification, err := lab.find(ctx, r, b)
			if err != nil {
				return err
			}
			if res == nil && txns == 0 {
				return nil // no such server here
			}
			verdict, text := evidence.Violated, ""
			switch {
			case b.none && res != nil:
				r.Note("%s: a violation, %s, which the database promises not to show.", b.name, res.Anomalies[0].Kind)
			case b.none:
				verdict, text = evidence.Holds, fmt.Sprintf("none in %d", txns)
			}
			if res == nil && !b.none {
				r.Add(Point{Metric: "position", Group: b.name, Series: "mtc",
					Reason: fmt.Sprintf("no violation found in %d transactions", txns)})
				return nil
			}
			if res != nil && b.server != "" {
				r.Note("%s: %s in %s.", b.name, res.Anomalies[0].Kind, res.H.Meta.DB)
			}
			r.Add(Point{Metric: "position", Group: b.name, Series: "mtc", Value: float64(first), Text: text,
				Verdict: verdict})
			r.Add(Point{Metric: "generation", Group: b.name, Series: "mtc", Value: generation, Verdict: verdict})
			r.Add(Point{Metric: "time", Group: b.name, Series: "mtc", Value: verification, Verdict: verdict})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
