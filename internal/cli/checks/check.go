// Package checks has the commands that judge a history: check, verify, shrink and report. Its limits run in a process
// of their own; files on disk hold what does not fit in memory.
package checks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"isovet/check"
	"isovet/check/mechanism"
	"isovet/evidence"
	"isovet/history/format"
	"isovet/internal/cli/console"
	"isovet/internal/guard"
	"isovet/internal/room"
	"isovet/level"
	"isovet/report"
)

type CheckFlags struct {
	ignore                 bool // predicates, where a checker knows none
	level                  level.Level
	all                    bool // levels
	judge                  checkerFlag
	solver                 string
	unsolved               string // why a solver that was asked for is not used
	loading                console.Loading
	limits                 guard.Limits
	Skew                   time.Duration
	json, quiet, AtStart   bool
	output                 string
	shrunk                 string // a file for the smallest history
	html, dot, certificate string
	proof                  string // a file for isovet-kernel
	unknownStatus          int
	emptyOK                bool // what shows nothing is valid
	anomalies              int  // of each kind at most
	spill                  spilling
	workload               workloadFlag

	profileName    string
	mechanismsOnly bool
	profile        *mechanism.Profile // nil: the file's header says
	levelSet       bool
}

func NewCheck(e *console.Env, x *Engine) *cobra.Command {
	f := CheckFlags{unknownStatus: console.StatusUnknown}
	c := console.Command("check", console.Exactly("HISTORY…"), func(c *cobra.Command, args []string) error {
		f.levelSet = c.Flags().Changed("level")
		if err := f.onEngine(); err != nil {
			return err
		}
		if err := errors.Join(console.Crossed(c), f.validateSpill()); err != nil {
			return err
		}
		args = f.loading.Histories(args)
		if err := f.validate(args); err != nil {
			return err
		}
		if f.all {
			return runLattice(c.Context(), e, &f, args)
		}
		return f.around(e, len(args), 1, func() (console.Tally, error) { return f.checkAll(c.Context(), e, args) })
	})
	c.ValidArgsFunction = console.HistoryFiles
	f.spill.engine = x
	f.spill.flags(c)
	levelFlag(c, latticeValue{console.Level(&f.level), &f.all}, ", all or mixed")
	f.workload.flag(c)
	f.judging(c)
	f.loading.Flags(c, "format", "the files")
	f.loading.TogetherFlag(c)
	fl := c.Flags()
	fl.DurationVar(&f.limits.Timeout, "timeout", 0, "time bound for each history")
	fl.Var(console.Size(&f.limits.Memory), "memory", "memory bound, such as 2GiB (default: 9/10 of free memory)")
	fl.BoolVar(&f.json, "json", false, "short for --output json: one object for each history")
	f.output = "text"
	console.DescribedFlag(c, &f.output, "output", "output",
		"form of the answer: text, json, junit, sarif, github", Outputs)
	fl.StringVar(&f.html, "report", "", "write a page that shows the verdict to `FILE.html`")
	fl.StringVar(&f.dot, "dot", "", "write the violation as a Graphviz graph to `FILE.dot`")
	fl.StringVar(&f.certificate, "certificate", "", "write a certificate for isovet verify to `FILE`")
	fl.StringVar(&f.proof, "proof", "", "write the input of isovet-kernel to `FILE`")
	fl.StringVar(&f.shrunk, "shrink", "", "write the smallest history that violates the level to `FILE`")
	fl.IntVar(&f.unknownStatus, "unknown-exit", console.StatusUnknown, "exit status for \"unknown\"")
	fl.IntVar(&f.anomalies, "anomalies", 10, "most examples of each kind of anomaly")
	fl.BoolVar(&f.emptyOK, "empty-ok", false, "call a history without commits or reads valid")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return c
}

// judging adds the flags that say how a history is judged, except for the level.
func (f *CheckFlags) judging(c *cobra.Command) {
	f.judge = checkerFlag{name: console.Auto, text: console.Auto}
	c.Flags().Var(&f.judge, "checker", "checker, with its settings (isovet checkers)")
	console.CompleteDescribed(c, "checker", "checker", console.CheckerNames())
	c.Flags().Var(console.Solver(&f.solver), "solver",
		"a SAT-based checker's solver, or external:COMMAND (isovet solvers)")
	console.CompleteDescribed(c, "solver", "solver", check.SolverNames())
	fl := c.Flags()
	fl.DurationVar(&f.Skew, "clock-skew", 0, "widen client intervals by this at both ends")
	fl.BoolVar(&f.AtStart, "read-only-at-start", false, "timestamps: read-only transactions commit at their start_ts")
	fl.BoolVar(&f.ignore, "ignore-predicates", false, "let checkers without predicates ignore them (\"items:\")")
	fl.StringVar(&f.profileName, "profile", "", "leopard: `DATABASE:LEVEL`, a file, or auto (isovet profiles)")
	console.CompleteDescribed(c, "profile", "profile", ProfileNames())
	fl.BoolVar(&f.mechanismsOnly, "mechanisms-only", false, "leopard: do not search for an order")
}

