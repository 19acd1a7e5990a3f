package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isovet/collect"
	"isovet/collect/driver"
	"isovet/collect/hunt"
	"isovet/collect/server"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

func planned(t *testing.T, text string) *Plan {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.yaml")
	must.OK(t, os.WriteFile(file, []byte(text), 0o644))
	return must.Get(Read(file))(t)
}

const small = `
databases:
  - db: "badger:"
    isolations: [serializable]
  - db: "badger:"
    isolations: [no-conflicts]
    levels: [snapshot-isolation]
  - db: "postgres:start?bin=nowhere"
workloads: [rmw]
slice: 1s
sessions: 8
txns: 200
`

// TestCampaign: each cell gets its turn, one without a violation before one with, a find is kept, and the next campaign
// in the folder goes on with other seeds.
func TestCampaign(t *testing.T) {
	histtest.OnlyLong(t) // three seconds of hunting: under a load a cell has no turn
	dir := t.TempDir()
	kept := 0
	c := Config{Plan: planned(t, small), Dir: dir, For: 3 * time.Second,
		Keep: func(_ context.Context, c *Cell, f *collect.Found, g []*hunt.Group) (string, error) {
			if kept++; c.Isolation != "no-conflicts" || len(g) == 0 || f.Answer == nil {
				t.Errorf("%+v with %d kinds", c, len(g))
			}
			return "found/x.html", nil
		}}
	c.Plan.Slice = 300 * time.Millisecond // less than a file may say
	seeds := map[string]bool{}
	for again := range 2 {
		p := must.Get(Start(t.Context(), c))(t)
		rows := p.Rows()
		if len(rows) != 2 { // the documentation promises serializable and snapshot isolation: one cell
			t.Fatalf("%d cells, expected 2: %+v", len(rows), rows)
		}
		for _, r := range rows {
			found := r.Isolation == "no-conflicts"
			if r.Runs < 1 || !found && r.Runs < 1+again || r.Committed == 0 || found != (len(r.Kinds) > 0) ||
				r.Contradicts() || found != (r.Kept == "found/x.html") || (r.Source == "") != found {
				t.Errorf("campaign %d: %+v", again+1, r)
			}
		}
		if len(p.Away) != 1 && len(p.Away) != 4 || !strings.HasPrefix(p.Away[0].DB, "postgres:start") {
			t.Errorf("%+v; expected that there is no PostgreSQL", p.Away)
		}
		for _, r := range p.Runs {
			seeds[r.key()+" "+r.Begun.String()] = true
		}
		must.Equal(t, len(seeds), len(p.Runs), "hunts, with those that were there before")
		var md, html strings.Builder
		must.OK(t, p.Markdown(&md))
		must.OK(t, p.HTML(&html))
		if !strings.Contains(md.String(), "| snapshot-isolation | rmw | none |") || !strings.Contains(html.String(),
			`<a href="found/x.html">`) {
			t.Errorf("%s\n%s", md.String(), html.String())
		}
		// Killed in the middle of a line: the line is not there.
		file := filepath.Join(dir, runsFile)
		b := must.Get(os.ReadFile(file))(t)
		must.OK(t, os.WriteFile(file, append(b, `{"db":"bad`...), 0o644))
	}
	if kept == 0 {
		t.Error("nothing was kept")
	}
	used := map[uint64]bool{}
	runs := must.Get(readRuns(filepath.Join(dir, runsFile)))(t)
	for _, r := range runs {
		if used[r.Seed] {
			t.Errorf("seed %d twice", r.Seed)
		}
		used[r.Seed] = true
	}
}

// TestUnkept: where what is found cannot be kept, the campaign ends and says so, and the line has no place of it.
func TestUnkept(t *testing.T) {
	full := errors.New("the disk is full")
	c := Config{Plan: planned(t, "databases:\n"+
		"  - {db: 'badger:', isolations: [no-conflicts], levels: [snapshot-isolation]}\n"+
		"workloads: [rmw]\nsessions: 8\ntxns: 200"), Dir: t.TempDir(), For: time.Minute, Jobs: 2,
		Keep: func(context.Context, *Cell, *collect.Found, []*hunt.Group) (string, error) { return "found/1", full }}
	p, err := Start(t.Context(), c)
	if !errors.Is(err, full) {
		t.Fatalf("%v; expected that it ends with the error", err)
	}
	r := p.Runs[len(p.Runs)-1]
	if r.Verdict != "violation" || r.Kept != "" || !strings.Contains(r.Reason, full.Error()) {
		t.Errorf("%+v; expected a violation that was not kept", r)
	}
}

