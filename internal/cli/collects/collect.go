// Package collects has the commands that use databases: collect, hunt, replay, campaign, probe.
package collects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/collect"
	"isovet/collect/driver"
	"isovet/collect/sqlwork"
	"isovet/history/format"
	"isovet/internal/atomicfile"
	"isovet/internal/cli/console"
	"isovet/internal/cli/watches"
	"isovet/internal/cli/workloads"
	"isovet/internal/escape"
	"isovet/internal/plural"
	"isovet/watch"
)

// collectFlags are the flags of collect and hunt that configure a run.
type collectFlags struct {
	cfg   collect.Config
	fault string
}

func (f *collectFlags) add(c *cobra.Command) {
	f.cfg = collect.Config{Workload: "blindw", Txns: 10000, Sessions: 24, Seed: 1}
	fl := c.Flags()
	fl.StringArrayVar(&f.cfg.DB, "db", nil, "the database's `URL`, or postgres:start; once for each node")
	fl.Var(&ownWorkloadValue{workloads.NewWorkloadValue(&f.cfg.Workload)}, "workload",
		"workload (isovet workloads), or FILE.yaml with your SQL")
	console.Complete(c, "workload", slices.Concat(workloads.WorkloadNames(), sqlwork.Jepsen()))
	fl.StringArrayVar(&f.cfg.SetupSQL, "setup-sql", nil, "`STATEMENT` to run once after the load; repeat it for more")
	fl.StringArrayVar(&f.cfg.SessionSQL, "session-sql", nil, "`STATEMENT` that each session runs first; repeat it for more")
	fl.StringVar(&f.cfg.Variant, "variant", "", "the workload's variant (default: its first)")
	fl.StringVar(&f.cfg.Isolation, "isolation", "", "isolation level of transactions (default: the database's)")
	fl.IntVar(&f.cfg.Sessions, "sessions", f.cfg.Sessions, "client sessions")
	fl.IntVar(&f.cfg.Keys, "keys", 0, "size of the data: keys, customers, … (default: the workload's)")
	fl.IntVar(&f.cfg.Ops, "ops", 0, "operations in each transaction (default: the workload's)")
	fl.IntVar(&f.cfg.Values, "values", 0, "values of each key, so that some repeat (default: unique)")
	fl.Uint64Var(&f.cfg.Seed, "seed", f.cfg.Seed, "seed of the workload; the database's timing still varies")
	fl.DurationVar(&f.cfg.Think, "think", 0, "pause before each operation")
	fl.DurationVar(&f.cfg.Timeout, "op-timeout", 10*time.Second, "longest time to wait for an answer")
	fl.BoolVar(&f.cfg.Timestamps, "timestamps", false, "record the database's timestamps (PostgreSQL, Badger, etcd)")
	fl.StringVar(&f.fault, "fault", "", "kill:5s; or pause, stall, gdb, partition, split, skew, script, ddl")
	fl.StringVar(&f.cfg.Fault.Program, "fault-script", "", "`PROGRAM` for --fault script:5s (docs/collect.md)")
}

// ownWorkloadValue is a flag --workload that also accepts a file.
type ownWorkloadValue struct{ *workloads.WorkloadValue }

// ownWorkload reports whether a workload is a file of SQL statements: the user's own, or one of Jepsen's.
func ownWorkload(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") || jepsens(name)
}

// jepsens reports whether a workload, perhaps with its variant, is one of Jepsen's.
func jepsens(name string) bool {
	name, _, _ = strings.Cut(name, "/")
	return slices.Contains(sqlwork.Jepsen(), name)
}

func (v *ownWorkloadValue) Set(s string) error {
	if ownWorkload(s) {
		*v.Value = s
		return nil
	}
	return v.WorkloadValue.Set(s)
}

