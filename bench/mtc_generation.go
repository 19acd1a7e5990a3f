package bench

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/internal/slice"
	"isovet/level"
)

// Figures 10, 11 and 17 of [MTC]: what mini-transactions save when histories are made, on PostgreSQL as in the paper,
// and in memory.

// inMemory and inPostgres end the names of series.
const (
	inMemory   = ", in memory"
	inPostgres = ", PostgreSQL"
)

// generate runs a workload in memory and returns how long that took.
func (l *Lab) generate(ctx context.Context, spec datasets.Spec) (*datasets.Result, float64, error) {
	spec.Seed = cmp.Or(spec.Seed, l.Seed)
	l.tell("generating " + Source{Workload: spec.Workload, Variant: spec.Variant}.Name())
	start := time.Now()
	res, err := datasets.Run(ctx, spec)
	ms := float64(time.Since(start).Microseconds()) / 1e3
	if err == nil {
		l.made.add(spec, evidence.SizesOf(res.History))
	}
	return res, ms, err
}

// endToEnd measures making and verifying histories: of mini-transactions by MTC, and of general transactions by its
// rivals, which all verify the same history.
type endToEnd struct {
	*Lab
	r                 *Report
	at                level.Level
	memory, isolation string // of the store in memory, and of PostgreSQL
	rivals            []string
	pg                *served // nil: there is none
}

