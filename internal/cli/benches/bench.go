// Package benches has the commands below bench: compare, grid, reproduce.
package benches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/bench"
	"isovet/check"
	"isovet/check/timestamp"
	"isovet/evidence"
	"isovet/internal/cli/console"
	"isovet/internal/cli/workloads"
	"isovet/internal/escape"
	"isovet/internal/plural"
	"isovet/internal/slice"
	"isovet/level"
)

// Main runs bench as a program of its own and returns its exit status.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return console.Run(args, stdin, stdout, stderr, func(e *console.Env) *cobra.Command {
		root := NewBench(e)
		root.AddCommand(NewRun(e))
		console.SetUp(root, e)
		return root
	})
}

// NewBench returns the command bench.
func NewBench(e *console.Env) *cobra.Command {
	c := console.Command("bench", nil, nil)
	c.AddCommand(newCompare(e), newReproduce(e))
	return c
}

// NewRun returns the hidden command for a single run, which bench compare starts.
func NewRun(e *console.Env) *cobra.Command {
	return &cobra.Command{
		Use: bench.ChildCommand, Hidden: true, Args: console.Exactly("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			var r bench.Run
			if err := json.Unmarshal([]byte(args[0]), &r); err != nil {
				return console.Usagef("%s: %v", bench.ChildCommand, err)
			}
			return bench.Child(c.Context(), r, e.Stdin, e.Stdout)
		},
	}
}

// defaultRunTimeout ends runs of hopeless contenders soon. Users who want to wait must set a longer one.
const defaultRunTimeout = 30 * time.Second

type compareFlags struct {
	ignore              bool // predicates, where a checker knows none
	gen                 workloads.GenFlags
	variant             string
	level               level.Level
	checkers            string
	repeat              int
	timeout, skew       time.Duration
	history             []string
	json, markdown, csv bool
	out                 string
	quiet               bool

	programs []string // other checkers
	tidy     string   // a file for the runs
	plot     string   // a file for a chart

	// The values of choices that contenders leave open, separated by commas.
	vary map[string]*string
	one  bool
}

func newCompare(e *console.Env) *cobra.Command {
	f := compareFlags{}
	// --history a b: the words after the first are histories too
	c := console.Command("compare", cobra.ArbitraryArgs, func(c *cobra.Command, args []string) error {
		if len(args) > 0 && len(f.history) == 0 {
			return console.Usagef("unexpected argument %q; histories are given with --history FILE", args[0])
		}
		f.history = append(f.history, args...)
		if err := console.Crossed(c); err != nil {
			return err
		}
		return runCompare(c.Context(), e, &f)
	})
	f.gen.Add(c)
	console.LevelFlag(c, &f.level)
	fl := c.Flags()
	fl.StringVar(&f.checkers, "checkers", "all", "checkers, with solver and settings: vbox,cobra:gini")
	f.variation(c)
	fl.StringArrayVar(&f.programs, "program", nil, "another checker, `NAME=COMMAND` with {history} for the file")
	fl.DurationVar(&f.skew, "clock-skew", 0, "widen client intervals by this at both ends")
	fl.BoolVar(&f.ignore, "ignore-predicates", false, "let checkers without predicates ignore them")
	f.measuring(c)
	fl.StringVar(&f.plot, "plot", "", "draw the times with their intervals in `FILE`.svg")
	return c
}

// variation adds the flags that vary the choices that contenders leave open.
func (f *compareFlags) variation(c *cobra.Command) {
	f.vary = map[string]*string{}
	choices := append(check.Settings(), check.Setting{Name: check.ChoiceSolver, Values: check.SolverNames()},
		check.Setting{Name: check.ChoiceTheory, Values: check.Theories()})
	for _, s := range choices {
		what := s.Name + "s"
		switch s.Name {
		case check.SettingTechnique:
			what += " to leave out"
		case check.ChoiceTheory:
			what = "acyclicity theories"
		case "phase":
			what = "first values of variables"
		case "at-most-one":
			what = "at-most-one clauses (off, on)"
		}
		f.vary[s.Name] = c.Flags().String(s.Name, "", "list of "+what+", or all (default: the checker's)")
		console.Complete(c, s.Name, append([]string{"all"}, s.Values...))
	}
	c.Flags().BoolVar(&f.one, "one-at-a-time", false, "vary one choice at a time, from the first of each list")
}