func (f *collectFlags) finish(c *cobra.Command) (err error) {
	if len(f.cfg.DB) == 0 {
		return console.Usagef(noDatabase, c.CommandPath())
	}
	for _, n := range []struct {
		name   string
		v, min int
	}{{"sessions", f.cfg.Sessions, 1}, {"keys", f.cfg.Keys, 0}, {"ops", f.cfg.Ops, 0}, {"values", f.cfg.Values, 0},
		{"txns", f.cfg.Txns, 1}} {
		if n.v < n.min {
			return console.Usagef("--%s %d; expected at least %d", n.name, n.v, n.min)
		}
	}
	if f.cfg.Think < 0 || f.cfg.Timeout <= 0 {
		return console.Usagef("--think %v, --op-timeout %v; expected no negative time", f.cfg.Think, f.cfg.Timeout)
	}
	program := f.cfg.Fault.Program
	if program != "" && f.fault == "" {
		f.fault = "script:5s"
	}
	f.cfg.Fault, err = collect.ParseFault(f.fault)
	if err != nil {
		return console.Usagef("--fault: %v", err)
	}
	if f.cfg.Fault.Program = program; (f.cfg.Fault.Kind == collect.Scripted) != (program != "") {
		return console.Usagef("--fault %s with --fault-script %q; expected --fault script:5s with a program, and with "+
			"no other", cmp.Or(f.fault, "none"), program)
	}
	if !ownWorkload(f.cfg.Workload) {
		return workloads.PartVariant(&f.cfg.Workload, &f.cfg.Variant)
	}
	return f.own(c)
}

// own reads a workload of SQL statements.
func (f *collectFlags) own(c *cobra.Command) (err error) {
	for _, name := range []string{"keys", "ops", "values", "timestamps"} {
		if c.Flags().Changed(name) {
			return console.Usagef("--%s does not work with --workload %s; leave it out", name, f.cfg.Workload)
		}
	}
	if jepsens(f.cfg.Workload) {
		if err := workloads.PartVariant(&f.cfg.Workload, &f.cfg.Variant); err != nil {
			return err
		}
		f.cfg.Own, err = sqlwork.OfJepsen(f.cfg.Workload)
	} else {
		db, _ := driver.Lookup(f.cfg.DB[0]) // opening it reports the error
		f.cfg.Own, err = sqlwork.Read(f.cfg.Workload, db.Name == "postgres")
	}
	if err != nil {
		return console.Exit(console.StatusBadInput, err)
	}
	if v := f.cfg.Variant; v != "" && !slices.Contains(f.cfg.Own.Variants, v) {
		return console.Usagef("--variant %q of %s is unknown; expected one of %v", v, f.cfg.Workload,
			f.cfg.Own.Variants)
	}
	return nil
}

// tell shows a run's progress.
func (f *collectFlags) tell(p *console.Progress) func(collect.Progress) {
	return func(x collect.Progress) {
		s := x.Stage
		if x.Committed+x.Aborted+x.Unknown > 0 {
			s += fmt.Sprintf(": %.0f commits/s, %.0f %% aborted", x.Rate, 100*float64(x.Aborted)/float64(x.Committed+
				x.Aborted+x.Unknown))
		}
		if x.Txns == 0 && f.cfg.Duration > x.Elapsed && x.Elapsed > 0 { // otherwise the count shows it
			s += ", " + console.Clock(f.cfg.Duration-x.Elapsed) + " left"
		}
		p.Step(s, x.Committed, x.Txns)
	}
}