// Options returns the checker's options for a level and a profile.
func (f *CheckFlags) Options(at level.Level, profile *mechanism.Profile) check.Options {
	return check.Options{Level: at, Solver: f.solver, ClockSkew: f.Skew.Nanoseconds(), ReadOnlyAtStart: f.AtStart,
		IgnorePredicates: f.ignore, Profile: profile, MechanismsOnly: f.mechanismsOnly, Pipeline: f.judge.pipeline}
}

// outcome is the result for one history.
type outcome struct {
	path   string
	result *evidence.Result // nil where there is no answer at all
	err    error
	began  time.Time // the limits count from here
	work   *judged   // of a history of operations, in place of result
}

func (f *CheckFlags) validate(args []string) error {
	switch {
	case f.limits.Timeout < 0:
		return console.Usagef("--timeout %v is negative", f.limits.Timeout)
	case f.anomalies < 0:
		return console.Usagef("--anomalies %d is negative", f.anomalies)
	case f.Skew < 0:
		return console.Usagef("--clock-skew %v is negative", f.Skew)
	case f.unknownStatus < 0 || f.unknownStatus > 255:
		return console.Usagef("--unknown-exit %d is not an exit status; expected 0 to 255", f.unknownStatus)
	}
	f.json = f.json || f.output == "json"
	if f.shrunk != "" {
		if err := console.Writable(f.shrunk, console.Auto, ""); err != nil {
			return console.Usagef("--shrink: %v", err)
		}
	}
	if i := slices.Index(args, "-"); i >= 0 && slices.Contains(args[i+1:], "-") {
		return console.Usagef("standard input is named twice")
	}
	var err error
	if f.profile, err = LoadProfile(f.profileName); err != nil {
		return err
	}
	if f.profile != nil && !f.levelSet {
		f.level = f.profile.Level
	}
	return errors.Join(f.workload.validate(f), f.validateSolver())
}

