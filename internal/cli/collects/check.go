package collects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"isovet/check"
	"isovet/check/shrink"
	"isovet/collect"
	"isovet/collect/hunt"
	"isovet/evidence"
	"isovet/internal/cli/console"
	"isovet/internal/escape"
	"isovet/level"
	"isovet/report"
	"isovet/report/incident"
)

// checkAfter is collect --check: it checks the history as soon as it is written, and reports a violation while the
// database is open.
type checkAfter struct {
	name string
	at   level.Level
	in   findFlags
}

// afterwards bounds the check.
const afterwards = 10 * time.Minute

func (f *checkAfter) validate() (err error) {
	if f.name == "" {
		return nil
	}
	if f.at, err = level.Parse(f.name); err != nil {
		return console.Usagef("--check %s: %v", f.name, err)
	}
	return f.in.validate()
}

// run checks the collected history. The error it returns is an exit status.
func (f *checkAfter) run(ctx context.Context, e *console.Env, cf *collectFlags, t *collect.Target, r *collect.Result,
	out string, asJSON bool, p *console.Progress) (*evidence.Result, *incident.Incident, error) {
	p.Begin("checking " + out)
	ctx, cancel := context.WithTimeout(ctx, afterwards)
	defer cancel()
	c, ok := check.Auto(r.History, f.at)
	if !ok {
		p.Hide()
		fmt.Fprintf(e.Stderr, "isovet: %s: no checker decides %s\n", out, f.at)
		return nil, nil, console.Status(console.StatusUnknown)
	}
	a, err := check.Run(ctx, c, r.History, check.Options{Level: f.at})
	p.Hide()
	if err != nil {
		return nil, nil, err
	}
	a.H = r.History
	if !asJSON && out != "-" {
		if err := report.Text(e.Stdout, out, a, report.TextOptions{}); err != nil {
			return a, nil, err
		}
	}
	switch {
	case a.Verdict == evidence.Unknown:
		return a, nil, console.Status(console.StatusUnknown)
	case a.Verdict != evidence.Violated:
		return a, nil, nil
	case f.in.dir == noIncident || out == "-" && f.in.dir == "":
		return a, nil, console.Status(console.StatusViolation)
	}
	dir := cmp.Or(f.in.dir, beside(out, ".incident"))
	found := &collect.Found{Target: t, Config: cf.cfg, Level: f.at, Answer: a, Result: r}
	command := "isovet collect --check " + f.at.String() +
		strings.TrimPrefix(again(cf, f.at, &hunt.Round{Seed: cf.cfg.Seed, Keys: cf.cfg.Keys}), "isovet hunt")
	command = strings.Replace(command, " --level "+f.at.String(), "", 1) + " -o " + escape.Shell(out)
	if cf.cfg.Duration > 0 {
		command += " --for " + cf.cfg.Duration.String()
	}
	x, err := f.in.write(ctx, found, &keptFind{dir: dir, command: command}, nil, p)
	if err != nil {
		fmt.Fprintf(e.Stderr, "isovet: cannot write the incident: %v\n", err)
	} else if !asJSON {
		fmt.Fprintf(e.Stderr, "%s\n", saidIncident(x, dir))
	}
	return a, x, console.Status(console.StatusViolation)
}

// cutDown finds the smallest history with a violation within a time limit.
func cutDown(ctx context.Context, r *evidence.Result, l level.Level, limit time.Duration) (*shrink.Result, error) {
	if ctx.Err() != nil {
		return nil, errors.New("interrupted")
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return shrink.History(ctx, r.H, l, shrink.Options{First: r})
}
