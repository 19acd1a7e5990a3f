package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"isovet/collect/driver"
	"isovet/datasets"
	"isovet/internal/safego"
	"isovet/level"
	"isovet/record"
)

// Figures 12c, 12d, 13b and 15 of AION, end to end: isovet watch in a process of its own, time-outs by the clock, a
// log, and keys on disk where memory is bounded.

// aionDatasets is Figures 12c and 12d: RUBiS and Twitter.
func aionDatasets(ctx context.Context, lab *Lab, r *Report) error {
	if !lab.watches(ctx) {
		r.Note(noWatch)
		return nil
	}
	txns := lab.Pick(2000, 200_000, 500_000)
	for _, c := range []struct {
		name, workload string
		keys           int
	}{{"RUBiS", "rubis", 200}, {"Twitter", "ctwitter", 500}} {
		spec := datasets.Spec{Workload: c.workload, Txns: txns, Sessions: 24, Keys: c.keys, Isolation: "serializable",
			DBTimes: true, Times: datasets.NoTimes, NoAborted: true}
		first, lines, err := lab.sent(ctx, spec, batched, 25_000, 100, 10)
		if err != nil {
			return err
		}
		for _, memory := range []string{plenty, some, little} {
			name := c.name + ", " + memory
			lab.tell(name)
			before := time.Duration(0)
			w, err := lab.pipeTo(ctx, first, lines, watching{level: level.SessionSerializable, memory: memory,
				tick: func(percent int, since time.Duration, _ map[string]float64) {
					if percent%20 == 0 {
						r.Add(decided("rate", strconv.Itoa(percent), name,
							float64(len(lines))/5/max(since-before, time.Microsecond).Seconds()))
						before = since
					}
				}})
			if err != nil {
				return err
			}
			r.Add(decided("whole", "100", name, float64(len(lines))/w.took.Seconds()))
			r.Add(decided("memory", "100", name, w.most))
			r.Add(decided("keys", "100", name, w.last["keys"]))
			late := w.last[`violations_total{axiom="LATE"}`]
			r.Add(decided("late", "100", name, late))
			r.Add(decided("wrong", "100", name, w.last["violations_total"]-late))
		}
	}
	datasetClaims(r)
	r.Note("isovet watch in a process of its own, by JSON lines through a pipe, as fast as they are taken, in batches "+
		"of %d with delays of N(100, 10²) ms; 24 sessions; --lateness %v by the clock; the log is written and synced. "+
		"The histories are this project's forms of RUBiS (200 users to begin with) and of a small Twitter (500 "+
		"users), serializable, not Dgraph's. Cobra is left out.", batched, lab.patience())
	return nil
}

// datasetClaims follow from the points alone.
func datasetClaims(r *Report) {
	slowest, keys, wrong, late := map[string]float64{}, map[string]float64{}, 0.0, 0.0
	whole := map[string]float64{}
	for _, p := range r.Points {
		set, memory, _ := strings.Cut(p.Series, ", ")
		switch p.Metric {
		case "whole":
			whole[p.Series] = p.Value
			if slowest[memory] == 0 || p.Value < slowest[memory] {
				slowest[memory] = p.Value
			}
		case "keys":
			keys[set] = max(keys[set], p.Value)
		case "wrong":
			wrong += p.Value
		case "late":
			late += p.Value
		}
	}
	r.Claim("similar results for both: 18 K transactions a second without garbage collection, 12 K with it, 3 K where "+
		"no memory is free (SER)", fmt.Sprintf("never below %.1f K, %.1f K and %.1f K with --memory %s, %s and %s, "+
		"the process's start and end included", slowest[plenty]/1000, slowest[some]/1000, slowest[little]/1000, plenty,
		some, little), slowest[plenty] > 18_000 && slowest[some] > 12_000 && slowest[little] > 3000)
	a, b := whole["Twitter, "+plenty], whole["RUBiS, "+plenty]
	r.Claim("less on Twitter than on RUBiS, for it has more keys", fmt.Sprintf("%.1f K and %.1f K, of %.0f and %.0f "+
		"keys",
		a/1000, b/1000, keys["Twitter"], keys["RUBiS"]), a < b)
	r.Claim("what is right is found to be", fmt.Sprintf("%.0f violations; %.0f transactions are late, where memory is "+
		"too short for 5 s of the stream", wrong, late), wrong == 0)
}

