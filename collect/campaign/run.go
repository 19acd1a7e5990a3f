package campaign

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"isovet/collect"
	"isovet/collect/driver"
	"isovet/collect/hunt"
	"isovet/collect/server"
	"isovet/internal/plural"
	"isovet/internal/safego"
	"isovet/internal/slice"
)

// Config has the options of a campaign.
type Config struct {
	Plan *Plan
	// Dir is the folder of the campaign's state: runs.jsonl has a line for each hunt.
	Dir string
	For time.Duration
	// Jobs is the number of hunts at once; 0 means 1. A database that was running before has only one at a time. Shard
	// (1 to Shards) selects the cells for this machine; 0 means all.
	Jobs, Shard, Shards int
	// Keep, if set, is called with each violation while its database is open. It returns the place where it stored the
	// violation. Several hunts may call it at once. An error ends the campaign.
	Keep func(ctx context.Context, c *Cell, f *collect.Found, g []*hunt.Group) (where string, err error)
	Told func(what string)
}

// Run is one hunt of a cell: a line of runs.jsonl.
type Run struct {
	Cell
	Seed      uint64         `json:"seed"`
	Begun     time.Time      `json:"begun"`
	ElapsedMS float64        `json:"elapsed_ms"`
	Rounds    int            `json:"rounds"`
	Committed int            `json:"committed"`
	Attempts  int            `json:"attempts"`
	Refused   int            `json:"refused"`
	Undecided int            `json:"undecided,omitempty"`
	Broken    []string       `json:"broken,omitempty"` // as of hunt
	Verdict   string         `json:"verdict"`          // as of hunt, or "error"
	Reason    string         `json:"reason,omitempty"`
	Found     []Find         `json:"found,omitempty"`
	Kept      string         `json:"kept,omitempty"`
	Aborts    map[string]int `json:"aborts,omitempty"` // by class and code
}

// Find is a kind of violation.
type Find struct {
	Kind    string   `json:"kind"`
	Level   string   `json:"level,omitempty"` // the violated one
	Txns    []string `json:"transactions,omitempty"`
	AfterMS float64  `json:"after_ms"`
	Text    string   `json:"text"`
}

const runsFile = "runs.jsonl"

// Campaign is a campaign with its hunts so far, by all shards that share the folder.
type Campaign struct {
	Cells []*Cell
	Away  []Away
	Runs  []Run

	mu   sync.Mutex
	busy map[string]bool // what the hunts under way have: Cell.needs
	// places has the databases that were not opened yet.
	places []Database
	idle   []running // servers that wait for a hunt
	// starved says that a job found no free cell.
	starved bool
	file    *os.File
	cfg     Config
	err     error
}

// Start hunts until the time is up, not counting the time in Keep. It chooses the cell of this shard that was hunted
// least so far, first those without a violation. Databases are opened at the same time, and their servers serve the
// hunts. It returns errors about the folder and from Keep, which end it early. An error of a hunt is in its line.
func Start(ctx context.Context, c Config) (_ *Campaign, err error) {
	if c.Told == nil {
		c.Told = func(string) {}
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, err
	}
	p := &Campaign{cfg: c, busy: map[string]bool{}}
	if p.Runs, err = readRuns(filepath.Join(c.Dir, runsFile)); err != nil {
		return nil, err
	}
	p.file, err = os.OpenFile(filepath.Join(c.Dir, runsFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.file.Close()) }()
	begun := time.Now()
	p.places = c.Plan.places()
	before := map[string]int{}
	for i := range p.Runs {
		before[p.Runs[i].DB] = 1
	}
	slices.SortStableFunc(p.places, func(a, b Database) int { // what was not hunted before comes first
		return cmp.Compare(before[a.name()], before[b.name()])
	})
	var looking, g safego.Group
	hunting, stop := context.WithCancel(ctx)
	looking.Go(func() { p.look(hunting) })
	for range max(c.Jobs, 1) {
		g.Go(func() {
			until := begun.Add(c.For)
			for ctx.Err() == nil && time.Until(until) >= time.Second {
				cell, wait := p.take()
				switch {
				case cell != nil:
					until = until.Add(p.hunt(ctx, cell, min(time.Until(until), c.Plan.Slice)))
				case wait:
					time.Sleep(tick)
				default:
					return
				}
			}
		})
	}
	g.Wait()
	stop()
	looking.Wait()
	for i := range p.places {
		p.Away = append(p.Away, Away{p.places[i].name(), "the time was up before the campaign reached it"})
	}
	for _, s := range p.idle {
		p.err = errors.Join(p.err, s.Close())
	}
	return p, p.err
}

// tick is the interval of polling.
const tick = 20 * time.Millisecond

