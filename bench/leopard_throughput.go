package bench

import (
	"context"
	"errors"
	"time"

	"isovet/check/mechanism"
	"isovet/collect"
	"isovet/collect/server"
	"isovet/internal/safego"
)

// Figure 11 of [Leopard]: can a database be verified as fast as it works? Each workload runs on each database once.
// While it runs, its traces go through the pipeline to the verifier, in this process; afterwards its history is
// verified by itself.

// watched is what came of a run that was verified while it lasted.
type watched struct {
	res             *collect.Result
	online, offline *mechanism.Report
	// busy is how long the verifier computed, lag how long it went on when the clients were done, after how long it
	// verified the history.
	busy, lag, after time.Duration
}

// watch runs a workload and verifies it twice.
func (l *Lab) watch(ctx context.Context, r *Report, c collect.Config, profile string) (*watched, error) {
	p, err := mechanism.LookupProfile(profile)
	if err != nil {
		return nil, err
	}
	c.Feed = collect.NewFeed(c.Sessions)
	v := mechanism.NewVerifier(c.Sessions, mechanism.Options{Profile: *p, Initial: c.Feed.Initial, Duplicates: true})
	w := &watched{}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var verifier safego.Group
	var failed error
	verifier.Go(func() {
		failed = c.Feed.Pipeline().Run(ctx, func(client int, traces []mechanism.Trace) {
			start := time.Now()
			v.Dispatch(client, traces)
			w.busy += time.Since(start)
		})
		start := time.Now()
		w.online = v.Close()
		w.busy += time.Since(start)
		w.lag = time.Since(c.Feed.Ended())
	})
	w.res, err = l.collect(ctx, r, c)
	if err != nil {
		cancel()
	}
	verifier.Wait()
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	start := time.Now()
	w.offline, err = mechanism.Verify(ctx, w.res.History, mechanism.Options{Profile: *p})
	w.after = time.Since(start)
	return w, err
}

// perSecond is how many there are in a second.
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
		if server.Is(db.start) {
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
			urls = s.cluster.URLs
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
			err := lab.step(r, db.name+", "+w.name, func() error {
				group := db.name + ", " + w.name
				got, err := lab.watch(ctx, r, collect.Config{DB: urls, Isolation: db.isolation, Workload: w.workload,
					Variant: w.variant, Keys: w.keys, Txns: w.txns, Sessions: sessions}, db.profile)
				if err != nil {
					return err
				}
				on, off, commits, took := got.online, got.offline, got.res.Summary.Committed, got.res.Summary.Elapsed
				for _, rep := range []*mechanism.Report{on, off} {
					if rep.Total() > 0 {
						r.Note("%s: %d violations under %s.", group, rep.Total(), rep.Profile.Name())
					}
				}
				for _, m := range []struct {
					metric    string
					count, of int
				}{{"rate", commits, commits}, {"traces", on.Traces, off.Traces}} {
					own, online, offline := perSecond(m.count, took), perSecond(m.count, got.busy), perSecond(m.of,
						got.after)
					r.Add(measured(m.metric, group, "database", own))
					r.Add(measured(m.metric, group, "leopard, afterwards", offline))
					r.Add(measured(m.metric, group, "leopard, while it runs", online))
				}
				r.Add(measured("lag", group, "leopard, while it runs", milliseconds(got.lag)))
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	r.Note("Traces are those of refused transactions too. While the database runs, the verifier's throughput is " +
		"what it did in the time that it computed; both share the machine. 24 sessions everywhere. The paper's " +
		"databases are PostgreSQL 12.7 and OceanBase 3.1, which is not to be had here; its low contention is a " +
		"scale factor for each of 24 threads: so many accounts here, but one warehouse always.")
	return nil
}
