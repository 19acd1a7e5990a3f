package benches

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/bench"
	"isovet/internal/cli/console"
	"isovet/internal/guard"
	"isovet/internal/slice"
)

type reproduceFlags struct {
	all, list, page, quick, full bool
	out                          string
	seed                         uint64
	timeout                      time.Duration
	noServers, resume            bool
	memory                       int64
	quiet                        bool
}

func newReproduce(e *console.Env) *cobra.Command {
	f := reproduceFlags{}
	c := console.Command("reproduce", nil, func(c *cobra.Command, args []string) error {
		if f.list {
			if len(args) > 0 {
				return console.Usagef("--list lists all figures; leave the names out")
			}
			return bench.WriteFigureList(e.Stdout, bench.Figures())
		}
		if !bench.HasCharts() {
			return console.Usagef("this program cannot draw charts; reproduce needs the full isovet")
		}
		if f.page {
			if len(args) > 0 {
				return console.Usagef("--page shows all measured figures; leave the names out")
			}
			if err := bench.SaveIndex(f.out); err != nil {
				return console.Usagef("%v", err)
			}
			fmt.Fprintf(e.Stdout, "%s\n", filepath.Join(f.out, bench.IndexName))
			return nil
		}
		args, err := f.figures(args)
		if err != nil {
			return err
		}
		if f.quick && !c.Flags().Changed("out") {
			f.out = filepath.Join(f.out, "quick")
		}
		return runReproduce(c.Context(), e, &f, args)
	})
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		ids := slice.Map(bench.Figures(), func(g bench.Figure) string { return g.ID + "\t" + g.Title })
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
	fl := c.Flags()
	fl.BoolVar(&f.list, "list", false, "list the figures")
	fl.BoolVar(&f.all, "all", false, "measure the figures of all papers")
	fl.BoolVar(&f.quick, "quick", false, "use small histories: ten minutes for all figures")
	fl.BoolVar(&f.full, "full", false, "use the paper's sizes and time-outs")
	fl.BoolVar(&f.page, "page", false, "only write index.html over all results")
	c.MarkFlagsMutuallyExclusive("quick", "full", "list", "page")
	c.MarkFlagsMutuallyExclusive("all", "list", "page")
	fl.StringVar(&f.out, "out", filepath.Join("bench", "results"), "write results to `FOLDER`/PAPER")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the generated histories")
	fl.DurationVar(&f.timeout, "timeout", 0, "time bound of a run (default: 20s; --quick 1s, --full 10m)")
	fl.BoolVar(&f.resume, "resume", false, "continue interrupted figures")
	fl.Var(console.Size(&f.memory), "memory", "memory bound of a run (default: 7/8 of the machine)")
	fl.BoolVar(&f.noServers, "no-servers", false, "start no database servers")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return c
}

// figures returns the names of the figures to measure: the given ones, or all.
func (f *reproduceFlags) figures(args []string) ([]string, error) {
	switch {
	case f.all && len(args) > 0:
		return nil, console.Usagef("--all measures the figures of all papers; leave the names out")
	case f.all:
		papers := slice.Filter(bench.Figures(), func(g bench.Figure) bool { return !g.Own })
		args = append(args, slice.Map(papers, func(g bench.Figure) string { return g.ID })...)
	case len(args) == 0:
		return nil, console.Usagef("which figure? isovet bench reproduce --list names them all, --all measures all")
	}
	return args, nil
}

func runReproduce(ctx context.Context, e *console.Env, f *reproduceFlags, args []string) error {
	if f.timeout < 0 {
		return console.Usagef("--timeout %v is negative", f.timeout)
	}
	figures, err := bench.LookupFigures(args)
	if err != nil {
		return console.Usagef("%v", err)
	}
	self, err := program(e)
	if err != nil {
		return err
	}
	o := bench.ReproduceOptions{Seed: f.seed, Timeout: f.timeout, Out: f.out, Self: self, NoServers: f.noServers,
		Resume: f.resume, Memory: cmp.Or(f.memory, guard.MachineMemory()/8*7), Command: CommandLine(os.Args)}
	switch {
	case f.quick:
		o.Scale = bench.QuickScale
	case f.full:
		o.Scale = bench.FullScale
	}
	p := console.NewProgress(e.Stderr, f.quiet, false)
	defer p.Close()
	o.Progress = func(what string, done, total int) { p.Step(what, done, total) }
	p.Begin("")
	reports, err := bench.Reproduce(ctx, figures, o)
	p.Hide()
	worst := console.StatusOK
	for i, r := range reports {
		if i > 0 {
			fmt.Fprintln(e.Stdout)
		}
		if err := r.WriteText(e.Stdout, false); err != nil {
			return err
		}
		for _, fault := range r.Faults() {
			fmt.Fprintf(e.Stderr, "isovet: %s\n", fault)
			worst = console.Worse(worst, console.StatusFault)
		}
	}
	if !f.quiet && len(reports) > 0 {
		fmt.Fprintf(e.Stderr, "results: %s\n", filepath.Dir(reports[0].Path(f.out)))
	}
	if err != nil && ctx.Err() != nil {
		done := slice.Count(reports, func(r *bench.Report) bool { return r.Complete })
		return console.Exit(console.StatusInterrupted,
			fmt.Errorf("interrupted: %d of %d figures are complete; --resume measures the rest", done, len(figures)))
	}
	if err != nil {
		return err
	}
	if worst != console.StatusOK {
		fmt.Fprintln(e.Stderr, console.ReportPlease)
	}
	return console.Status(worst)
}

// CommandLine returns the command line for results. It omits what is private to this machine: the folder of the
// program and that of the results.
func CommandLine(args []string) string {
	words := []string{filepath.Base(args[0])}
	for i := 1; i < len(args); i++ {
		switch name, _, joined := strings.Cut(args[i], "="); {
		case name != "--out":
			words = append(words, args[i])
		case !joined:
			i++
		}
	}
	return strings.Join(words, " ")
}