// measuring adds the flags of histories, repeats, time-out and output.
func (f *compareFlags) measuring(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.variant, "variant", "", "the workload's variant, or all (default: its first)")
	fl.IntVar(&f.repeat, "repeat", 5, "runs of each checker; times are medians")
	fl.DurationVar(&f.timeout, "timeout", defaultRunTimeout, "time bound of a run with loading; 0: none")
	fl.StringArrayVar(&f.history, "history", nil, "measure on this `FILE`; repeat it for more")
	fl.BoolVar(&f.json, "json", false, "print one JSON array")
	fl.BoolVar(&f.markdown, "markdown", false, "print a Markdown table")
	fl.BoolVar(&f.csv, "csv", false, "print comma-separated values")
	c.MarkFlagsMutuallyExclusive("json", "markdown", "csv")
	fl.StringVar(&f.out, "out", "", "write raw results and the machine's data to `FOLDER`")
	fl.StringVar(&f.tidy, "tidy", "", "write a row for each run to `FILE`: .parquet, else CSV")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
}

// writePlot draws the comparison if --plot is set.
func (f *compareFlags) writePlot(e *console.Env, rows []bench.Row) error {
	if f.plot == "" {
		return nil
	}
	return e.WriteFile(f.plot, func(w io.Writer) error { return bench.WritePlot(w, rows) })
}

func (f *compareFlags) validate() error {
	if err := errors.Join(workloads.PartVariant(&f.gen.Spec.Workload, &f.variant), f.gen.Finish()); err != nil {
		return err
	}
	switch {
	case f.repeat < 1:
		return console.Usagef("--repeat %d; expected at least 1", f.repeat)
	case f.timeout < 0:
		return console.Usagef("--timeout %v is negative", f.timeout)
	case f.skew < 0:
		return console.Usagef("--clock-skew %v is negative", f.skew)
	}
	return f.validateOutputs()
}

// others returns the programs of --program, whose names differ from the contenders'.
func (f *compareFlags) others(contenders []bench.Contender) (programs []bench.Program, err error) {
	if programs, err = slice.Try(f.programs, bench.ParseProgram); err == nil {
		err = bench.Distinct(programs, contenders)
	}
	if err != nil {
		return nil, console.Usagef("--program: %v", err)
	}
	return programs, nil
}

func runCompare(ctx context.Context, e *console.Env, f *compareFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	all := slices.ContainsFunc(strings.Split(f.checkers, ","), func(w string) bool {
		w = strings.TrimSpace(w)
		return w == "all" || strings.HasPrefix(w, "all:")
	})
	if all && f.gen.Spec.DBTimes && slices.Contains(timestamp.Levels(), f.level) {
		f.checkers += ",timestamps" // there is something to trust
	}
	vary := bench.Variation{Values: map[string][]string{}, OneAtATime: f.one}
	for choice, list := range f.vary {
		if *list != "" {
			vary.Values[choice] = slice.Map(strings.Split(*list, ","), strings.TrimSpace)
		}
	}
	if f.one && slices.IndexFunc(bench.VariedChoices(), func(c string) bool { return *f.vary[c] != "" }) < 0 {
		return console.Usagef("--one-at-a-time: no choice is varied; expected some, such as --encoding all")
	}
	contenders, err := bench.ContendersWith(f.checkers, f.level, vary)
	if err != nil {
		return console.Usagef("--checkers: %v", err)
	}
	programs, err := f.others(contenders)
	if err != nil {
		return err
	}
	lab, err := f.prepare(ctx, e, true)
	if err != nil {
		return err
	}
	defer lab.Close()
	if all && len(f.history) > 0 && slices.Contains(timestamp.Levels(), f.level) && f.stamped(ctx, e, lab) {
		// what could go wrong has gone wrong above
		contenders, _ = bench.ContendersWith(f.checkers+",timestamps", f.level, vary)
		if err := bench.Distinct(programs, contenders); err != nil {
			return console.Usagef("--program: %v", err)
		}
	}
	rows, err := bench.Compare(ctx, lab.sources, bench.Options{
		Level: f.level, Contenders: contenders, Repeat: f.repeat, Timeout: f.timeout, ClockSkew: f.skew,
		IgnorePredicates: f.ignore, Programs: programs, Self: lab.self, Progress: lab.progress.Step,
	})
	interrupted, err := lab.ended(ctx, err)
	if err != nil {
		return err
	}
	if err := f.print(e, lab.sources, rows); err != nil {
		return err
	}
	tidy := func(w io.Writer) error { return bench.WriteTidy(w, f.tidy, bench.Observations(rows)) }
	if f.tidy != "" {
		err = e.WriteFile(f.tidy, tidy)
	}
	if err == nil {
		err = f.writePlot(e, rows)
	}
	if err != nil {
		return err
	}
	if f.out != "" && len(rows) > 0 {
		path, err := bench.WriteResults(f.out, CommandLine(os.Args), f.gen.Spec.Seed, !interrupted, rows)
		if err != nil {
			return err
		}
		if !f.quiet {
			fmt.Fprintf(e.Stderr, "raw results: %s\n", path)
		}
	}
	worst := Conclude(e, rows)
	if interrupted {
		complete := slice.Count(rows, func(r bench.Row) bool {
			return r.Repeat == f.repeat || r.Verdict == evidence.Unknown // all its runs
		})
		return console.Exit(console.StatusInterrupted, fmt.Errorf("interrupted: %d of %d rows are complete", complete,
			len(lab.sources)*(len(contenders)+len(programs))))
	}
	return console.Status(worst)
}