func NewCollect(e *console.Env) *cobra.Command {
	var f collectFlags
	var out, to string
	var asJSON, quiet bool
	var live liveFlags
	var rotate collect.Rotate
	var after checkAfter
	c := console.Command("collect", console.Exactly(), func(c *cobra.Command, _ []string) error {
		if out == "" {
			return console.Usagef("-o FILE is missing; -o - writes to standard output")
		}
		if err := console.Crossed(c); err != nil {
			return err
		}
		if c.Flags().Changed("rotate") {
			if err := rotating(&rotate, out, to); err != nil {
				return err
			}
			f.cfg.Rotate = &rotate
		} else if err := console.Writable(out, to, "--format"); err != nil {
			return err
		}
		if err := errors.Join(f.finish(c), after.validate()); err != nil {
			return err
		}
		if o := f.cfg.Own; o != nil && o.Operations && (after.name != "" || to != console.Auto) {
			return console.Usagef("--check and --format do not work with operations on objects, such as workload " +
				"bank; run isovet check afterwards")
		}
		if f.cfg.Duration > 0 && !c.Flags().Changed("txns") {
			f.cfg.Txns = 0
		}
		return runCollect(c.Context(), e, &f, &live, &after, out, to, asJSON, quiet)
	})
	f.add(c)
	to = console.Auto
	fl := c.Flags()
	fl.IntVar(&f.cfg.Txns, "txns", f.cfg.Txns, "committed transactions (with --for: no bound)")
	fl.DurationVar(&f.cfg.Duration, "for", 0, "duration of the run")
	fl.StringVarP(&out, "out", "o", "", "`FILE` to write; .gz and .zst compress it; - is standard output")
	console.EnumFlag(c, &to, "format", "format", "format of the file (isovet formats)", console.FormatNames())
	fl.Var(RotateValue{&rotate}, "rotate", "begin a new part after 256MiB, 10m or 1000000txns; -o is a folder")
	fl.BoolVar(&live.on, "watch", false, "verify the database's mechanisms while it runs")
	watches.AddProfile(c, &live.profile, &live.skew)
	fl.StringVar(&after.name, "check", "", "check the history at `LEVEL` afterwards")
	after.in.add(c, "FILE.incident")
	fl.BoolVar(&asJSON, "json", false, "print a summary as a JSON object")
	fl.BoolVarP(&quiet, "quiet", "q", false, "print nothing on standard error")
	return c
}

// liveFlags are those of collect --watch.
type liveFlags struct {
	on      bool
	profile string
	skew    time.Duration
	live    *watch.Live
}

// begin makes the verifier. An error of standard output goes to broken.
func (f *liveFlags) begin(e *console.Env, p *console.Progress, broken *error) error {
	o, err := watches.LeopardOptions(f.profile, f.skew)
	if err != nil {
		return err
	}
	f.live = watch.NewLive(o, func(line []byte) {
		p.Hide()
		if _, err := fmt.Fprintf(e.Stdout, "%s\n", line); err != nil && *broken == nil {
			*broken = err
		}
	})
	return nil
}

func (f *liveFlags) end(e *console.Env, quiet bool) error {
	if err := f.live.Close(); err != nil {
		return err
	}
	s := f.live.Snapshot()
	if f.live.Profile() == nil {
		return nil // the run did not begin
	}
	if !quiet {
		fmt.Fprintf(e.Stderr, "watched under profile %s: %s\n", f.live.Profile().Name(), watched(&s))
	}
	switch {
	case s.Proved > 0:
		return console.Status(console.StatusViolation)
	case s.Lines > 0:
		return console.Status(console.StatusUnknown)
	}
	return nil
}

// watched describes the findings.
func watched(s *watch.Snapshot) string {
	if len(s.Violations) == 0 {
		return plural.Of(s.Txns, "transaction") + ", no violation found, which proves nothing"
	}
	var by []string
	total := int64(0)
	for _, class := range slices.Sorted(maps.Keys(s.Violations)) {
		total += s.Violations[class]
		by = append(by, fmt.Sprintf("%s %d", class, s.Violations[class]))
	}
	return fmt.Sprintf("%s, %s (%s), %d of them proved", plural.Of(s.Txns, "transaction"),
		plural.Of(total, "violation"), strings.Join(by, ", "),
		s.Proved)
}

