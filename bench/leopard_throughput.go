package bench

import (
	"context"
	"strings"
	"time"

	"isovet/check/mechanism"
	"isovet/datasets"
	"isovet/history"
	"isovet/internal/keyed"
	"isovet/internal/plural"
)

// Figure 11 of [Leopard] asks whether a database can be verified as fast as it runs. Each workload runs on each
// database once. During the run this process verifies it piece by piece; afterwards it verifies the history separately.

// watched is the result of a run that was verified while it ran.
type watched struct {
	res             *Ran
	online, offline *mechanism.Report
	// busy is how long the verifier computed, lag how long it took after the clients had finished, and after how long
	// the separate verification took.
	busy, lag, after time.Duration
}

// watch runs a workload and verifies it twice.
func (l *Lab) watch(ctx context.Context, r *Report, c Traffic, profile string) (*watched, error) {
	p, err := mechanism.LookupProfile(profile)
	if err != nil {
		return nil, err
	}
	f := newFollower(p)
	c.Live = f
	w := &watched{}
	if w.res, err = l.collect(ctx, r, c); err != nil {
		return nil, err
	}
	start := time.Now()
	w.online = f.online.Close()
	w.busy = f.busy + time.Since(start)
	w.lag = f.last + time.Since(start)
	start = time.Now()
	w.offline, err = mechanism.Verify(ctx, w.res.History, mechanism.Options{Profile: *p})
	w.after = time.Since(start)
	return w, err
}

// follower verifies a run while it runs, like isovet collect --watch.
type follower struct {
	stream     *mechanism.Stream
	online     *mechanism.Online
	buf        []mechanism.Trace
	busy, last time.Duration // of all pieces, of the last
}

func newFollower(p *mechanism.Profile) *follower {
	f := &follower{stream: mechanism.NewStream(keyed.Draw())}
	f.online = mechanism.NewOnline(mechanism.OnlineOptions{Lateness: mechanism.Forever,
		Options: mechanism.Options{Profile: *p, Initial: f.stream.Initial}})
	return f
}

func (f *follower) Begin(meta history.Meta) error {
	b := history.NewBuilder()
	b.Meta = meta
	h, err := b.Build()
	if err == nil {
		f.stream.Starts(h)
	}
	return err
}

func (f *follower) Ended(h *history.History, mark int64) (err error) {
	start := time.Now()
	f.stream.Piece(h)
	for t := range uint32(h.NumTxns()) {
		if f.buf, err = f.stream.Txn(f.buf[:0], t, uint64(h.Txns.ID[t])); err != nil {
			return err
		}
		if len(f.buf) > 0 {
			f.online.Add(f.buf)
		}
	}
	f.online.Advance(mark)
	f.last = time.Since(start)
	f.busy += f.last
	return nil
}

func perSecond(n int, d time.Duration) float64 {
	return float64(n) / max(d, time.Microsecond).Seconds()
}

func leopardFig11(ctx context.Context, lab *Lab, r *Report) error {
	n := lab.Pick(200, 5_000, 50_000)
	const sessions = 24
	type target struct{ name, start, isolation, profile string }
	targets := []target{
		{"PostgreSQL serializable", "postgres:start", "serializable", "postgresql:serializable"},
		{"PostgreSQL repeatable-read", "postgres:start", "repeatable-read", "postgresql:repeatable-read"},
		{"MariaDB serializable", "mariadb:start", "serializable", "mariadb:serializable"},
		{"SQLite", "sqlite:", "immediate", "sqlite:immediate"},
		{"Badger", "badger:", "", "badger:serializable-snapshot"},
	}
	for _, db := range targets {
		urls := []string{db.start}
		if strings.HasSuffix(db.start, ":start") {
			if lab.Scale == QuickScale && db.start == "mariadb:start" {
				continue
			}
			s, err := lab.serve(ctx, r, db.start)
			if err != nil {
				return err
			}
			if s == nil {
				continue
			}
			urls = s.URLs
		}
		for _, w := range []struct {
			name, workload, variant string
			keys, txns              int
		}{
			{"SmallBank, 1,000 accounts", "smallbank", "", 1000, n},
			{"SmallBank, 24,000 accounts", "smallbank", "", 24_000, n},
			{"YCSB-A", "ycsb", "A", 0, n},
			{"TPC-C", "tpcc", "", lab.Pick(30, 0, 0), n / 5},
		} {
			group := db.name + ", " + w.name
			err := lab.step(r, group, func() error {
				return leopardRates(ctx, lab, r, group, Traffic{DB: urls, Spec: datasets.Spec{Isolation: db.isolation,
					Workload: w.workload, Variant: w.variant, Keys: w.keys, Txns: w.txns, Sessions: sessions}},
					db.profile)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// leopardRates measures a load on a database, with the verifier during the load and afterwards.
func leopardRates(ctx context.Context, lab *Lab, r *Report, group string, c Traffic, profile string) error {
	got, err := lab.watch(ctx, r, c, profile)
	if err != nil {
		return err
	}
	on, off, commits, took := got.online, got.offline, got.res.Committed, got.res.Elapsed
	for _, rep := range []*mechanism.Report{on, off} {
		if rep.Total() > 0 {
			r.Note("%s: %s under %s.", group, plural.Of(rep.Total(), "violation"), rep.Profile.Name())
		}
	}
	for _, m := range []struct {
		metric    string
		count, of int
	}{{"rate", commits, commits}, {"traces", on.Traces, off.Traces}} {
		own, online, offline := perSecond(m.count, took), perSecond(m.count, got.busy), perSecond(m.of, got.after)
		r.Add(decided(m.metric, group, "database", own))
		r.Add(decided(m.metric, group, "leopard, afterwards", offline))
		r.Add(decided(m.metric, group, "leopard, while it runs", online))
	}
	r.Add(decided("lag", group, "leopard, while it runs", milliseconds(got.lag)))
	return nil
}