// stamped reports whether some history has the database's timestamps, by running a checker that trusts them. For the
// others it says why such a checker cannot decide.
func (f *compareFlags) stamped(ctx context.Context, e *console.Env, l *lab) (any bool) {
	probe, err := bench.Contenders("chronos", f.level)
	if err != nil {
		return false
	}
	for _, s := range l.sources {
		rows, err := bench.Compare(ctx, []bench.Source{s}, bench.Options{Level: f.level, Contenders: probe, Repeat: 1,
			Timeout: f.timeout, ClockSkew: f.skew, IgnorePredicates: f.ignore, Self: l.self, Progress: l.progress.Step})
		switch {
		case err != nil || len(rows) == 0: // the comparison will say so
		case rows[0].Verdict == evidence.Unknown && strings.Contains(rows[0].Reason, "needs its timestamps"):
			l.progress.Hide()
			fmt.Fprintf(e.Stderr, "isovet: note: %s: no checkers that trust timestamps: %s\n", s.Name(), rows[0].Reason)
		default:
			any = true
		}
	}
	return any
}

// Conclude reports faults of isovet and disagreements between checkers, and returns the exit status.
func Conclude(e *console.Env, rows []bench.Row) int {
	worst := console.StatusOK
	for i := range rows {
		if r := &rows[i]; r.Fault != "" {
			fmt.Fprintf(e.Stderr, "isovet: %s: %s\n", r.Contender(), r.Fault)
			worst = console.Worse(worst, console.StatusFault)
		}
	}
	for _, d := range bench.Differences(rows) {
		fmt.Fprintf(e.Stderr, "isovet: note: %s\n", d)
	}
	for _, d := range bench.Disagreements(rows) {
		fmt.Fprintf(e.Stderr, "isovet: DISAGREEMENT: %v\n", d)
		worst = console.Worse(worst, console.StatusViolation)
	}
	own := slices.DeleteFunc(slices.Clone(rows), func(r bench.Row) bool { return r.Program })
	switch {
	case worst == console.StatusOK:
	case worst == console.StatusFault || len(bench.Disagreements(own)) > 0:
		fmt.Fprintln(e.Stderr, console.ReportPlease)
	default:
		fmt.Fprintln(e.Stderr, ProgramDiffers)
	}
	return worst
}

// ProgramDiffers is the message if only a program of --program disagrees.
const ProgramDiffers = "isovet's own checkers agree, and certificates prove their answers: so the program is wrong, " +
	"if it answers the same question at the same level, or isovet misreads its exit status."

