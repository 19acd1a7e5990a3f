package checks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/cli/console"
	"isovet/internal/guard"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/report"
)

const allLevels = "all"

// latticeValue is a level, a mixed level or, unless all is nil, all levels.
type latticeValue struct {
	console.LevelValue
	all *bool
}

func (v latticeValue) String() string {
	if v.all != nil && *v.all {
		return allLevels
	}
	return v.LevelValue.String()
}

func (v latticeValue) Set(s string) error {
	if v.all != nil {
		if *v.all = strings.EqualFold(strings.TrimSpace(s), allLevels); *v.all {
			return nil
		}
	}
	if l, err := level.ParseMixed(s); err == nil {
		*v.L = l
		return nil
	}
	return v.LevelValue.Set(s)
}

// runLattice checks histories at every level. The exit status is the worst of all levels that some checker decides.
func runLattice(ctx context.Context, e *console.Env, f *CheckFlags, args []string) error {
	if f.judge.name != console.Auto && check.TrustsTimestamps(f.judge.name) {
		return console.Usagef("checker %s judges database timestamps, where no level implies another; leave --level "+
			"all out", f.judge.name)
	}
	return f.around(e, len(args), len(level.All()), func() (console.Tally, error) { return f.latticeAll(ctx, e, args) })
}

// latticeAll checks histories one after the other and returns their totals.
func (f *CheckFlags) latticeAll(ctx context.Context, e *console.Env, args []string) (console.Tally, error) {
	t := console.Tally{}
	if e.Kept != nil {
		t = e.Kept.First
	}
	if f.needsKeeper(e, args) {
		t, err := f.keep(ctx, e, args, func(k *keeper, cause error) {
			o := k.outcome(cause)
			var l *check.Lattice
			if o.result == nil {
				e.SayError("isovet", o.err)
			} else {
				l = unknownLattice(o.result.Reason)
			}
			addLattice(&k.tally, l, o.err)
			if err := printLattice(e, f, o, l, 0, k.at, &k.tally); err != nil {
				k.tally.Worst = console.Worse(k.tally.Worst, console.StatusOf(err))
			}
		})
		if err != nil {
			return t, err
		}
		return t, f.statusOf(&t)
	}
	p := console.NewProgress(e.Stderr, f.quiet, f.json)
	defer p.Close()
	for i := t.Next; i < len(args); i++ {
		path := args[i]
		if ctx.Err() != nil {
			return t, &console.ExitError{Status: console.StatusInterrupted}
		}
		began := time.Now()
		p.Begin("checking " + path)
		e.Kept.Begins(i)
		l, load, err := latticeOf(ctx, e, f, path, p, e.Kept.Started(i))
		if l != nil && f.html != "" {
			page := func(w io.Writer) error {
				return report.LatticeHTML(format.Stoppable{Ctx: ctx, W: w}, path, l.Results, l.Holding, l.Failing)
			}
			err = errors.Join(err, e.WriteFile(console.Numbered(f.html, i, len(args)), page))
		}
		e.Kept.Answers()
		p.Hide()
		e.SayError("isovet", err)
		addLattice(&t, l, err)
		if l != nil {
			e.SayNotes(path, l.H)
		}
		if err := printLattice(e, f, outcome{path: path, err: err, began: began}, l, load, i, &t); err != nil {
			return t, err
		}
		t.Next = i + 1
		e.Kept.Done(t)
		if e.Kept != nil && guard.LeftBehind.Load() && t.Next < len(args) && ctx.Err() == nil {
			return t, nil // the next one gets a process of its own
		}
	}
	return t, f.statusOf(&t)
}

// unknownLattice is the answer if no level has one.
func unknownLattice(reason string) *check.Lattice {
	return &check.Lattice{Results: slice.Map(level.All(), func(at level.Level) *evidence.Result {
		return &evidence.Result{Level: at, Checker: console.Auto, Reason: reason}
	})}
}