// checkAll checks histories one after the other and returns their totals.
func (f *CheckFlags) checkAll(ctx context.Context, e *console.Env, args []string) (console.Tally, error) {
	var t console.Tally
	if e.Kept != nil {
		t = e.Kept.First
	}
	if f.needsKeeper(e, args) {
		t, err := f.keep(ctx, e, args, func(k *keeper, cause error) {
			o := f.spillInstead(ctx, e, k.outcome(cause), k.at, len(args))
			o.addTo(&k.tally)
			if err := f.print(e, o, k.at, &k.tally); err != nil {
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
			return t, console.Exit(console.StatusInterrupted,
				fmt.Errorf("interrupted before %s; %d of %d histories were checked", path, i, len(args)))
		}
		p.Begin("checking " + path)
		e.Kept.Begins(i)
		var o outcome
		to := *f
		if work, is := f.workloadOf(ctx, e, path); is {
			o = work
		} else if f.spill.dir != "" {
			var spilled bool
			if o, spilled = f.checkSpilled(ctx, e, path, i, len(args), p); spilled {
				to.certificate = ""
			}
			to.limits.Memory = 0
		} else {
			if o = checkOne(ctx, e, f, path, p, e.Kept.Started(i)); f.spills(ctx, o) {
				p.Hide()
				e.Kept.Leaves(guard.ErrMemory)
			}
		}
		if o.result != nil {
			if err := to.outputs(ctx, e, o, i, len(args)); err != nil {
				o.err = errors.Join(o.err, err)
			}
		}
		if o.work != nil && f.html != "" {
			o.err = errors.Join(o.err, e.WriteFile(console.Numbered(f.html, i, len(args)), func(w io.Writer) error {
				return o.work.HTML(w, path)
			}))
		}
		e.Kept.Answers()
		p.Hide()
		o.addTo(&t)
		if err := f.print(e, o, i, &t); err != nil {
			return t, err
		}
		t.Next = i + 1
		e.Kept.Done(t)
	}
	return t, f.statusOf(&t)
}

// checkOne loads and checks a history within the limits, of which the time started is over already. If it is stopped,
// the verdict is unknown, with everything known by then.
func checkOne(ctx context.Context, e *console.Env, f *CheckFlags, path string, p *console.Progress,
	started time.Duration) outcome {
	var stage atomic.Pointer[string]
	set := func(s string) { stage.Store(&s); e.Kept.Does(s) }
	set("loading")
	began := time.Now().Add(-started)
	limits := f.limits
	limits.Used = started
	// what is known if work is left behind
	known := &evidence.Result{Level: f.level, Checker: f.judge.name, Solver: f.solver}
	var soFar atomic.Pointer[evidence.Result]
	soFar.Store(known)
	r, err := guard.Run(ctx, limits, func() string { return *stage.Load() },
		func(ctx context.Context) (*evidence.Result, error) {
			start := time.Now()
			h, err := console.LoadShown(ctx, path, f.loading, p)
			if err != nil {
				return nil, namesWorkloads(err)
			}
			k := *known
			k.H = h
			k.Stats.Sizes = evidence.SizesOf(h)
			k.Stats.LoadMS = console.Milliseconds(time.Since(start))
			soFar.Store(&k)
			r, err := judgeLoaded(ctx, e, f, &k, set, p)
			if err != nil {
				return nil, err
			}
			if cause := context.Cause(ctx); cause != nil && r.Verdict == evidence.Unknown {
				r.Reason = f.limits.Reason(cause, *stage.Load())
			}
			check.Census(ctx, r, f.Options(r.Level, nil), f.anomalies)
			if f.weigh(r); r.Verdict == evidence.Holds {
				soFar.Store(r)
				set("checking the strict level")
				f.lookStricter(ctx, r, f.Options(r.Level, nil))
			}
			return r, nil
		})
	if stopped, ok := errors.AsType[*guard.StoppedError](err); ok {
		if guard.LeftBehind.Load() {
			e.Kept.Leaves(stopped.Cause)
		}
		k := *soFar.Load()
		if r, err = &k, console.Interrupted(stopped); k.Verdict == evidence.Unknown {
			k.Reason = stopped.Text
		}
	}
	if r != nil && r.Verdict == evidence.Unknown && ctx.Err() != nil && err == nil {
		err = console.Status(console.StatusInterrupted)
	}
	if r != nil && r.Verdict == evidence.Unknown && ctx.Err() == nil && r.Reason == "" {
		err = console.Faultf("checker %s: the verdict is unknown without a reason", r.Checker)
	}
	if r != nil {
		r.Stats.PeakMB = room.PeakMB()
	}
	return outcome{path, r, err, began, nil}
}

// judgeLoaded checks the history in k, and sets the checker's name there. It calls set with the current stage.
func judgeLoaded(ctx context.Context, e *console.Env, f *CheckFlags, k *evidence.Result, set func(string),
	p *console.Progress) (*evidence.Result, error) {
	h := k.H
	at, profile := f.profiled(h)
	k.Level = at
	c, reason := check.Choose(f.judge.name, f.solver, h, at)
	if c == nil {
		k.Reason = reason
		return k, nil
	}
	k.Checker, k.Timestamps = c.Info().Name, c.Info().Timestamps
	e.Kept.SayJSON(console.SaysKnown, knownSoFar{at, k.Checker, k.Solver, k.Timestamps, k.Stats, ""})
	set("checking")
	o := f.Options(at, profile)
	o.Progress = func(s string, done, total int) {
		set("checking (" + s + ")")
		p.Step(s, done, total)
	}
	run := check.Run
	if f.judge.name == console.Auto && f.solver == "" {
		run = check.Decide
	}
	r, err := run(ctx, c, h, o)
	if err != nil {
		return nil, err
	}
	r.Stats.LoadMS = k.Stats.LoadMS
	if !r.Items { // else r is about what is left of h
		r.H = h
	}
	return r, nil
}

// weigh turns a "valid" of a history that shows nothing into "unknown", unless a flag forbids it.
func (f *CheckFlags) weigh(r *evidence.Result) {
	if !f.emptyOK {
		r.Weigh()
	}
}

// outputs writes the requested files within the remaining limits, each atomically.
func (f *CheckFlags) outputs(ctx context.Context, e *console.Env, o outcome, i, n int) error {
	if o.result.H == nil || f.html == "" && f.dot == "" && f.certificate == "" && f.proof == "" && f.shrunk == "" {
		return nil // not even loaded: there is nothing to show
	}
	left := f.limits
	if left.Timeout > 0 { // what was cut off is soon shown, or not
		left.Timeout = max(left.Timeout-time.Since(o.began), guard.Grace/2)
	}
	if left.Memory > 0 && o.result.Verdict == evidence.Unknown {
		left.Memory += left.Memory / 20
	}
	var file atomic.Pointer[string]
	file.Store(&o.path)
	write := func(ctx context.Context, path string, w func(io.Writer) error) error {
		file.Store(&path)
		return e.WriteFile(path, func(to io.Writer) error { return w(format.Stoppable{Ctx: ctx, W: to}) })
	}
	_, err := guard.Run(ctx, left, func() string { return "writing " + *file.Load() },
		func(ctx context.Context) (struct{}, error) {
			var errs []error
			page := func(small string) error {
				return write(ctx, console.Numbered(f.html, i, n), func(w io.Writer) error {
					return report.HTMLWith(w, o.path, o.result,
						report.HTMLOptions{Shrink: f.shrinkCommand(o), Small: small})
				})
			}
			if f.html != "" {
				errs = append(errs, page(""))
			}
			if f.dot != "" {
				errs = append(errs, write(ctx, console.Numbered(f.dot, i, n), func(w io.Writer) error {
					return report.DOT(w, o.result)
				}))
			}
			to := func(file string, w func(io.Writer) error) error {
				return write(ctx, console.Numbered(file, i, n), w)
			}
			errs = append(errs, f.writeCertificate(e, o, to), f.writeProof(ctx, e, o, to))
			if f.shrunk != "" {
				to := console.Numbered(f.shrunk, i, n)
				done, err := f.shrinkTo(ctx, e, o, to)
				errs = append(errs, err)
				if done && f.html != "" && f.html != "-" && ctx.Err() == nil { // the page there says how to get it
					errs = append(errs, page(LinkTo(console.Numbered(f.html, i, n), to)))
				}
			}
			return struct{}{}, errors.Join(errs...)
		})
	if stopped, ok := errors.AsType[*guard.StoppedError](err); ok {
		stopped.Text = strings.Replace(stopped.Text, f.reasonOf(left), f.reasonOf(f.limits), 1)
		return console.Exit(console.StoppedStatus(stopped), fmt.Errorf("%s; it was not written", stopped.Text))
	}
	return err
}

// reasonOf returns the text for a time-out in reasons.
func (f *CheckFlags) reasonOf(l guard.Limits) string { return l.Timeout.String() + " passed" }

// print reports the result for a history: the verdict on standard output, mistakes on standard error.
func (f *CheckFlags) print(e *console.Env, o outcome, i int, t *console.Tally) error {
	e.SayError("isovet", o.err)
	if o.result != nil {
		e.SayNotes(o.path, o.result.H)
		if o.result.H != nil {
			if at, _ := f.named(&o.result.H.Meta); at == o.result.Level && (f.levelSet || own(o.result.H, at) == at) {
				f.sayNamed(e, o.path, &o.result.H.Meta)
			}
			f.sayLevels(e, o.path, o.result.H, o.result.Level)
		}
	}
	it := o.item()
	if o.result != nil {
		it.Answers = []*evidence.Result{o.result}
	}
	if o.work != nil {
		it.Work = &o.work.Work
	}
	t.Totals.Add(it)
	if s, ok := report.NewStream(f.output, console.BuildVersion().Version); ok {
		said := t.Said
		t.Said += it.Findings()
		return s.Item(e.Stdout, i, 1, said, it)
	}
	if o.work != nil && f.json {
		return o.work.json(e.Stdout, o.path)
	}
	if o.work != nil {
		return o.work.text(console.Prose(e.Data), o.path)
	}
	if f.json {
		b, err := resultJSON(f, o)
		if err != nil {
			return err
		}
		_, err = e.Stdout.Write(append(b, '\n'))
		return err
	}
	if o.result == nil {
		return nil
	}
	if o.result.Note != "" && (f.judge.name != console.Auto || o.result.Checker != "mtc" || o.result.Implied) {
		// What a checker notes of its own preconditions is for whoever named it; JSON has it all the same.
		fmt.Fprintf(e.Stderr, "isovet: %s: %s\n", o.path, o.result.Note)
	}
	return report.Text(console.Prose(e.Data), o.path, o.result, report.TextOptions{Color: colored(e.Data)})
}

// addTo adds the result for a history to the totals.
func (o *outcome) addTo(t *console.Tally) {
	s := console.StatusOf(o.err)
	if o.result != nil || o.work != nil {
		switch o.verdict() {
		case evidence.Violated:
			s = console.Worse(s, console.StatusViolation)
		case evidence.Unknown:
			if s == console.StatusOK {
				s, t.Unknown = console.StatusUnknown, true
			}
		}
	}
	t.Worst = console.Worse(t.Worst, s)
}

func (o *outcome) verdict() evidence.Verdict {
	if o.work != nil {
		return o.work.Answer.Verdict
	}
	return o.result.Verdict
}

// statusOf returns the exit status for all histories, as an error.
func (f *CheckFlags) statusOf(t *console.Tally) error {
	if t.Worst == console.StatusUnknown && t.Unknown {
		return console.Status(f.unknownStatus)
	}
	return console.Status(t.Worst)
}