// look opens one database after the other beside the hunts. It uses a tenth of the time, or all while a job has no
// cell.
func (p *Campaign) look(ctx context.Context) {
	begun, spent := time.Now(), time.Duration(0)
	for {
		d, more := p.place(spent*10 <= time.Since(begun))
		switch {
		case !more || ctx.Err() != nil:
			return
		case d == nil:
			time.Sleep(tick)
			continue
		}
		p.cfg.Told("examining " + d.name())
		at := time.Now()
		c := &Cell{urls: strings.Fields(d.DB)}
		var cells []*Cell
		var away []Away
		s, err := p.server(ctx, c)
		if err == nil {
			cells, away = p.cfg.Plan.look(ctx, d, s)
			err = p.leave(c, s, ctx.Err())
		}
		switch {
		case ctx.Err() != nil:
			cells, away = nil, []Away{{d.name(), "the time was up while the campaign opened it"}}
		case err != nil:
			away = append(away, Away{d.name(), err.Error()})
		}
		spent += time.Since(at)
		p.mu.Lock()
		p.Cells, p.Away = append(p.Cells, cells...), append(p.Away, away...)
		p.give(c)
		p.mu.Unlock()
	}
}

// place takes the next database to open that no hunt uses, or returns nil if none is free now. more says that it may
// return one later.
func (p *Campaign) place(due bool) (d *Database, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.places) == 0 || p.err != nil {
		return nil, false
	}
	if !due && len(p.Cells) > 0 && !p.starved {
		return nil, true
	}
	for i := range p.places {
		needs := (&Cell{urls: strings.Fields(p.places[i].DB)}).needs()
		if slices.ContainsFunc(needs, func(n string) bool { return p.busy[n] }) {
			continue
		}
		for _, n := range needs {
			p.busy[n] = true
		}
		d := p.places[i]
		p.places = slices.Delete(p.places, i, i+1)
		return &d, true
	}
	return nil, true
}

// readRuns reads the lines of earlier hunts. It ignores an incomplete last line, which a killed program left.
func readRuns(file string) (runs []Run, err error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, whole := bufio.NewReader(f), int64(0)
	for n := 1; ; n++ {
		line, err := s.ReadString('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return nil, err
			}
			if line == "" {
				return runs, nil
			}
			return runs, os.Truncate(file, whole) // the next line must not follow it
		}
		whole += int64(len(line))
		var r Run
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w; expected a line of an isovet campaign", file, n, err)
		}
		runs = append(runs, r)
	}
}

// mine reports whether a cell is this shard's. Only the cell's own name decides.
func (p *Campaign) mine(c *Cell) bool {
	return p.cfg.Shards < 2 || int(hash(c.key())%uint64(p.cfg.Shards)) == p.cfg.Shard-1
}

func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// take chooses the next cell and marks it as busy, or returns nil. wait says that one may be free when a running hunt
// has ended or a database was opened.
func (p *Campaign) take() (best *Cell, wait bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil, false
	}
	t := p.tallies()
	for _, c := range p.Cells {
		x := t[c.key()]
		hopeless := x.unsupported > 0 || x.failed >= 3
		if !p.mine(c) || hopeless || slices.ContainsFunc(c.needs(), func(n string) bool { return p.busy[n] }) {
			continue
		}
		if best == nil || less(c, x, best, t[best.key()]) {
			best = c
		}
	}
	if p.starved = best == nil; best != nil {
		for _, n := range best.needs() {
			p.busy[n] = true
		}
	}
	return best, len(p.busy)+len(p.places) > 0
}

// give marks a cell as free. The caller must hold p.mu.
func (p *Campaign) give(c *Cell) {
	for _, n := range c.needs() {
		delete(p.busy, n)
	}
}

// needs returns the names of what only one hunt at a time may use: the cell, and databases that were running before,
// because hunts load tables with the same names. Each hunt has its own database if it is in memory or the hunt starts
// it.
func (c *Cell) needs() []string {
	all := []string{c.key()}
	for _, u := range c.urls {
		place, _, _ := strings.Cut(driver.Redact(u), "?")
		kind, rest, _ := strings.Cut(place, ":")
		s, err := driver.Lookup(u)
		if err == nil {
			kind = s.Name // it may have several schemes
		}
		if rest = strings.TrimPrefix(rest, "//"); server.Is(u) || err == nil && s.Embedded && rest == "" {
			continue
		}
		all = append(all, kind+":"+strings.TrimPrefix(rest, "…@"))
	}
	return all
}

func less(a *Cell, x tally, b *Cell, y tally) bool {
	violated := func(t tally) int { return min(len(t.kinds), 1) }
	return cmp.Or(cmp.Compare(violated(x), violated(y)), cmp.Compare(x.elapsed, y.elapsed), cmp.Compare(a.rank, b.rank),
		cmp.Compare(hash(a.key()), hash(b.key()))) < 0
}