// aionRectified is Figure 13b: after how long a verdict that was wrong is right.
func aionRectified(ctx context.Context, lab *Lab, r *Report) error {
	if !lab.watches(ctx) {
		r.Note(noWatch)
		return nil
	}
	txns, batch := lab.Pick(600, 10_000, 10_000), lab.Pick(50, batched, batched)
	first, each, err := lab.sent(ctx, tableI(txns), batch, paperRate, 100, 10)
	if err != nil {
		return err
	}
	// The same, where a batch comes as a whole, its transactions in the order of their delays.
	whole := slices.Clone(each)
	period := time.Duration(float64(batch) / paperRate * float64(time.Second))
	for i := range whole {
		whole[i].at = whole[i].at/period*period + 150*time.Millisecond
	}
	slices.SortStableFunc(whole, func(a, b arrival) int { return int(a.at - b.at) })
	lab.tell(fmt.Sprintf("%d transactions at %d a second", txns, paperRate))
	runs := [...]pipeRun{{}, {}}
	var errs [2]error
	var g safego.Group
	defer g.Wait()
	for i, lines := range [][]arrival{each, whole} {
		g.Go(func() {
			runs[i], errs[i] = lab.pipeTo(ctx, first, lines, watching{level: chronosLevel, paced: true,
				wait: lab.patience() + time.Second})
		})
	}
	g.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	for i, name := range []string{eachDelayed, wholeBatches} {
		all := runs[i].last["rectified_seconds_count"]
		for _, le := range []string{"0.001", "0.01", "0.05", "0.1", "0.5", "1", "2", "5", "+Inf"} {
			n := runs[i].last[`rectified_seconds_bucket{le="`+le+`"}`]
			r.Add(decided("rectified", le, name, 100*n/max(all, 1)))
		}
		r.Add(decided("flips", "all", name, all))
		r.Add(decided("wrong", "all", name, runs[i].last["violations_total"]))
	}
	rectifiedClaims(r)
	r.Note("%d transactions, of which %d commit a second, sent in batches of %d with delays of N(100, 10²) ms; "+
		"verdicts are final %v later, by the clock. The paper does not say whether a transaction comes after its "+
		"delay or with its batch, whose transactions are in the order of their delays: both are measured. A verdict "+
		"is wrong from the arrival of the read, or of a version that it has not seen, until the version comes that "+
		"it has.", txns, paperRate, batch, lab.patience())
	return nil
}

// The ways in which a batch comes.
const (
	eachDelayed  = "each after its delay"
	wholeBatches = "a batch at once"
)

// rectifiedClaims follow from the points alone.
func rectifiedClaims(r *Report) {
	value := func(metric, group, series string) float64 {
		if p := r.Find(metric, group, series); p != nil {
			return p.Value
		}
		return 0
	}
	a, b := value("rectified", "0.01", eachDelayed), value("rectified", "0.01", wholeBatches)
	r.Claim("over 95 % of what is wrong is right within 10 ms", fmt.Sprintf("%.1f %% where each comes after its "+
		"delay, %.1f %% where a batch comes at once", a, b), max(a, b) > 95)
	a = value("rectified", "2", eachDelayed) - value("rectified", "0.5", eachDelayed)
	b = value("rectified", "2", wholeBatches) - value("rectified", "0.5", wholeBatches)
	r.Claim("about 3 % take about 1.5 s, probably the next batch", fmt.Sprintf("%.1f %% and %.1f %% take 0.5 to 2 s", a,
		b), max(a, b) > 0.5 && max(a, b) < 10)
	a = value("wrong", "all", eachDelayed) + value("wrong", "all", wholeBatches)
	r.Claim("a time-out above the latency of a batch leaves no false alarm", fmt.Sprintf(
		"%.0f violations, late transactions included", a), a == 0)
}

// aionOverhead is Figure 15: what it costs a database that its history is collected.
func aionOverhead(ctx context.Context, lab *Lab, r *Report) error {
	if !lab.watches(ctx) {
		r.Note(noWatch)
		return nil
	}
	txns, rounds := lab.Pick(40, 3000, 20_000), lab.Pick(1, 11, 11)
	for _, db := range []struct{ name, url string }{{"PostgreSQL", "postgres:start"}, {"SQLite", "sqlite:"}} {
		urls := []string{db.url}
		if db.url == "postgres:start" {
			s, err := lab.serve(ctx, r, db.url)
			if err != nil {
				return err
			}
			if s == nil {
				continue
			}
			urls = s.cluster.URLs
		}
		for _, ops := range lab.sizes([]int{5}, []int{5, 15, 30}, []int{5, 15, 30, 50, 100}) {
			rates, loss := map[string][]float64{}, map[string][]float64{}
			n := max(txns*5/ops, 10)    // as many operations
			for round := range rounds { // in turns, so that what else the machine does is shared
				ways := []string{notCollected, toFile, toWatch}
				if round%2 == 1 {
					slices.Reverse(ways)
				}
				for _, how := range ways {
					lab.tell(fmt.Sprintf("%s, %d operations, %s, %d of %d", db.name, ops, how, round+1, rounds))
					rate, err := lab.collecting(ctx, urls, how, ops, n)
					if err != nil {
						return fmt.Errorf("%s, %s: %w", db.name, how, err)
					}
					rates[how] = append(rates[how], rate)
				}
				for _, how := range []string{toFile, toWatch} {
					loss[how] = append(loss[how], 100*(1-rates[how][round]/max(rates[notCollected][round], 1)))
				}
			}
			group := fmt.Sprintf("%s, %d operations", db.name, ops)
			for _, how := range []string{notCollected, toFile, toWatch} {
				r.Add(measured("rate", group, how, median(rates[how])))
			}
			for _, how := range []string{toFile, toWatch} {
				r.Add(measured("loss", group, how, median(loss[how])))
			}
		}
	}
	overheadClaims(r)
	r.Note("Half of the operations read and half write, of 1,000 keys in their order, in 24 sessions; %d runs of %d "+
		"operations each, in turns: the medians of the rates, and of what each loses to the run that is not collected "+
		"beside it. Transactions are recorded by package record; isovet watch (--checker replay) takes them "+
		"over HTTP, and judges them, on the machine and the cores that the database and its clients use, where the "+
		"paper's checker has a machine of its own.", rounds, 5*txns)
	return nil
}

