// Package collects holds the commands that talk to databases: collect, hunt, replay, campaign, probe.
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
	"isovet/collect/server"
	"isovet/collect/sqlwork"
	"isovet/history/format"
	"isovet/internal/cli/console"
	"isovet/internal/cli/watches"
	"isovet/internal/cli/workloads"
	"isovet/watch"
)

// collectFlags are the flags that say what to collect, in collect and hunt alike.
type collectFlags struct {
	cfg   collect.Config
	fault string
}

// databases says what --db takes.
func databases() string {
	var b strings.Builder
	b.WriteString("\nDatabases (--db):\n")
	for _, s := range driver.All() {
		fmt.Fprintf(&b, "  %-10s %s\n%14sisolation: %s\n", s.URLs[0]+":", s.About, "",
			strings.ReplaceAll(strings.Join(s.Isolations, ", "), "=", " = "))
	}
	b.WriteString("\nServers to start and throw away, from the binaries that are installed:\n")
	for _, k := range server.All() {
		fmt.Fprintf(&b, "  %s\n", k.About)
	}
	b.WriteString("  Settings of the server may follow: postgres:start?synchronous_commit=off\n")
	return b.String()
}

func (f *collectFlags) add(c *cobra.Command) {
	f.cfg = collect.Config{Workload: "blindw", Txns: 10000, Sessions: 24, Seed: 1}
	fl := c.Flags()
	fl.StringArrayVar(&f.cfg.DB, "db", nil, "the database's `URL`; several times for the nodes of a cluster; "+
		"postgres:start and its like start a server")
	fl.Var(&ownWorkloadValue{workloads.NewWorkloadValue(&f.cfg.Workload)}, "workload",
		"what the clients do; isovet workloads "+
			"lists them; or a FILE.yaml with SQL statements of your own")
	console.Complete(c, "workload", workloads.WorkloadNames())
	fl.StringArrayVar(&f.cfg.SetupSQL, "setup-sql", nil, "a `STATEMENT` to run once, behind the load; several times "+
		"for more")
	fl.StringArrayVar(&f.cfg.SessionSQL, "session-sql", nil, "a `STATEMENT` that every session begins with, such as "+
		"\"set lock_timeout = '1s'\"; several times for more")
	fl.StringVar(&f.cfg.Variant, "variant", "", "the workload's variant (default: its first)")
	fl.StringVar(&f.cfg.Isolation, "isolation", "", "isolation level that the clients ask for (default: the "+
		"database's own)")
	fl.IntVar(&f.cfg.Sessions, "sessions", f.cfg.Sessions, "client sessions")
	fl.IntVar(&f.cfg.Keys, "keys", 0, "keys, customers, …: what the workload scales by (default: the workload's own)")
	fl.IntVar(&f.cfg.Ops, "ops", 0, "operations a transaction (default: the workload's own)")
	fl.IntVar(&f.cfg.Values, "values", 0, "have the history show one of so many values a key in place of each "+
		"write's unique one, so that a value may be written more than once (default: the variant's)")
	fl.Uint64Var(&f.cfg.Seed, "seed", f.cfg.Seed, "seed of the workload; what the database makes of it differs from "+
		"run to run")
	fl.DurationVar(&f.cfg.Think, "think", 0, "pause of a session before each operation")
	fl.DurationVar(&f.cfg.Timeout, "op-timeout", 10*time.Second, "longest wait for an answer of the database")
	fl.BoolVar(&f.cfg.Timestamps, "timestamps", false,
		"record the database's own timestamps (PostgreSQL, Badger, etcd)")
	fl.StringVar(&f.fault, "fault", "", "kill:5s kills a server that was started here every 5 s and starts it "+
		"again; pause:5s stops it for a while; partition:5s cuts a server off from its clients, split:5s from the "+
		"other servers of its cluster; skew:5s sets its clock; script:5s runs --fault-script; ddl:1s adds and drops "+
		"indexes and columns of an SQL database's tables while sessions use them")
	fl.StringVar(&f.cfg.Fault.Program, "fault-script", "", "a `PROGRAM` that breaks a server and mends it: it is run "+
		"with break or heal, the server's number and its URL")
}

// ownWorkloadValue is the --workload flag where it may be a file too.
type ownWorkloadValue struct{ *workloads.WorkloadValue }

// ownWorkload reports whether a workload is a file of the user's.
func ownWorkload(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
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
		return console.Usagef("--fault %s with --fault-script %q; expected --fault script:5s with a program, and "+
			"with no other",
			cmp.Or(f.fault, "none"), program)
	}
	if !ownWorkload(f.cfg.Workload) {
		return workloads.PartVariant(&f.cfg.Workload, &f.cfg.Variant)
	}
	for _, name := range []string{"variant", "keys", "ops", "values", "timestamps"} {
		if c.Flags().Changed(name) {
			return console.Usagef("--%s is for the workloads that are built in; leave it out with --workload %s", name,
				f.cfg.Workload)
		}
	}
	if f.cfg.Own, err = sqlwork.Read(f.cfg.Workload); err != nil {
		return console.Exit(console.StatusBadInput, err)
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
		if x.Txns == 0 && f.cfg.Duration > x.Elapsed && x.Elapsed > 0 { // else the count tells
			s += ", " + console.Clock(f.cfg.Duration-x.Elapsed) + " left"
		}
		p.Step(s, x.Committed, x.Txns)
	}
}

