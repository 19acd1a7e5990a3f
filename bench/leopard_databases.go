package bench

import (
	"context"

	"isovet/check"
	"isovet/check/mechanism"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/plural"
	"isovet/level"
)

// Figures 3 and 12 of [Leopard] on PostgreSQL, and §VI-F, about a bug that Elle does not find.

// onPostgres ends the names of series with histories of PostgreSQL.
const onPostgres = "PostgreSQL"

// overlaps collects a workload from PostgreSQL at serializable and returns what Leopard deduces. It returns nil, with
// a note in the report, if there is no PostgreSQL.
func (l *Lab) overlaps(ctx context.Context, r *Report, c Traffic) (*mechanism.Report, error) {
	s, err := l.serve(ctx, r, "postgres:start")
	if s == nil || err != nil {
		return nil, err
	}
	c.DB, c.Isolation = s.URLs, "serializable"
	res, err := l.collect(ctx, r, c)
	if err != nil {
		return nil, err
	}
	p, err := mechanism.LookupProfile("postgresql:serializable")
	if err != nil {
		return nil, err
	}
	rep, err := mechanism.Verify(ctx, res.History, mechanism.Options{Profile: *p})
	if err == nil && rep.Total() > 0 {
		r.Note("%s %s: %s under %s.", c.Workload, c.Variant, plural.Of(rep.Total(), "violation"), p.Name())
	}
	return rep, err
}

// inconsistent is the bug in [Leopard] §VI-F: one client updates a row twice, and a transaction that begins after both
// updates have ended reads the first. No dependency between the three closes a cycle that Elle infers.
func inconsistent() (*history.History, error) {
	b := history.NewBuilder()
	b.Initial = history.IntValue(0)
	b.Meta.DB, b.Meta.Isolation = "PostgreSQL 15", "read committed"
	x := b.Key(b.StringValue([]byte("t/3873")))
	for i, write := range []int64{386, 484, 0} {
		if write != 0 {
			b.Write(x, history.IntValue(write))
		} else {
			b.Read(x, history.IntValue(386))
		}
		at := 100 * int64(i+1)
		b.OpTimes(at, at+10)
		head := history.NewTxnHead()
		head.Session, head.HasSess, head.Start, head.End = int64(i), true, at-5, at+20
		b.EndTxn(head)
	}
	return b.Build()
}

func leopardElle(ctx context.Context, lab *Lab, r *Report) error {
	h, err := inconsistent()
	if err != nil {
		return err
	}
	const group = "inconsistent read"
	found := func(series string, yes bool) {
		p := Point{Metric: "found", Group: group, Series: series, Text: "not found", Verdict: evidence.Holds}
		if yes {
			p.Value, p.Text = 1, "found"
		}
		r.Add(p)
	}
	profile, err := mechanism.LookupProfile("postgresql:read-committed")
	if err != nil {
		return err
	}
	rep, err := mechanism.Verify(ctx, h, mechanism.Options{Profile: *profile})
	if err != nil {
		return err
	}
	found("leopard", rep.Total() > 0)
	for _, name := range []string{"elle-register", "replay"} {
		c, err := check.ByName(name)
		if err != nil {
			return err
		}
		res, err := check.Run(ctx, c, h, check.Options{Level: level.Serializable})
		if err != nil {
			return err
		}
		found(name, res.Verdict == evidence.Violated)
	}
	return nil
}
