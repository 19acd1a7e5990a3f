// Package probe finds the anomalies that a database allows at each of its isolation levels. It plays schedules that
// would cause them, and runs random load.
//
// Experimental: this package may still change.
package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"isovet/check"
	"isovet/collect"
	"isovet/collect/driver"
	"isovet/collect/hunt"
	"isovet/collect/server"
	"isovet/evidence"
	"isovet/level"
)

// Config describes a probe.
type Config struct {
	DB []string
	// Isolations are the levels to ask the database for; nil means all that it offers.
	Isolations []string
	// Load is the total time of the random load that follows the schedules; 0 means none.
	Load     time.Duration
	Sessions int // of the load; 0: 12
	Seed     uint64
	Timeout  time.Duration // of a database's answer; 0: 10 s
	// Keep, if set, is called with each anomaly while the database is open and still has the run's tables.
	Keep func(ctx context.Context, c *Cell, kinds []level.Anomaly, f *collect.Found) error
	// Told, if set, is called with the current step.
	Told func(what string, done, total int)
}

// Seen says whether and how a phenomenon was seen.
type Seen uint8

const (
	// NotSeen says that neither the schedules nor the load showed it.
	NotSeen Seen = iota
	// BySchedule and UnderLoad say how it was seen.
	BySchedule
	UnderLoad
	// NotTried says that the database lacks the operations, or that the run ended before.
	NotTried
)

func (s Seen) String() string {
	return [...]string{"not seen", "seen", "seen under load", "not tried"}[s]
}

// MarshalText returns the name.
func (s Seen) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Cell is one phenomenon at one isolation level of the database.
type Cell struct {
	Phenomenon string
	Isolation  string
	Seen       Seen
	// Documented is what the database's documentation promises about it.
	Documented driver.Documented
	// How says how the database prevented it (steps waited, transactions were refused), or why it was not tried.
	How string
	// Schedule is the schedule or load that showed it. Result has the history with the certified violation.
	Schedule string
	Result   *evidence.Result

	found *collect.Found
}

// Contradicts reports whether the phenomenon was seen although the database's documentation excludes it.
func (c *Cell) Contradicts() bool {
	return (c.Seen == BySchedule || c.Seen == UnderLoad) && c.Documented == driver.Forbidden
}

// IsolationInfo describes one of the database's isolation levels.
type IsolationInfo struct {
	Name   string // isovet's name
	Said   string // the database's name
	Source string // place in the documentation with its promise
	// Commits and Aborts count the load's transactions.
	Commits, Aborts int
	// Undecided lists the load's histories without a verdict, and the reasons.
	Undecided []string
	// Other are kinds of anomalies that the load showed but that have no row in the table.
	Other []level.Anomaly
}

// Probed is the result of a probe.
type Probed struct {
	DB          string
	Nodes       int
	Isolations  []IsolationInfo
	Cells       []Cell // by phenomenon, then isolation
	Elapsed     time.Duration
	Interrupted bool
}

// Cell returns the cell of a phenomenon at an isolation.
func (p *Probed) Cell(phenomenon, isolation string) *Cell {
	for i := range p.Cells {
		if c := &p.Cells[i]; c.Phenomenon == phenomenon && c.Isolation == isolation {
			return c
		}
	}
	return nil
}

// Contradictions lists the cells that contradict the database's documentation.
func (p *Probed) Contradictions() []*Cell {
	var out []*Cell
	for i := range p.Cells {
		if p.Cells[i].Contradicts() {
			out = append(out, &p.Cells[i])
		}
	}
	return out
}

// probeLoads are the workloads of the random load. They have few keys, so that transactions collide.
var probeLoads = []struct {
	workload, variant string
	keys              int
}{{"rmw", "", 6}, {"smallbank", "", 6}, {"mix", "", 12}, {"longfork", "", 12}, {"claim", "", 0}, {"booking", "", 0},
	{"counters", "", 4}, {"rows", "", 10}, {"claim", "fresh", 0}}

// probeTxns is the size of a load's history; checkLoad bounds its check.
const (
	probeTxns = 400
	checkLoad = 5 * time.Second
)