func collectHelp() string {
	return `collect runs a workload with many client sessions against a database and writes what the clients saw, and when. It uses tables
of its own (isovet_kv, isovet_list; keys below isovet/) and drops them at the end. Transactions that the database
refuses are recorded as aborted and tried again; where a commit's answer is lost, the outcome is recorded as unknown.
Passwords are neither recorded nor shown.

The recording is on disk while the run lasts, in FILE.partial: if isovet is killed, check takes it. In the end FILE is
written and FILE.partial removed.

--rotate WHEN is for long runs: FILE is then a folder of parts, which check takes as one history, at any time; memory
does not grow with the run.

--check LEVEL checks the history as soon as it is written, while the database is still open: a violation becomes an
incident, a folder with SQL, settings and a schedule that repeats it (isovet hunt --help), FILE's name with the ending
.incident. Exit status then: 1 the level is violated, 2 that is unknown.

--watch verifies the mechanisms of the database (isovet watch --checker leopard, --profile) while the workload runs: a
violation is a JSON line on standard output as soon as it is certain. The file is written all the same. Exit status
then: 1 there was a violation that is proved, 2 there were violations under the profile alone.
` + databases() + `
Related: isovet workloads lists the workloads, isovet hunt collects and checks until a violation is found.`
}

const collectExamples = `  isovet collect --db sqlite: --workload smallbank -o h.jsonl && isovet check --level serializable h.jsonl
  isovet collect --db postgres://user@localhost/test --isolation repeatable-read --workload smallbank --keys 20 -o h.jsonl.zst
  isovet collect --db galera:start:3 --workload rmw --for 10s -o h.jsonl
  isovet collect --db badger: --for 12h --rotate 256MiB -o long/
  isovet collect --db mariadb:start --isolation repeatable-read --workload rmw --watch --profile mariadb:repeatable-read-snapshot -o h.jsonl
  isovet collect --db postgres://user@localhost/test --workload transfers.yaml --session-sql "set lock_timeout = '1s'" -o h.jsonl
  isovet collect --db postgres:start --isolation ser --timestamps --fault kill:2s --for 10s -o h.jsonl`

func NewCollect(e *console.Env) *cobra.Command {
	var f collectFlags
	var out, to string
	var asJSON, quiet bool
	var live liveFlags
	var rotate collect.Rotate
	var after checkAfter
	c := &cobra.Command{
		Use: "collect --db URL [flags] -o FILE", GroupID: "work",
		Short:   "Record a history from a real database: a workload run by many sessions",
		Long:    collectHelp(),
		Example: collectExamples,
		Args:    console.Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if out == "" {
				return console.Usagef("-o FILE is missing; -o - writes to standard output")
			}
			if asJSON && out == "-" {
				return console.Usagef("--json and -o - both write to standard output; choose one")
			}
			if live.on && out == "-" {
				return console.Usagef("--watch and -o - both write to standard output; choose one")
			}
			if !live.on && (live.profile != "" || live.skew != 0) {
				return console.Usagef("--profile and --clock-skew are for --watch")
			}
			if c.Flags().Changed("rotate") {
				if err := rotating(&rotate, out, to, f.cfg.Timestamps); err != nil {
					return err
				}
				f.cfg.Rotate = &rotate
			} else if err := console.Writable(out, to, "--format"); err != nil {
				return err
			}
			if err := errors.Join(f.finish(c), after.validate(f.cfg.Rotate != nil)); err != nil {
				return err
			}
			if f.cfg.Duration > 0 && !c.Flags().Changed("txns") {
				f.cfg.Txns = 0
			}
			return runCollect(c.Context(), e, &f, &live, &after, out, to, asJSON, quiet)
		},
	}
	f.add(c)
	to = console.Auto
	fl := c.Flags()
	fl.IntVar(&f.cfg.Txns, "txns", f.cfg.Txns, "committed transactions (with --for: no bound)")
	fl.DurationVar(&f.cfg.Duration, "for", 0, "stop after this long")
	fl.StringVarP(&out, "out", "o", "", "`FILE` to write; .gz and .zst at its end compress; - is standard output")
	console.EnumFlag(c, &to, "format", "format", "format of the file (default: by its name)", console.FormatNames())
	fl.Var(RotateValue{&rotate}, "rotate", "write the parts of the folder -o, a new one after a size (of what is "+
		"recorded, as JSON lines), a duration or a number of transactions: 256MiB, 10m, 1000000txns, or several")
	fl.BoolVar(&live.on, "watch", false, "verify the database's mechanisms meanwhile; violations are JSON lines on "+
		"standard output")
	watches.AddProfile(c, &live.profile, &live.skew)
	fl.StringVar(&after.name, "check", "", "check the history at `LEVEL` when it is written")
	after.in.add(c, "FILE's name with the ending .incident; with --check")
	fl.BoolVar(&asJSON, "json", false, "say as a JSON object on standard output what was collected")
	fl.BoolVarP(&quiet, "quiet", "q", false, "say nothing on standard error")
	return c
}