// lab has what measurements need: the histories, the program, which runs each checker in a process of its own, and a
// temporary folder.
type lab struct {
	self     []string
	dir      string
	sources  []bench.Source
	progress *console.Progress
}

// prepare makes a lab and, if asked for, finds or generates the histories.
func (f *compareFlags) prepare(ctx context.Context, e *console.Env, histories bool) (*lab, error) {
	self, err := program(e)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "isovet-bench-")
	if err != nil {
		return nil, err
	}
	l := &lab{self: self, dir: dir, progress: console.NewProgress(e.Stderr, f.quiet, f.json)}
	if !histories {
		return l, nil
	}
	if l.sources, err = f.sources(ctx, l.progress, l.dir); err != nil {
		l.Close()
		return nil, console.OrInterrupted(err, "generating; nothing was measured")
	}
	l.progress.Begin("")
	return l, nil
}

// program returns the program whose processes measure, with its first arguments. It is nil if this process does.
func program(e *console.Env) ([]string, error) {
	if e.Alone {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, console.Faultf("cannot find the program itself: %w", err)
	}
	return []string{self}, nil
}

func (l *lab) Close() {
	l.progress.Close()
	os.RemoveAll(l.dir)
}

// ended distinguishes an interruption, after which there are results, from other errors.
func (l *lab) ended(ctx context.Context, err error) (interrupted bool, _ error) {
	l.progress.Hide()
	if _, bad := errors.AsType[*bench.BadHistory](err); bad {
		return false, console.Usagef("%v", err)
	}
	if err != nil && ctx.Err() != nil {
		return true, nil
	}
	return false, err
}

// sources returns the histories. It writes generated ones to dir.
func (f *compareFlags) sources(ctx context.Context, p *console.Progress, dir string) ([]bench.Source, error) {
	var out []bench.Source
	for i, path := range f.history {
		s := bench.Source{File: path, Path: path}
		if path == "-" {
			s.Path = fmt.Sprintf("%s/stdin-%d", dir, i)
			if err := console.CopyStdin(s.Path); err != nil {
				return nil, err
			}
		}
		out = append(out, s)
	}
	if len(out) > 0 {
		return out, nil
	}
	variants, err := bench.Variants(f.gen.Spec.Workload, f.variant)
	if err != nil {
		return nil, console.Usagef("%v", err)
	}
	for _, v := range variants {
		spec := f.gen.Spec
		spec.Variant = v
		p.Begin("generating " + spec.Workload + " " + v)
		s, err := bench.Generate(ctx, spec, dir)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (f *compareFlags) print(e *console.Env, sources []bench.Source, rows []bench.Row) error {
	switch {
	case f.json:
		return bench.WriteJSON(e.Stdout, rows)
	case f.csv:
		return bench.WriteCSV(e.Stdout, rows)
	}
	if len(rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(e.Stdout, "%s\n\n", f.caption(sources, rows)); err != nil {
		return err
	}
	return bench.WriteTable(e.Stdout, rows, f.markdown)
}

func (f *compareFlags) caption(sources []bench.Source, rows []bench.Row) string {
	s := strings.Join(slice.Map(sources, bench.Source.Name), ", ")
	if f.markdown {
		s = strings.Join(slice.Map(sources, func(s bench.Source) string { return escape.Markdown(s.Name()) }), ", ")
	}
	r := &rows[0]
	switch {
	case len(sources) > 1 && sources[0].File == "":
		s += ": " + plural.Of(r.Txns, "transaction") + " each, " + plural.Of(r.Sessions, "session")
	case len(sources) == 1:
		s += fmt.Sprintf(": %s, %s, %s, %s", plural.Of(r.Txns, "transaction"), plural.Of(r.Ops, "operation"),
			plural.Of(r.Sessions, "session"), plural.Of(r.Keys, "key"))
	}
	if sources[0].File == "" {
		s += fmt.Sprintf(", %s store, seed %d", f.gen.Spec.Isolation, f.gen.Spec.Seed)
	}
	return s + fmt.Sprintf("; checked at %s; %s, %s", f.level, runtime.Version(), plural.Of(runtime.NumCPU(), "core"))
}
