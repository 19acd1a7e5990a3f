package benches

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/bench"
	"isovet/internal/cli/console"
)

// NewGrid returns the command bench grid. decode reads a plan of YAML; programs without YAML do not have the command.
func NewGrid(e *console.Env, decode func(file string, plan any) error) *cobra.Command {
	f := compareFlags{}
	c := console.Command("grid", console.Exactly("FILE"), func(c *cobra.Command, args []string) error {
		plan := bench.Plan{Txns: []int{10000}, Seeds: []uint64{1}, Checkers: []string{"all"},
			Timeouts: []time.Duration{defaultRunTimeout}, Isolation: "serializable", Sessions: 24}
		if err := decode(args[0], &plan); err != nil {
			return console.Usagef("%v", err)
		}
		return f.grid(c.Context(), e, &plan)
	})
	fl := c.Flags()
	fl.StringVar(&f.tidy, "tidy", "", "CSV `FILE` with a row for each run")
	fl.StringVar(&f.plot, "plot", "", "draw the times with their intervals in `FILE`.svg")
	fl.BoolVar(&f.markdown, "markdown", false, "print a Markdown table")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return c
}

func (f *compareFlags) grid(ctx context.Context, e *console.Env, plan *bench.Plan) error {
	if !strings.HasSuffix(f.tidy, ".csv") {
		return console.Usagef("--tidy %q is no file for the runs; expected a name that ends in .csv", f.tidy)
	}
	if err := f.validateOutputs(); err != nil {
		return err
	}
	lab, err := f.prepare(ctx, e, false)
	if err != nil {
		return err
	}
	defer lab.Close()
	rows, mixed, err := plan.Run(ctx, f.tidy, lab.dir, bench.Options{Self: lab.self, Progress: lab.progress.Step})
	interrupted, err := lab.ended(ctx, err)
	if err != nil {
		return console.Usagef("%v", err)
	}
	medians := bench.Medians(rows)
	if err := errors.Join(bench.WriteTable(e.Stdout, medians, f.markdown), f.writePlot(e, medians)); err != nil {
		return err
	}
	if mixed {
		fmt.Fprintln(e.Stderr, "isovet: note: some runs are of another machine or commit; medians mix them")
	}
	worst := Conclude(e, rows)
	if interrupted {
		return console.Exit(console.StatusInterrupted, fmt.Errorf("interrupted: %d runs are in %s; the same command "+
			"continues", len(rows), f.tidy))
	}
	return console.Status(worst)
}
