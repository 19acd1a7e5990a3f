//go:build !checkonly && !offline

package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/check"
	"isovet/check/shrink"
	"isovet/collect"
	"isovet/evidence"
	"isovet/level"
	"isovet/report"
	"isovet/report/incident"
)

func newIncident(e *env) *cobra.Command {
	f := shrinkFlags{check: checkFlags{checker: auto}, keep: true}
	c := &cobra.Command{
		Use: "incident [flags] HISTORY -o DIR", GroupID: "work",
		Short: "Write a violation in a history as a folder for the database's maintainers",
		Long: `incident checks a history, cuts it down to the smallest that still violates the level, and writes the folder that
hunt writes of what it finds: report, sessions side by side, history, certificate, page. It is for the histories of logs
and for what isovet watch keeps in FOLDER/evidence: there is no SQL in them, so the operations are told in the history's
words, and there is no schedule to replay.

Exit status: 0 written; 2 there is nothing to tell: the history satisfies the level, or that is unknown; 254 and 255 as
everywhere.`,
		Example: `  isovet incident w/evidence/000017.jsonl --level session-snapshot-isolation -o bug
  isovet incident h.jsonl --level serializable -o bug`,
		Args:              exactly("HISTORY"),
		ValidArgsFunction: historyFiles,
		RunE: func(c *cobra.Command, args []string) error {
			if f.out == "" || f.out == "-" {
				return usagef("-o %q; expected a folder's name", f.out)
			}
			f.check.levelSet = c.Flags().Changed("level")
			return runIncident(c.Context(), e, &f, args)
		},
	}
	levelFlag(c, &f.check.level)
	f.check.judging(c)
	f.check.loading.flags(c, "format", "HISTORY")
	fl := c.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "`DIR`, the folder")
	fl.DurationVar(&f.check.limits.timeout, "timeout", 0, "stop after this long, and tell the smallest by then")
	fl.Var(sizeValue{&f.check.limits.memory}, "memory", "stop when so much memory is held, such as 2GiB, and tell the "+
		"smallest by then")
	fl.BoolVarP(&f.check.quiet, "quiet", "q", false, "no progress on standard error")
	return c
}

func runIncident(ctx context.Context, e *env, f *shrinkFlags, args []string) error {
	if err := f.check.validate(args); err != nil {
		return err
	}
	p := newProgress(e.stderr, f.check.quiet, false)
	defer p.Close()
	r, early, err := f.smallest(ctx, e, args[0], p)
	if none, ok := errors.AsType[*shrink.NoViolation](err); ok {
		fmt.Fprintf(e.stderr, "isovet: %s: %s\n", args[0], strings.Replace(none.Error(), "to shrink", "to tell", 1))
		return status(statusUnknown)
	}
	if err != nil {
		return err
	}
	if r.Answer.Verdict != evidence.Violated {
		fmt.Fprintf(e.stderr, "isovet: %s: a mechanism is violated, and not the level; isovet report tells it\n",
			args[0])
		return status(statusUnknown)
	}
	if err := incident.Of(r, buildVersion().String(), aboutAnomaly).Write(f.out); err != nil {
		return err
	}
	if early != "" {
		fmt.Fprintf(e.stderr, "isovet: %s: %s; the smallest history found by then is told\n", args[0], early)
	}
	_, err = fmt.Fprintln(e.stdout, filepath.Join(f.out, incident.ReadmeFile))
	return err
}

// checkAfter is collect --check: the history is checked as soon as it is written, and a violation is told while the
// database is open.
type checkAfter struct {
	name string
	at   level.Level
	in   findFlags
}

// afterwards is how long the check may take.
const afterwards = 10 * time.Minute

func (f *checkAfter) validate(rotated bool) (err error) {
	if f.name == "" {
		if f.in.dir != "" {
			return usagef("--incident is for --check")
		}
		return nil
	}
	if f.at, err = level.Parse(f.name); err != nil {
		return usagef("--check %s: %v", f.name, err)
	}
	if rotated {
		return usagef("--check and --rotate: parts are checked by isovet check")
	}
	return f.in.validate()
}

// run checks what was collected; the error is an exit status.
func (f *checkAfter) run(ctx context.Context, e *env, cf *collectFlags, t *collect.Target, r *collect.Result,
	out string, asJSON bool, p *progress) (*evidence.Result, *incident.Incident, error) {
	p.Begin("checking " + out)
	ctx, cancel := context.WithTimeout(ctx, afterwards)
	defer cancel()
	c, ok := check.Auto(r.History, f.at)
	if !ok {
		p.Hide()
		fmt.Fprintf(e.stderr, "isovet: %s: no checker decides %s\n", out, f.at)
		return nil, nil, status(statusUnknown)
	}
	a, err := check.Run(ctx, c, r.History, check.Options{Level: f.at})
	p.Hide()
	if err != nil {
		return nil, nil, err
	}
	a.H = r.History
	if !asJSON && out != "-" {
		if err := report.Text(e.stdout, out, a, report.TextOptions{}); err != nil {
			return a, nil, err
		}
	}
	switch {
	case a.Verdict == evidence.Unknown:
		return a, nil, status(statusUnknown)
	case a.Verdict != evidence.Violated:
		return a, nil, nil
	case f.in.dir == noIncident || out == "-" && f.in.dir == "":
		return a, nil, status(statusViolation)
	}
	dir := f.in.dir
	if dir == "" {
		dir = beside(out, ".incident")
	}
	found := &collect.Found{Target: t, Config: cf.cfg, Level: f.at, Answer: a, Result: r}
	command := "isovet collect --check " + f.at.String() +
		strings.TrimPrefix(again(cf, f.at, &collect.Round{Seed: cf.cfg.Seed, Keys: cf.cfg.Keys}), "isovet hunt")
	command = strings.Replace(command, " --level "+f.at.String(), "", 1)
	x, err := f.in.write(ctx, found, dir, command, cf.cfg.Seed, nil, p)
	if err != nil {
		fmt.Fprintf(e.stderr, "isovet: no incident was written: %v\n", err)
	} else if !asJSON {
		fmt.Fprintf(e.stderr, "%s\n", saidIncident(x, dir))
	}
	return a, x, status(statusViolation)
}