// hunt hunts in a cell once, and writes the line about it. It returns the time that Keep took.
func (p *Campaign) hunt(ctx context.Context, c *Cell, d time.Duration) (kept time.Duration) {
	p.mu.Lock()
	t := p.tallies()[c.key()]
	p.mu.Unlock()
	p.cfg.Told(fmt.Sprintf("%s, %s, %s, %s, fault %s", c.DB, c.Isolation, c.Level, c.Workload, c.Fault))
	// A cell's seeds do not overlap: no hunt has a million rounds.
	r := Run{Cell: *c, Seed: hash(c.key())>>24 + uint64(t.runs)*1_000_000, Begun: time.Now().UTC()}
	name, variant := split(c.Workload)
	cfg := hunt.Config{Level: c.at[0], Further: c.at[1:], For: d, Config: collect.Config{DB: c.urls,
		Isolation: c.Isolation, Workload: name, Variant: variant, Fault: c.fault, Seed: r.Seed,
		Sessions: p.cfg.Plan.Sessions, Txns: p.cfg.Plan.Txns, Timeout: p.cfg.Plan.Timeout}}
	var unkept error
	if p.cfg.Keep != nil {
		cfg.Keep = func(ctx context.Context, f *collect.Found, g []*hunt.Group) error {
			begun := time.Now()
			where, err := p.cfg.Keep(ctx, c, f, g)
			kept += time.Since(begun)
			if err != nil {
				unkept = fmt.Errorf("cannot write the violation: %w", err)
				return unkept
			}
			r.Kept = where
			return nil
		}
	}
	h := &hunt.Hunted{}
	s, err := p.server(ctx, c)
	if err == nil {
		cfg.Server = s
		h, err = hunt.Run(ctx, cfg)
		err = errors.Join(err, p.leave(c, s, errors.Join(err, ctx.Err())))
	}
	if ctx.Err() != nil && !h.Violated {
		return kept // an interrupted hunt does not count
	}
	r.ElapsedMS = float64(h.Elapsed.Microseconds()) / 1e3
	r.Rounds, r.Committed, r.Attempts, r.Refused, r.Undecided = len(h.Rounds), h.Committed, h.Attempts, h.Refused,
		h.Undecided
	for _, a := range h.Aborts {
		slice.MakeMap(&r.Aborts)
		r.Aborts[strings.TrimSpace(a.Class+" "+a.Code)] += a.Count
	}
	for _, g := range h.Found {
		r.Found = append(r.Found, Find{string(g.Kind), g.Level.String(), g.Txns,
			float64(g.After().Microseconds()) / 1e3, g.Text})
	}
	r.conclude(h, err)
	line, err := json.Marshal(&r)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.give(c)
	p.Runs = append(p.Runs, r)
	if err == nil {
		err = p.write(append(line, '\n'))
	}
	p.err = errors.Join(p.err, unkept, err)
	return kept
}

// write appends a line to the file, or nothing if the disk is full: the next line must not follow a part of one.
func (p *Campaign) write(line []byte) error {
	n, err := p.file.Write(line)
	if err == nil {
		return nil
	}
	end, e := p.file.Seek(0, io.SeekEnd)
	return errors.Join(err, e, p.file.Truncate(end-int64(n)))
}

// conclude sets the verdict from the result of a hunt, and from the error that ended it.
func (r *Run) conclude(h *hunt.Hunted, err error) {
	why := h.Inconclusive()
	switch {
	case h.Violated:
		r.Verdict = "violation"
		if err != nil { // the round ended early, or its result was not stored
			r.Reason = err.Error()
		}
	case errors.Is(err, driver.ErrUnsupported):
		r.Verdict, r.Reason = "unsupported", err.Error()
	case err != nil:
		r.Verdict, r.Reason = "error", err.Error()
	case h.Undecided > 0:
		r.Verdict, r.Reason = "unknown", plural.Of(h.Undecided, "undecided round")
	case why != "":
		r.Verdict, r.Reason = "inconclusive", why
	default:
		r.Verdict = "none"
	}
	if r.Broken = h.Broken; len(h.Broken) > 0 && r.Reason == "" {
		r.Reason = fmt.Sprintf("the database broke %s, and the hunt opened it again; first in %s",
			plural.Of(len(h.Broken), "time"), h.Broken[0])
	}
}

// tally sums up the hunts of a cell.
type tally struct {
	runs, rounds, undecided, committed, attempts, refused, failed, unsupported int

	elapsed time.Duration
	first   time.Duration // hunting time up to the first violation; 0: none
	kinds   []string
	at      []string // the kinds with their levels, where the cell has several

	kept, reason string
}

// tallies sums up the hunts by cell.
func (p *Campaign) tallies() map[string]tally {
	all := map[string]tally{}
	for _, r := range slice.Refs(p.Runs) {
		t := all[r.key()]
		t.runs++
		t.rounds += r.Rounds
		t.undecided += r.Undecided
		t.committed += r.Committed
		t.attempts += r.Attempts
		t.refused += r.Refused
		if len(r.Found) > 0 && len(t.kinds) == 0 {
			t.first, t.kept = t.elapsed+time.Duration(r.Found[0].AfterMS*1e6), r.Kept
		}
		t.elapsed += time.Duration(r.ElapsedMS * 1e6)
		for _, f := range r.Found {
			if !slices.Contains(t.kinds, f.Kind) {
				t.kinds, t.at = append(t.kinds, f.Kind), append(t.at, f.Kind)
				if f.Level != "" && f.Level != r.Level {
					t.at[len(t.at)-1] += " at " + f.Level
				}
			}
		}
		switch r.Verdict {
		case "error":
			t.failed++
		case "unsupported":
			t.unsupported++
		}
		if r.Reason != "" {
			t.reason = r.Reason
		}
		all[r.key()] = t
	}
	return all
}