// liveFlags are those of collect --watch.
type liveFlags struct {
	on      bool
	profile string
	skew    time.Duration
	live    *watch.Live
}

// begin makes the verifier; broken is what goes wrong with standard output.
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

// end says what was found.
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

// watched says in words what was found.
func watched(s *watch.Snapshot) string {
	if len(s.Violations) == 0 {
		return fmt.Sprintf("%d transactions, no violation found, which proves nothing", s.Txns)
	}
	var by []string
	total := int64(0)
	for _, class := range slices.Sorted(maps.Keys(s.Violations)) {
		total += s.Violations[class]
		by = append(by, fmt.Sprintf("%s %d", class, s.Violations[class]))
	}
	return fmt.Sprintf("%d transactions, %d violations (%s), %d of them proved", s.Txns, total, strings.Join(by, ", "),
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
			_ = t.Close() // as Run does; what was recorded is there
		}
	}
	if r == nil || r.History == nil && f.cfg.Rotate == nil {
		if ctx.Err() != nil {
			return console.OrInterrupted(context.Cause(ctx), "collecting; nothing was written")
		}
		return err
	}
	if werr := f.write(p, r, out, to); werr != nil {
		return errors.Join(err, werr)
	}
	p.Hide()
	var found error // an exit status
	if live.on {
		if found = live.end(e, quiet); found == nil {
			found = broken
		}
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
		if found == nil {
			found = checked
		}
	}
	if asJSON || !quiet {
		if err := f.sayCollected(e, out, r, j, asJSON); err != nil {
			return err
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("the run ended early, %s holds what was recorded: %w", out, err)
	case r.Interrupted:
		return console.Exit(console.StatusInterrupted, fmt.Errorf("interrupted; %s holds what was recorded by then",
			out))
	}
	return found
}

// write writes what was recorded, but for parts, which are there, and removes what was recorded on the way.
func (f *collectFlags) write(p *console.Progress, r *collect.Result, out, to string) error {
	if f.cfg.Rotate == nil {
		p.Begin("writing " + out)
		if err := writeHistory(out, r, to); err != nil {
			if f.cfg.Partial != "" {
				err = fmt.Errorf("%w; %s holds what was recorded", err, f.cfg.Partial)
			}
			return err
		}
	}
	return removePartial(f.cfg.Partial)
}

// recordInto sets where the transactions are recorded while the run lasts, and says it.
func (f *collectFlags) recordInto(e *console.Env, out string, quiet bool) {
	into := "the parts of " + out
	switch {
	case f.cfg.Rotate != nil:
	case out == "-":
		return
	default:
		f.cfg.Partial = out + PartialEnding
		into = fmt.Sprintf("%s until %s is written", f.cfg.Partial, out)
	}
	if !quiet {
		fmt.Fprintf(e.Stderr, "recording into %s\n", into)
	}
}

// sayCollected says what was collected: as JSON, or in words.
func (f *collectFlags) sayCollected(e *console.Env, out string, r *collect.Result, j collected, asJSON bool) error {
	if asJSON {
		return console.JSONLine(e.Stdout, j)
	}
	parts := ""
	if f.cfg.Rotate != nil {
		parts = fmt.Sprintf("%d transactions in %d parts; ", r.Parts.Txns, r.Parts.Files)
	}
	fmt.Fprintf(e.Stderr, "%s: %s%s\n", out, parts, headline(&r.Summary))
	if err := console.Table(e.Stderr, templateHeader, templateRows(&r.Summary)); err != nil {
		return err
	}
	if err := sayAborts(e.Stderr, r.Summary.Aborts); err != nil {
		return err
	}
	if s := &r.Summary; s.SchemaChanges+s.SchemaRefused > 0 {
		fmt.Fprintf(e.Stderr, "%d changes of the schema, %d refused\n", s.SchemaChanges, s.SchemaRefused)
	}
	return nil
}

// writeHistory writes the file; an error names it, not the temporary one.
func writeHistory(out string, r *collect.Result, to string) error {
	if err := format.Write(out, r.History, to, false); err != nil {
		if p, ok := errors.AsType[*os.PathError](err); ok && out != "-" {
			return fmt.Errorf("cannot write %s: %w", out, p.Err)
		}
		return fmt.Errorf("cannot write %s: %w", out, err)
	}
	return nil
}

// PartialEnding is behind the name of a history while it is recorded.
const PartialEnding = ".partial"

func removePartial(path string) error {
	if path == "" {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