// The ways to collect.
const (
	notCollected = "not collected"
	toFile       = "to a file"
	toWatch      = "to isovet watch"
)

// overheadClaims follow from the points alone.
func overheadClaims(r *Report) {
	mean := func(db, how string) float64 {
		sum, n := 0.0, 0.0
		for _, p := range r.Points {
			if p.Metric == "loss" && p.Series == how && strings.HasPrefix(p.Group, db) {
				sum, n = sum+p.Value, n+1
			}
		}
		return sum / max(n, 1)
	}
	sent := mean("PostgreSQL", toWatch)
	r.Claim("collecting (and transmitting) the history costs roughly 5 % of the transactions a second", fmt.Sprintf(
		"in the mean PostgreSQL loses %.1f %% to isovet watch and %.1f %% to a file, SQLite, in the program itself, "+
			"%.1f %% and %.1f %%", sent, mean("PostgreSQL", toFile), mean("SQLite", toWatch), mean("SQLite", toFile)),
		sent < 10)
}

// collecting runs a load, and says how many transactions a second commit.
func (l *Lab) collecting(ctx context.Context, urls []string, how string, ops, txns int) (rate float64, err error) {
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
	var rec *record.Recorder
	switch how {
	case toFile:
		rec, err = record.Create(filepath.Join(l.dir, "collected.jsonl"), record.Options{})
	case toWatch:
		url, end, e := l.listening(ctx)
		if e != nil {
			return 0, e
		}
		defer func() { err = errors.Join(err, end()) }()
		rec, err = record.Send(url, record.Options{})
	}
	if err != nil {
		return 0, err
	}
	for k := range 1000 {
		if rec != nil && err == nil {
			err = rec.Initial(k, 0)
		}
	}
	if err != nil {
		return 0, errors.Join(err, rec.Close())
	}
	const sessions = 24
	var left, version, committed atomic.Int64
	left.Store(int64(txns))
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
			c := collected{db: db, s: s, ops: ops, rng: rand.New(rand.NewPCG(l.Seed, uint64(i))), version: &version}
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
	return perSecond(int(committed.Load()), took), errors.Join(errors.Join(errs...), err, ctx.Err())
}

// collected is a client whose transactions may be recorded.
type collected struct {
	db      driver.DB
	s       driver.Session
	rec     *record.Session // nil: they are not
	ops     int
	rng     *rand.Rand
	version *atomic.Int64
}

// txn runs a transaction; false: the database has refused it.
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

// listening starts an isovet watch that takes lines over HTTP.
func (l *Lab) listening(ctx context.Context) (url string, end func() error, err error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	url = "http://" + free.Addr().String()
	if err := free.Close(); err != nil {
		return "", nil, err
	}
	dir := filepath.Join(l.dir, fmt.Sprintf("collect-%d", time.Now().UnixNano()))
	cmd := exec.CommandContext(ctx, l.self[0], append(slices.Clone(l.self[1:]), "watch", "--checker", "replay",
		"--level", "snapshot-isolation", "--state", dir, "--source", url, "--quiet", "--keep", "64MiB")...)
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	end = func() error {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		return cmd.Wait()
	}
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/position", nil)
		if err == nil {
			var a *http.Response
			if a, err = http.DefaultClient.Do(q); err == nil {
				_ = a.Body.Close()
				if a.StatusCode == http.StatusOK {
					return url, end, nil
				}
				err = errors.New(a.Status)
			}
		}
		if time.Now().After(until) || ctx.Err() != nil {
			return "", nil, errors.Join(fmt.Errorf("isovet watch does not answer: %w", err), end())
		}
	}
}
