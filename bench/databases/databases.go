// Package databases has the parts of package bench's figures that need databases and the network. Importing it
// registers it with bench; programs that only compare checkers compile a fifth faster without it.
//
// Experimental: this package may still change.
package databases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"isovet/bench"
	"isovet/collect"
	"isovet/collect/driver"
	"isovet/collect/server"
	"isovet/datasets"
	"isovet/datasets/workload"
	"isovet/internal/safego"
	"isovet/record"
)

func init() { bench.RegisterDatabases(databases{}) }

type databases struct{}

func (databases) Start(ctx context.Context, start string) (*bench.Server, error) {
	c, err := server.Start(ctx, start)
	if errors.Is(err, server.ErrMissing) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("it does not start: %w", err)
	}
	return &bench.Server{URLs: c.URLs, Close: c.Close}, nil
}

func (databases) Run(ctx context.Context, l bench.Traffic) (*bench.Ran, error) {
	c := collect.Config{DB: l.DB, Isolation: l.Isolation, Workload: l.Workload, Variant: l.Variant, Txns: l.Txns,
		Keys: l.Keys, Ops: l.Ops, Sessions: l.Sessions, Seed: l.Seed, Duration: l.Duration, NoRecord: l.Unrecorded,
		Live: l.Live}
	if l.Zipf > 0 {
		in, err := workload.Lookup(l.Workload)
		if err != nil {
			return nil, err
		}
		p := workload.Params{Variant: l.Variant, Keys: l.Keys, Zipf: l.Zipf, Sessions: l.Sessions, Database: true}
		if c.Custom, _, err = in.New(p); err != nil {
			return nil, err
		}
	}
	res, err := collect.Run(ctx, c)
	if err != nil {
		return nil, err
	}
	s := &res.Summary
	return &bench.Ran{History: res.History, DB: s.DB, Committed: s.Committed, Aborted: s.Aborted,
		Elapsed: s.Elapsed}, nil
}

func (databases) Get(ctx context.Context, url string) (string, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return "", err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return "", errors.New(a.Status)
	}
	b, err := io.ReadAll(a.Body)
	return string(b), err
}

func (databases) Rate(ctx context.Context, urls []string, spec datasets.Spec, to string) (rate float64, err error) {
	db, err := driver.Open(ctx, urls, driver.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Load(ctx, driver.Data{Rows: func(yield func(int64, driver.Row) bool) {
		for k := range int64(1000) {
			if !yield(k, driver.Row{}) {
				return
			}
		}
	}, Mark: time.Now().UnixNano()}); err != nil {
		return 0, err
	}
	rec, err := recorder(to)
	if err != nil {
		return 0, err
	}
	const sessions = 24
	var left, version, committed atomic.Int64
	left.Store(int64(spec.Txns))
	errs := make([]error, sessions)
	var g safego.Group
	start := time.Now()
	for i := range sessions {
		g.Go(func() {
			s, err := db.Connect(ctx, 0)
			if err != nil {
				errs[i] = err
				return
			}
			defer s.Close()
			c := collected{db: db, s: s, ops: spec.Ops, rng: rand.New(rand.NewPCG(spec.Seed, uint64(i))),
				version: &version}
			if rec != nil {
				c.rec = rec.Session()
			}
			for left.Add(-1) >= 0 && ctx.Err() == nil && errs[i] == nil {
				var done bool
				if done, errs[i] = c.txn(); done {
					committed.Add(1)
				}
			}
		})
	}
	g.Wait()
	took := time.Since(start)
	if rec != nil {
		err = rec.Close()
	}
	return float64(committed.Load()) / max(took, time.Microsecond).Seconds(), errors.Join(errors.Join(errs...), err,
		ctx.Err())
}

// recorder returns the recorder for a load's history, after writing the initial versions.
func recorder(to string) (rec *record.Recorder, err error) {
	switch {
	case to == "":
		return nil, nil
	case strings.Contains(to, "://"):
		rec, err = record.Send(to, record.Options{})
	default:
		rec, err = record.Create(to, record.Options{})
	}
	if err != nil {
		return nil, err
	}
	for k := range 1000 {
		if err = rec.Initial(k, 0); err != nil {
			return nil, errors.Join(err, rec.Close())
		}
	}
	return rec, nil
}

// collected is a client whose transactions can be recorded.
type collected struct {
	db      driver.DB
	s       driver.Session
	rec     *record.Session // nil: they are not
	ops     int
	rng     *rand.Rand
	version *atomic.Int64
}

// txn runs a transaction. It returns false if the database refused it.
func (c *collected) txn() (done bool, err error) {
	var t *record.Txn
	if c.rec != nil {
		t = c.rec.Begin("")
	}
	if err = c.s.Begin(); err == nil {
		err = c.body(t)
	}
	if err == nil {
		err = c.s.Commit()
	}
	if err == nil {
		if t != nil {
			err = t.Commit(nil)
		}
		return true, err
	}
	if c.db.Classify(err) != driver.Aborted {
		return false, err
	}
	err = c.s.Rollback()
	if t != nil {
		err = errors.Join(err, t.Abort(nil))
	}
	return false, err
}

func (c *collected) body(t *record.Txn) error {
	keys := make([]int64, c.ops)
	for i := range keys {
		keys[i] = c.rng.Int64N(1000)
	}
	slices.Sort(keys) // no deadlocks
	for _, key := range keys {
		if c.rng.IntN(2) == 0 {
			row, _, err := c.s.Get(key, false)
			if err == nil && t != nil {
				err = t.Read(key, row.Version)
			}
			if err != nil {
				return err
			}
			continue
		}
		v := c.version.Add(1)
		if t != nil {
			if err := t.Write(key, v); err != nil {
				return err
			}
		}
		if err := c.s.Put(key, driver.Row{Version: v, Payload: v}); err != nil {
			return err
		}
	}
	return nil
}
