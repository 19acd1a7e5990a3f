package benches

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/bench"
	"isovet/check"
	"isovet/internal/cli/console"
)

type ablateFlags struct {
	compare compareFlags // which histories, and how the rows are printed
	one     bool
	// The values to try of each choice, separated by commas; "all" means all.
	closure, pruning, encoding, theory, phase, solver, atMostOne, technique string
}

// ablateTxns is so small that the whole grid, some six hundred runs, takes less than a minute.
const ablateTxns = 1000

func newAblate(e *console.Env) *cobra.Command {
	f := ablateFlags{}
	c := console.Command("ablate", cobra.ArbitraryArgs, func(c *cobra.Command, args []string) error {
		if err := f.compare.takeHistories(c, args); err != nil {
			return err
		}
		return runAblate(c.Context(), e, &f)
	})
	g := &f.compare
	g.gen.Add(c)
	g.gen.Spec.Txns = ablateTxns
	console.LevelFlag(c, &g.level)
	fl := c.Flags()
	fl.Lookup("txns").DefValue = fmt.Sprint(ablateTxns)
	fl.StringVar(&f.closure, "closure", "all", "list of closures, or all")
	fl.StringVar(&f.pruning, "pruning", "all", "list of prunings, or all")
	fl.StringVar(&f.encoding, "encoding", "all", "list of encodings, or all")
	fl.StringVar(&f.theory, "theory", "all", "list of theories that keep the graph acyclic, or all")
	fl.StringVar(&f.phase, "phase", "all", "list of first values of variables, or all")
	fl.StringVar(&f.solver, "solver", "all", "list of solvers, or all")
	fl.StringVar(&f.atMostOne, "at-most-one", "off", "at-most-one clauses of predicates: off, on, all")
	fl.StringVar(&f.technique, "technique", "", "list of techniques to leave out, or all (default: none)")
	fl.BoolVar(&f.one, "one-at-a-time", false, "vary one choice at a time, from the first of each list")
	g.measuring(c, 1, 10*time.Second)
	return c
}

// words splits a list at commas. It returns nil, which means all, for "all".
func words(list string) []string {
	if strings.TrimSpace(list) == "all" {
		return nil
	}
	return varied(list)
}

func runAblate(ctx context.Context, e *console.Env, f *ablateFlags) error {
	g := &f.compare
	if err := g.validate(); err != nil {
		return err
	}
	if _, err := bench.Contenders("vbox", g.level); err != nil {
		return console.Usagef("%v", err)
	}
	cells, grid, err := f.cells()
	if err != nil {
		return err
	}
	lab, err := g.prepare(ctx, e, true)
	if err != nil {
		return err
	}
	defer lab.Close()
	rows, err := bench.Ablate(ctx, lab.sources, bench.AblateOptions{Level: g.level, Grid: grid, Repeat: g.repeat,
		Timeout: g.timeout, Self: lab.self, Progress: lab.progress.Step})
	interrupted, err := lab.ended(ctx, err)
	if err != nil {
		return err
	}
	if err := printAblation(e, g, lab.sources, rows); err != nil {
		return err
	}
	if err := g.writeTidy(e, bench.AblationObservations(rows)); err != nil {
		return err
	}
	if g.out != "" && len(rows) > 0 {
		path, err := bench.WriteAblationResults(g.out, commandLine(os.Args), g.gen.Spec.Seed, !interrupted, rows)
		if err := g.wrote(e, path, err); err != nil {
			return err
		}
	}
	worst := console.StatusOK
	for i := range rows {
		if r := &rows[i]; r.Fault != "" {
			fmt.Fprintf(e.Stderr, "isovet: %s: %s\n", r.Cell, r.Fault)
			worst = console.Worse(worst, console.StatusFault)
		}
	}
	for _, d := range bench.AblateDisagreements(rows) {
		fmt.Fprintf(e.Stderr, "isovet: DISAGREEMENT: %s\n", d)
		worst = console.Worse(worst, console.StatusViolation)
	}
	if worst != console.StatusOK {
		fmt.Fprintln(e.Stderr, console.ReportPlease)
	}
	if interrupted {
		return console.Exit(console.StatusInterrupted, fmt.Errorf("interrupted: measured %d of %d combinations",
			len(rows),
			len(cells)*len(lab.sources)))
	}
	return console.Status(worst)
}

// cells returns the requested combinations.
func (f *ablateFlags) cells() (cells []bench.Cell, grid bench.Grid, err error) {
	grid = bench.Grid{Closures: words(f.closure), Prunings: words(f.pruning), Encodings: words(f.encoding),
		Theories: words(f.theory),
		Phases:   words(f.phase), Backends: words(f.solver), AtMostOnes: words(f.atMostOne), OneAtATime: f.one}
	if f.technique == "all" {
		grid.Techniques = check.Techniques()
	} else {
		grid.Techniques = words(f.technique)
	}
	if grid.AtMostOnes == nil {
		grid.AtMostOnes = check.AtMostOnes()
	}
	cells, err = grid.Cells()
	if err != nil {
		return nil, grid, console.Usagef("%v", err)
	}
	if len(cells) == 0 {
		return nil, grid, console.Usagef("no combination is possible: the theories \"closure\" and \"order\" need " +
			"the solver \"cdcl\", \"eager\" needs the encoding \"order\"")
	}
	return cells, grid, nil
}

func printAblation(e *console.Env, g *compareFlags, sources []bench.Source, rows []bench.AblateRow) error {
	switch {
	case g.json:
		return bench.WriteAblationJSON(e.Stdout, rows)
	case g.csv:
		return bench.WriteAblationCSV(e.Stdout, rows)
	}
	if len(rows) == 0 {
		return nil
	}
	plain := make([]bench.Row, len(rows))
	for i := range rows {
		plain[i] = rows[i].Row
	}
	fmt.Fprintf(e.Stdout, "%s\n\n", g.caption(sources, plain))
	return bench.WriteAblation(e.Stdout, rows, g.markdown)
}