func runCollect(ctx context.Context, e *console.Env, f *collectFlags, live *liveFlags, after *checkAfter, out,
	to string, asJSON, quiet bool) error {
	p := console.NewProgress(e.Stderr, quiet, asJSON)
	defer p.Close()
	p.Begin("collecting " + out)
	f.cfg.Progress = f.tell(p)
	var broken error // of standard output
	if live.on {
		if err := live.begin(e, p, &broken); err != nil {
			return err
		}
		f.cfg.Live = live.live
	}
	f.recordInto(e, out, quiet)
	f.cfg.KeepCalls = after.name != ""
	t, err := collect.Open(ctx, f.cfg)
	var r *collect.Result
	if err == nil {
		defer t.Close()
		r, err = t.Collect(ctx, f.cfg)
		if after.name == "" {
			_ = t.Close() // as in Run: the recording is complete
		}
	}
	if r == nil || r.History == nil && r.Operations == nil && f.cfg.Rotate == nil {
		if ctx.Err() != nil {
			return console.OrInterrupted(context.Cause(ctx), "collecting; nothing was written")
		}
		return err
	}
	if werr := f.write(e, p, r, out, to); werr != nil {
		return errors.Join(err, werr)
	}
	p.Hide()
	var found error // an exit status
	if live.on {
		found = cmp.Or(live.end(e, quiet), broken)
	}
	j := summaryJSON(out, r)
	if after.name != "" && err == nil && !r.Interrupted {
		a, x, checked := after.run(ctx, e, f, t, r, out, asJSON, p)
		if a != nil {
			j.Verdict, j.Level = a.Verdict.String(), after.at.String()
		}
		if x != nil && x.Replay != nil {
			j.ReplayRuns, j.ReplayViolated = x.Replay.Runs, x.Replay.Violated
		}
		found = cmp.Or(found, checked)
	}
	if asJSON || !quiet {
		if err := f.sayCollected(e, out, r, j, asJSON); err != nil {
			return err
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("the run ended early; %s holds the recording so far: %w", out, err)
	case r.Interrupted:
		return console.Exit(console.StatusInterrupted, fmt.Errorf("interrupted; %s holds the recording so far", out))
	}
	return found
}

// write writes the history, unless it is in parts already, and then removes the partial recording.
func (f *collectFlags) write(e *console.Env, p *console.Progress, r *collect.Result, out, to string) error {
	if f.cfg.Rotate == nil {
		p.Begin("writing " + out)
		write := func() error { return writeHistory(out, r, to) }
		if r.Operations != nil {
			write = func() error { return e.WriteText(out, string(r.Operations)) }
		}
		if err := write(); err != nil {
			if f.cfg.Partial != "" {
				err = fmt.Errorf("%w; %s holds the recording so far", err, f.cfg.Partial)
			}
			return err
		}
	}
	return removePartial(f.cfg.Partial)
}

// recordInto sets the file of the partial recording, and reports it.
func (f *collectFlags) recordInto(e *console.Env, out string, quiet bool) {
	into := "the parts of " + out
	switch {
	case f.cfg.Rotate != nil:
	case out == "-" || atomicfile.Special(out):
		return
	default:
		f.cfg.Partial = out + PartialEnding
		into = fmt.Sprintf("%s until %s is written", f.cfg.Partial, out)
	}
	if !quiet {
		fmt.Fprintf(e.Stderr, "recording into %s\n", into)
	}
}

// sayCollected reports the run, as JSON or in words.
func (f *collectFlags) sayCollected(e *console.Env, out string, r *collect.Result, j collected, asJSON bool) error {
	if asJSON {
		return console.JSONLine(e.Stdout, j)
	}
	parts := ""
	if f.cfg.Rotate != nil {
		parts = plural.Of(r.Parts.Txns, "transaction") + " in " + plural.Of(r.Parts.Files, "part") + "; "
	}
	fmt.Fprintf(e.Stderr, "%s: %s%s\n", out, parts, headline(&r.Summary))
	if err := console.Table(e.Stderr, templateHeader, templateRows(&r.Summary)); err != nil {
		return err
	}
	if err := sayAborts(e.Stderr, r.Summary.Aborts); err != nil {
		return err
	}
	for _, m := range r.Summary.Missed {
		fmt.Fprintf(e.Stderr, "  %s\n", escape.Line(m))
	}
	if p := r.Summary.OtherPlan; p != "" {
		fmt.Fprintf(e.Stderr, "isovet: %s\n", p)
	}
	if s := &r.Summary; s.SchemaChanges+s.SchemaRefused > 0 {
		fmt.Fprintf(e.Stderr, "%s of the schema, %d refused\n", plural.Of(s.SchemaChanges, "change"), s.SchemaRefused)
	}
	return nil
}

// writeHistory writes the file. An error names the file instead of the temporary one.
func writeHistory(out string, r *collect.Result, to string) error {
	err := format.Write(out, r.History, to, false)
	if p, ok := errors.AsType[*os.PathError](err); ok && out != "-" {
		err = p.Err
	}
	if err != nil {
		err = fmt.Errorf("cannot write %s: %w", out, err)
	}
	return err
}

// PartialEnding is the ending of a history's name while it is being recorded.
const PartialEnding = ".partial"

func removePartial(path string) error {
	if err := os.Remove(path); path != "" && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