func (m endToEnd) measure(ctx context.Context) (err error) {
	n := m.Pick(200, 2000, 10_000)
	if m.pg, err = m.serve(ctx, m.r, "postgres:start"); err != nil {
		return err
	}
	groups := []struct {
		name            string
		txns, ops, keys int
	}{
		{fmt.Sprintf("%d transactions", n/2), n / 2, 8, n}, {fmt.Sprintf("%d transactions", n), n, 8, n},
		{fmt.Sprintf("%d transactions", 2*n), 2 * n, 8, n},
		{"GT of 4 operations", n, 4, n}, {"GT of 16 operations", n, 16, n}, {fmt.Sprintf("%d objects", n/4), n, 8,
			n / 4}, {fmt.Sprintf("%d objects", 2*n), n, 8, 2 * n},
	}
	if m.Scale == QuickScale {
		groups = groups[:3]
	}
	for _, g := range groups {
		for _, spec := range []datasets.Spec{{Workload: "mini", Txns: g.txns, Keys: g.keys},
			{Workload: "gt", Variant: "cobra", Txns: g.txns, Ops: g.ops, Keys: g.keys}} {
			if err := m.step(m.r, g.name+", "+spec.Workload, func() error {
				return m.histories(ctx, g.name, spec)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// histories makes a history in memory and one in PostgreSQL, and verifies both.
func (m endToEnd) histories(ctx context.Context, group string, spec datasets.Spec) error {
	spec.Times, spec.Isolation = datasets.TxnTimes, m.memory
	_, ms, err := m.generate(ctx, spec)
	if err != nil {
		return err
	}
	src, err := m.Source(ctx, spec)
	if err != nil {
		return err
	}
	mini := spec.Workload == "mini"
	if err := m.verify(ctx, group, inMemory, mini, src, ms); err != nil || m.pg == nil {
		return err
	}
	spec.Isolation = m.isolation
	res, err := m.collect(ctx, m.r, Traffic{DB: m.pg.URLs, Spec: spec})
	if err != nil {
		return err
	}
	if src, err = m.File(fmt.Sprintf("%s %s %s", path.Base(m.r.Figure), group, spec.Workload),
		res.History); err != nil {
		return err
	}
	m.r.Note("The paper's database is PostgreSQL 14.7; here it is %s.", res.DB)
	return m.verify(ctx, group, inPostgres, mini, src, milliseconds(res.Elapsed))
}

// verify verifies a history by MTC or, without mini, by its rivals.
func (m endToEnd) verify(ctx context.Context, group, where string, mini bool, src Source, generation float64) error {
	if mini {
		return m.by(ctx, group, "MT, mtc", "mtc", where, src, generation)
	}
	return slice.Each(m.rivals, func(c string) error { return m.by(ctx, group, "GT, "+c, c, where, src, generation) })
}

func (m endToEnd) by(ctx context.Context, group, series, checker, where string, src Source, generation float64) error {
	got, err := m.Run(ctx, src, m.at, rival(checker))
	if err != nil {
		return err
	}
	r := m.r
	if checker == "mtc" || checker == m.rivals[0] { // the others' is the same
		r.Add(point("generation", group, series+where, &got, fixed(generation)))
	}
	r.Add(point("time", group, series+where, &got, checkMS))
	r.Add(point("memory", group, series+where, &got, peakMB))
	if _, ok := got.Stats.Stages["solving"]; ok && checker != "mtc" {
		where := strings.TrimPrefix(checker, m.rivals[0]) + where
		r.Add(point("parts", group, "solver"+where, &got, stageMS("solving")))
		r.Add(point("parts", group, "all else"+where, &got, func(m *Measured) float64 {
			if m.Verdict == evidence.Unknown {
				return 0 // some of it may be solving that no stage was booked for
			}
			return m.Stats.CheckMS - m.Stats.Stages["solving"]
		}))
	}
	return nil
}

func mtcFig10(ctx context.Context, lab *Lab, r *Report) error {
	r.Note("Cobra runs without a GPU. " + purdomNote)
	return endToEnd{Lab: lab, r: r, at: level.SessionSerializable, memory: "serializable", isolation: "serializable",
		rivals: []string{"cobra", "cobra" + byPurdom}}.measure(ctx)
}

func mtcFig17(ctx context.Context, lab *Lab, r *Report) error {
	return endToEnd{Lab: lab, r: r, at: level.SessionSnapshotIsolation, memory: "snapshot-isolation",
		isolation: "repeatable-read", rivals: []string{"polysi"}}.measure(ctx)
}

// abortLevels are the levels of Figure 11, by their names in the paper, in memory and in PostgreSQL.
var abortLevels = []struct{ name, memory, postgres string }{{"SER", "serializable-snapshot", "serializable"},
	{"SI", "snapshot-isolation", "repeatable-read"}}

func mtcFig11(ctx context.Context, lab *Lab, r *Report) error {
	n := lab.Pick(200, 3000, 20_000)
	pg, err := lab.serve(ctx, r, "postgres:start")
	if err != nil {
		return err
	}
	one := func(metric, group string, sessions int, keys func(txns int) int) error {
		add := func(series string, aborted, all int) {
			r.Add(Point{Metric: metric, Group: group, Series: series, Value: 100 * float64(aborted) / float64(max(1,
				all)), Verdict: evidence.Holds})
		}
		for _, w := range []struct {
			name, workload, variant string
			ops                     int
		}{{"MT", "mini", "", 0}, {"GT", "gt", "cobra", 20}} {
			for _, iso := range abortLevels {
				series := w.name + ", " + iso.name
				res, _, err := lab.generate(ctx, datasets.Spec{Workload: w.workload, Variant: w.variant, Ops: w.ops,
					Isolation: iso.memory, Txns: n, Keys: keys(n), Sessions: sessions})
				if err != nil {
					return err
				}
				s := res.Stats
				aborted := s.Rollbacks + s.Deadlocks + s.Conflicts + s.Dangerous
				add(series+inMemory, aborted, aborted+s.Committed)
				if pg == nil {
					continue
				}
				got, err := lab.collect(ctx, r, Traffic{DB: pg.URLs, Unrecorded: true,
					Spec: datasets.Spec{Isolation: iso.postgres, Workload: w.workload, Variant: w.variant,
						Ops: w.ops, Txns: n / 4, Keys: keys(n / 4), Sessions: sessions}})
				if err != nil {
					return err
				}
				add(series+inPostgres, got.Aborted, got.Committed+got.Aborted)
			}
		}
		return nil
	}
	rate := func(metric, group string, sessions int, keys func(txns int) int) error {
		return lab.step(r, metric+" "+group, func() error { return one(metric, group, sessions, keys) })
	}
	sizes := []int{2, 5, 10, 20}
	if lab.Scale == QuickScale {
		sizes = sizes[1:3]
	}
	for _, s := range sizes {
		if err := rate("sessions", strconv.Itoa(s), s, func(int) int { return 1000 }); err != nil {
			return err
		}
	}
	for _, per := range sizes {
		if err := rate("skew", strconv.Itoa(per), 10, func(txns int) int { return max(txns/per, 20) }); err != nil {
			return err
		}
	}
	r.Note("A refused transaction is tried again after a pause that grows, and counts each time. The paper does not "+
		"say how many objects there were; here it is 1,000 in (a), and in (b) as many as there are so many "+
		"transactions an object of: of %d, on PostgreSQL of %d.", n, n/4)
	return nil
}