// latticeOf loads a history and checks it at all levels. If a limit ends the work, the remaining levels are unknown
// for this reason.
func latticeOf(ctx context.Context, e *console.Env, f *CheckFlags, path string, p *console.Progress,
	started time.Duration) (
	l *check.Lattice, load time.Duration, err error) {
	var stage atomic.Pointer[string]
	var soFar atomic.Pointer[check.Lattice]
	var loaded atomic.Int64
	set := func(s string) { stage.Store(&s); e.Kept.Does(s) }
	set("loading")
	limits := f.limits
	limits.Used = started
	l, err = guard.Run(ctx, limits, func() string { return *stage.Load() }, func(ctx context.Context) (*check.Lattice,
		error) {
		start := time.Now()
		h, err := console.LoadShown(ctx, path, f.loading, p)
		if err != nil {
			return nil, err
		}
		loaded.Store(int64(time.Since(start)))
		set("checking")
		o := f.Options(level.Serializable, nil)
		o.Progress = func(s string, done, total int) {
			set("checking (" + s + ")")
			p.Step(s, done, total)
		}
		if f.judge.name == console.Auto {
			return check.RunLattice(ctx, h, o, soFar.Store)
		}
		c, err := check.ByName(f.judge.name)
		if err != nil {
			return nil, err
		}
		return check.RunLatticeBy(ctx, c, h, o, soFar.Store)
	})
	if err == nil && !f.emptyOK {
		l.Weigh()
	}
	load = time.Duration(loaded.Load())
	if stopped, ok := errors.AsType[*guard.StoppedError](err); ok {
		l = unknownLattice(stopped.Text)
		if k := soFar.Load(); k != nil {
			for i, r := range k.Results {
				if r.Verdict != evidence.Unknown || r.Checker == "" {
					l.Results[i] = r
				}
			}
			l.H, l.Holding, l.Failing = k.H, k.Holding, k.Failing
		}
		err = console.Interrupted(stopped)
	}
	if err == nil {
		err = console.Interrupted(context.Cause(ctx))
	}
	return l, load, err
}

// printLattice writes a table of the levels, which hold and which fail, and the first anomaly of each failure; or one
// JSON object.
func printLattice(e *console.Env, f *CheckFlags, o outcome, l *check.Lattice, load time.Duration, i int,
	t *console.Tally) error {
	w, path := e.Stdout, o.path
	it := o.item()
	if l != nil {
		it.Answers = l.Results
	}
	t.Totals.Add(it)
	if s, ok := report.NewStream(f.output, console.BuildVersion().Version); ok {
		said := t.Said
		t.Said += it.Findings()
		return s.Item(w, i, len(level.All()), said, it)
	}
	if l == nil {
		return nil
	}
	if f.json {
		out := struct {
			History string             `json:"history"`
			Notes   []history.Note     `json:"notes,omitempty"`
			LoadMS  float64            `json:"load_ms"`
			Holding []level.Level      `json:"strongest_holding"`
			Failing []level.Level      `json:"weakest_failing"`
			Levels  []*evidence.Report `json:"levels"`
		}{History: path, LoadMS: console.Milliseconds(load), Holding: append([]level.Level{}, l.Holding...),
			Failing: append([]level.Level{}, l.Failing...)}
		if l.H != nil { // else it was not even loaded
			out.Notes = l.H.Notes
		}
		for _, r := range l.Results {
			out.Levels = append(out.Levels, evidence.NewReport(r, path))
		}
		return console.JSONLine(w, out)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", path)
	tab := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tab, "level\tverdict\tchecker\tanomaly\n")
	for _, r := range l.Results {
		what, by := r.Reason, r.Checker
		if r.Implied {
			by += " at " + r.ImpliedBy.String()
		}
		if len(r.Anomalies) > 0 {
			what = string(r.Anomalies[0].Kind)
		}
		by = cmp.Or(by, "-")
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\n", r.Level, r.Verdict, by, what)
	}
	tab.Flush()
	fmt.Fprintf(&b, "strongest that hold: %s\nweakest that fail: %s\n", report.LevelNames(l.Holding),
		report.LevelNames(l.Failing))
	for _, of := range report.Failures(l.Results) {
		a := &of.Result.Anomalies[0]
		fmt.Fprintf(&b, "\n%s: %s\n", report.LevelNames(of.At), a.Title(of.Result.H))
		for line := range strings.Lines(a.Text) {
			fmt.Fprintf(&b, "  %s", line)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, trimLines(b.String()))
	return err
}

// trimLines removes blanks at the ends of lines.
func trimLines(s string) string {
	trimmed := func(line string) string { return strings.TrimRight(line, " ") }
	return strings.Join(slice.Map(strings.Split(s, "\n"), trimmed), "\n")
}

// addLattice adds the result for a history at every level to the totals.
func addLattice(t *console.Tally, l *check.Lattice, err error) {
	t.Worst = console.Worse(t.Worst, console.StatusOf(err))
	if l == nil {
		return
	}
	for _, r := range l.Results {
		switch {
		case r.Verdict == evidence.Violated:
			t.Worst = console.Worse(t.Worst, console.StatusViolation)
		case r.Verdict == evidence.Unknown && r.Checker != "":
			t.Worst, t.Unknown = console.Worse(t.Worst, console.StatusUnknown), true
		}
	}
}