// Run tries each phenomenon at each isolation level of a database: first with schedules, then with random load that is
// checked at every level. Every anomaly that it reports is certified. It returns errors of Open and of the database,
// with the results so far.
func Run(ctx context.Context, c Config) (_ *Probed, err error) {
	begin := time.Now()
	if err := (&collect.Config{DB: c.DB}).Validate(); err != nil {
		return nil, err
	}
	scheme, err := driver.Lookup(c.DB[0])
	if err != nil {
		return nil, err
	}
	p := &prober{cfg: c, scheme: scheme, out: &Probed{}}
	defer func() { p.out.Elapsed = time.Since(begin) }()
	urls, nodes := c.DB, []string(nil)
	if slices.ContainsFunc(urls, server.Is) {
		if len(urls) > 1 {
			return nil, errors.New("postgres:start and the like start a whole database; expected no second --db")
		}
		p.tell("starting " + urls[0])
		cluster, err := server.Start(ctx, urls[0])
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, cluster.Close()) }()
		urls, nodes = cluster.URLs, cluster.Names
	}
	p.urls, p.nodes = urls, nodes
	names := c.Isolations
	if names == nil {
		for _, entry := range scheme.Isolations {
			if name, _, _ := strings.Cut(entry, "="); name != "default" {
				names = append(names, name)
			}
		}
	}
	p.total = len(names)
	for i, name := range names {
		p.done = i
		if err := p.isolation(ctx, name, len(names)); err != nil {
			if ctx.Err() != nil {
				break
			}
			if len(p.out.Cells) == 0 {
				return nil, err
			}
			return p.out, fmt.Errorf("isolation %s: %w", name, err)
		}
	}
	p.out.Interrupted = ctx.Err() != nil
	return p.out, nil
}

type prober struct {
	cfg         Config
	scheme      driver.Scheme
	urls, nodes []string
	out         *Probed
	now         string // the isolation being probed
	done, total int
}

func (p *prober) tell(what string) {
	if p.cfg.Told != nil {
		if p.now != "" {
			what = p.now + ": " + what
		}
		p.cfg.Told(what, p.done, p.total)
	}
}

func (p *prober) isolation(ctx context.Context, name string, n int) error {
	p.now = name
	cfg := collect.Config{DB: p.urls, Isolation: name, Timeout: p.cfg.Timeout, Seed: p.cfg.Seed,
		Sessions: p.cfg.Sessions}
	cfg.Sessions = cmp.Or(cfg.Sessions, 12)
	t, err := openNodes(ctx, cfg, p.nodes)
	if errors.Is(err, driver.ErrUnsupported) && p.cfg.Isolations == nil {
		p.out.Isolations = append(p.out.Isolations, IsolationInfo{Name: name, Said: "not offered: " + err.Error()})
		return nil
	}
	if err != nil {
		return err
	}
	defer t.Close()
	info := t.DB.Info()
	p.out.DB, p.out.Nodes = info.Name, len(info.Nodes)
	promise := driver.Promised(info, name)
	p.out.Isolations = append(p.out.Isolations, IsolationInfo{Name: name, Said: info.Isolation, Source: promise.Source})
	in := &p.out.Isolations[len(p.out.Isolations)-1]
	for _, ph := range Phenomena() {
		p.tell(ph.Name)
		cell, err := p.schedules(ctx, t, cfg, &ph)
		if err != nil {
			return err
		}
		cell.Documented = promise.Says(ph.Level, ph.Kinds)
		p.out.Cells = append(p.out.Cells, *cell)
		if cell.found != nil {
			if err := p.keep(ctx, &p.out.Cells[len(p.out.Cells)-1], &ph, cell.found); err != nil {
				return err
			}
		}
	}
	if p.cfg.Load > 0 {
		return p.load(ctx, t, cfg, in, p.cfg.Load/time.Duration(n))
	}
	return nil
}

// openNodes is Open for servers that run already, and keeps the names that they had at the start.
func openNodes(ctx context.Context, c collect.Config, nodes []string) (*collect.Target, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.WithDefaults()
	t := &collect.Target{Options: c.DriverOptions()}
	t.Options.Nodes = nodes
	var err error
	t.DB, err = driver.Open(ctx, c.DB, t.Options)
	return t, err
}