// TestJobs: of a database that is there before its hunts one has it at a time: they use tables of the same names, and
// would find what the other wrote.
func TestJobs(t *testing.T) {
	file := "sqlite:" + filepath.Join(t.TempDir(), "db")
	c := Config{Plan: planned(t, "databases: [{db: '"+file+"', isolations: [serializable]}, "+
		"{db: '"+file+"', isolations: [immediate]}]\n"+
		"workloads: [rmw, smallbank, longfork]\nsessions: 4\ntxns: 200"), Dir: t.TempDir(), For: time.Second,
		Jobs: 3}
	c.Plan.Slice = 300 * time.Millisecond // less than a file may say
	p, err := Start(t.Context(), c)
	for err == nil && len(p.Runs) < 4 && c.For < time.Minute { // a slow machine goes on
		c.For *= 2
		p, err = Start(t.Context(), c)
	}
	if err != nil || len(p.Runs) < 4 {
		t.Fatalf("%v, %d hunts, away %+v", err, len(p.Runs), p.Away)
	}
	for _, r := range p.Runs {
		if r.Verdict != "none" && r.Verdict != "inconclusive" {
			t.Errorf("%s, %s: %s %s", r.Workload, r.Isolation, r.Verdict, r.Reason)
		}
	}
}

// TestContradicts: what the documentation allows nevertheless does not contradict it, through session order either.
func TestContradicts(t *testing.T) {
	for _, x := range []struct {
		source string
		kinds  []string
		want   bool
	}{
		{"manual", []string{"non-monotonic-read"}, false},
		{"manual", []string{"non-monotonic-read-session"}, false},
		{"manual", []string{"non-monotonic-read-session", "g1c"}, true},
		{"manual", nil, false},
		{"", []string{"g1c"}, false},
	} {
		r := Row{Cell: Cell{Source: x.source, Allowed: []level.Anomaly{level.NonMonotonicRead}}, Kinds: x.kinds}
		must.Equal(t, r.Contradicts(), x.want, "%q, %q", x.source, x.kinds)
	}
}

// TestTaken: what jobs may have at once.
func TestTaken(t *testing.T) {
	for _, x := range []struct {
		a, b string
		both bool
	}{
		{"postgres://u:p@here/db", "postgres://v@here/db?default_query_exec_mode=exec", false},
		{"postgres://here/db", "postgres://there/db", true},
		{"postgres://here/db", "PostgreSQL://u@here/db", false},
		{"mysql://one/ mysql://two/", "mysql://two/", false},
		{"sqlite:", "sqlite:", true},
		{"sqlite:f", "sqlite://f", false},
		{"postgres:start", "postgres:start", true},
		{"redis:", "redis:", false},
	} {
		a, b := Cell{DB: "a", urls: strings.Fields(x.a)}, Cell{DB: "b", urls: strings.Fields(x.b)}
		p := Campaign{Cells: []*Cell{&a, &b}, busy: map[string]bool{}}
		first, _ := p.take()
		second, _ := p.take()
		if first == nil || (second != nil) != x.both {
			t.Errorf("%s and %s; expected at once %v", x.a, x.b, x.both)
		}
		p.give(&a)
		p.give(&b)
		if first, _ := p.take(); first == nil || len(p.busy) == 0 {
			t.Errorf("%s and %s: nothing to take, where all was given back", x.a, x.b)
		}
	}
}

// TestServers: a hunt gets the server that the one before left, if it may be broken in the same way.
func TestServers(t *testing.T) {
	c, other := &Cell{urls: []string{"redis:start"}}, &Cell{urls: []string{"redis://here"}}
	split := &Cell{urls: c.urls, fault: collect.Fault{Kind: collect.Split}}
	p, s := &Campaign{}, &server.Cluster{}
	must.OK(t, p.leave(c, s, nil))
	for _, x := range []struct {
		c    *Cell
		want *server.Cluster
	}{{other, nil}, {split, nil}, {c, s}} {
		must.Equal(t, must.Get(p.server(t.Context(), x.c))(t), x.want, "%q", x.c.urls)
	}
	must.Equal(t, len(p.idle), 0, "servers without a hunt")
}

// TestOutcomes: a cell says that nothing was found there only where something was decided.
func TestOutcomes(t *testing.T) {
	for want, x := range map[string]tally{
		"not run":      {},
		NoneFound:      {runs: 2, rounds: 3, undecided: 2, committed: 500, attempts: 600, failed: 1},
		"unknown":      {runs: 2, rounds: 3, undecided: 3, committed: 500, attempts: 600},
		"error":        {runs: 2, rounds: 1, committed: 500, attempts: 600, failed: 2},
		"inconclusive": {runs: 2, rounds: 3, undecided: 3, committed: 5, attempts: 600},
		"lost-update":  {runs: 2, rounds: 3, undecided: 2, kinds: []string{"lost-update"}, at: []string{"lost-update"}},
	} {
		if got, _ := x.outcome(); got != want {
			t.Errorf("%+v: %s; expected %s", x, got, want)
		}
	}
}

// TestShards: every cell is of one shard.
func TestShards(t *testing.T) {
	plan := planned(t, "databases: [{db: 'postgres:start'}, {db: 'badger:'}, {db: 'sqlite:', levels: [causal]}]\n"+
		"workloads: [rmw, smallbank, claim, mix]\nfaults: [none, 'kill:2s']")
	var cells []*Cell
	var away []Away
	places := plan.places()
	must.Equal(t, places[2].DB, "postgres:start", "%+v", places)
	for _, d := range places[:2] {
		c, a := plan.look(t.Context(), &d, nil)
		cells, away = append(cells, c...), append(away, a...)
	}
	if len(cells) != 12 || len(away) != 1 {
		t.Fatalf("%d cells, %+v; expected none with a fault, and no level for badger without conflict detection",
			len(cells), away)
	}
	must.Equal(t, cells[0].Level, "serializable, snapshot-isolation", "levels")
	for _, c := range cells {
		n := 0
		for shard := range 3 {
			p := Campaign{cfg: Config{Shard: shard + 1, Shards: 3}}
			if p.mine(c) {
				n++
			}
		}
		must.Equal(t, n, 1, "in how many of 3 shards %s is", c.key())
	}
}

// TestPlansMistakes: what is wrong in a plan's file is reported.
func TestPlansMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "databases: none",
		"databases: [{db: ''}]":         "number 1: db is missing",
		"databases: [{url: 'badger:'}]": "field url not found",
		"databases: [{db: 'badger:'}]\nslice: 1ms":     "slice 1ms",
		"databases: [{db: 'badger:', levels: [x]}]":    "levels: ",
		"databases: [{db: 'badger:', workloads: [x]}]": "workloads: ",
		"databases: [{db: 'badger:', faults: [x]}]":    "faults: unknown fault",
	} {
		file := filepath.Join(t.TempDir(), "p.yaml")
		must.OK(t, os.WriteFile(file, []byte(text), 0o644))
		if _, err := Read(file); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(),
			file) {
			t.Errorf("%q: %v; expected %q", text, err, want)
		}
	}
	if p := Default(); p.validate() != nil || len(p.Databases) < 3 {
		t.Errorf("%+v: %v", p, p.validate())
	}
	d := &Database{Workloads: defaultWorkloads, Faults: []string{"none"}}
	for name, without := range map[string]int{"PostgreSQL 15.18": 0, "SQLite 3.50": len(ssiPaths)} {
		cells := (&Plan{}).cells(d, "x", []string{"sqlite:"}, driver.Info{Name: name}, "serializable")
		must.Equal(t, len(cells), len(defaultWorkloads)-without, "cells of %s", name)
	}
}

// TestLooking: a database is looked at as long as there is no cell, then in a tenth of the time, and never while a hunt
// has it; who hunts waits for it.
func TestLooking(t *testing.T) {
	p := &Campaign{busy: map[string]bool{}, places: []Database{{DB: "sqlite:a.db"}, {DB: "sqlite:b.db"}}}
	ask := func(due bool, want string) (d *Database) {
		t.Helper()
		d, more := p.place(due)
		got := fmt.Sprint(more)
		if d != nil {
			got = d.DB
		}
		must.Equal(t, got, want, "the rows")
		return d
	}
	hunted := &Cell{DB: "b", urls: []string{"sqlite:b.db"}}
	p.Cells = []*Cell{hunted}
	if c, _ := p.take(); c != hunted {
		t.Fatalf("%+v", c)
	}
	ask(false, "true")
	p.starved = true // a job waits
	a := ask(false, "sqlite:a.db")
	p.starved = false
	ask(true, "true") // a hunt has the other
	if c, wait := p.take(); c != nil || !wait {
		t.Errorf("%+v, %v", c, wait)
	}
	p.give(hunted)
	p.give(&Cell{urls: strings.Fields(a.DB)})
	p.Cells = nil
	b := ask(false, "sqlite:b.db")
	p.give(&Cell{urls: strings.Fields(b.DB)})
	ask(true, "false")
	if c, wait := p.take(); c != nil || wait {
		t.Errorf("%+v, %v at the end", c, wait)
	}
}

// TestReadRuns: a file that cannot be read is an error, and is not cut off.
func TestReadRuns(t *testing.T) {
	runs, err := readRuns(t.TempDir())
	must.Be(t, err != nil && len(runs) == 0, "%v, %v; expected an error of the folder", runs, err)
}