// schedules plays a phenomenon's schedules until one shows it.
func (p *prober) schedules(ctx context.Context, t *collect.Target, cfg collect.Config, ph *Phenomenon) (*Cell, error) {
	cell := &Cell{Phenomenon: ph.Name, Isolation: p.now, Seen: NotTried}
	var how []string
	for _, text := range ph.Schedules {
		s, err := collect.ParseSchedule(text)
		if err != nil {
			return nil, err
		}
		played, err := t.Play(ctx, cfg, s)
		if errors.Is(err, driver.ErrUnsupported) {
			how = append(how, "the database has no such operations")
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: schedule %s: %w", ph.Name, text, err)
		}
		res, err := collect.Examine(ctx, played.History, ph.Level, checkLoad)
		if err != nil {
			return nil, err
		}
		cell.Seen = min(cell.Seen%NotTried, NotSeen)
		switch res.Verdict {
		case evidence.Violated:
			cell.Seen, cell.Schedule, cell.Result, cell.How = BySchedule, text, res, ""
			cell.found = &collect.Found{Target: t, Config: cfg, Level: ph.Level, Answer: res, Played: played,
				Schedule: s}
			return cell, nil
		case evidence.Unknown:
			how = append(how, "undecided: "+res.Reason)
			continue
		}
		how = append(how, played.Against())
	}
	how = slices.DeleteFunc(how, func(s string) bool { return s == "" })
	cell.How = strings.Join(slices.Compact(how), "; ")
	return cell, nil
}

// keep passes an anomaly to Config.Keep.
func (p *prober) keep(ctx context.Context, c *Cell, ph *Phenomenon, f *collect.Found) error {
	if p.cfg.Keep == nil {
		return nil
	}
	f.Config.DB = p.cfg.DB // as the user named it
	return p.cfg.Keep(ctx, c, ph.Kinds, f)
}

// load runs random load for a time, checks each history at every level, and adds the anomalies to the result.
func (p *prober) load(ctx context.Context, t *collect.Target, cfg collect.Config, in *IsolationInfo,
	long time.Duration) error {
	end := time.Now().Add(long)
	skip := map[int]bool{} // workloads that the database cannot run
	for round := 0; time.Now().Before(end) && len(skip) < len(probeLoads); round++ {
		k := round % len(probeLoads)
		if skip[k] {
			continue
		}
		w := probeLoads[k]
		one := cfg
		one.Workload, one.Variant, one.Keys, one.Txns = w.workload, w.variant, w.keys, probeTxns
		one.Seed += uint64(round)
		one.Duration = time.Until(end)
		one.KeepCalls = p.cfg.Keep != nil
		p.tell("random load, " + hunt.LoadName(w.workload, w.variant))
		r, err := t.Collect(ctx, one)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, driver.ErrUnsupported):
			skip[k] = true
			continue
		case err != nil:
			return fmt.Errorf("random load %s, seed %d: %w", hunt.LoadName(w.workload, w.variant), one.Seed, err)
		}
		in.Commits += r.Summary.Committed
		in.Aborts += r.Summary.Aborted
		what := fmt.Sprintf("load: %s, seed %d", hunt.LoadName(w.workload, w.variant), one.Seed)
		if err := p.enter(ctx, &collect.Found{Target: t, Config: one, Result: r}, in, what); err != nil {
			return err
		}
	}
	return nil
}

// enter checks a load's history at every level and adds the anomalies to the result.
func (p *prober) enter(ctx context.Context, f *collect.Found, in *IsolationInfo, what string) error {
	h := f.Result.History
	limited, cancel := context.WithTimeout(ctx, checkLoad)
	defer cancel()
	l, err := check.RunLattice(limited, h, check.Options{}, nil)
	if err != nil {
		return err
	}
	for _, r := range l.Results {
		if r == nil || r.Verdict == evidence.Unknown {
			if r != nil && r.Level != level.Linearizable {
				in.Undecided = append(in.Undecided, fmt.Sprintf("%s at %s: %s", what, r.Level, r.Reason))
			}
			continue
		}
		if r.Verdict != evidence.Violated {
			continue
		}
		for i := range r.Anomalies {
			if err := p.found(ctx, f, r.Anomalies[i].Kind, r, in, what); err != nil {
				return err
			}
		}
	}
	return nil
}

// found adds an anomaly that a load showed to the result.
func (p *prober) found(ctx context.Context, f *collect.Found, kind level.Anomaly, r *evidence.Result, in *IsolationInfo,
	what string) error {
	for _, ph := range Phenomena() {
		if !slices.Contains(ph.Kinds, kind) {
			continue
		}
		if c := p.out.Cell(ph.Name, p.now); c.Seen == NotSeen || c.Seen == NotTried {
			c.Seen, c.Result, c.Schedule, c.How = UnderLoad, r, what, ""
			c.Result.H = r.H
			one := *f
			one.Level, one.Answer = r.Level, r
			return p.keep(ctx, c, &ph, &one)
		}
		return nil
	}
	if !slices.Contains(in.Other, kind) {
		in.Other = append(in.Other, kind)
	}
	return nil
}
