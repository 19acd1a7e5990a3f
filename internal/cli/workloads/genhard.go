package workloads

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"isovet/datasets/hard"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/cli/console"
	"isovet/internal/guard"
)

// hardTakes are the flags that are allowed with --hard; --anomaly allows them except for the two about drawing.
var hardTakes = map[string]bool{"txns": true, "seed": true, "out": true, "format": true, "memory": true,
	"json": true, "quiet": true}

// manyHard is the number of transactions above which the size of a formula is probably a mistake.
const manyHard = 1e6

// runGenHard writes a history of a hard family, or an anomaly.
func runGenHard(c *cobra.Command, e *console.Env, g *GenFlags, o genOut) error {
	flag, name, what, lookup := "hard", o.hard, "family", hard.Lookup
	if c.Flags().Changed("anomaly") {
		flag, name, what, lookup = "anomaly", o.anomaly, "anomaly", hard.Anomaly
	}
	var other error
	c.Flags().Visit(func(f *pflag.Flag) {
		drawn := f.Name == "txns" || f.Name == "seed"
		if f.Name != flag && (!hardTakes[f.Name] || drawn && flag == "anomaly") {
			other = console.Usagef("--%s %s and --%s contradict each other: the %s decides that; leave one out", flag,
				name, f.Name, what)
		}
	})
	if other != nil {
		return other
	}
	in, err := lookup(name)
	if err != nil {
		return console.Usagef("--%s: %v", flag, err)
	}
	size := 0
	if c.Flags().Changed("txns") {
		if size = g.Spec.Txns; size < 1 {
			return console.Usagef("--txns %d; expected at least 1", size)
		}
	}
	switch {
	case o.file == "":
		return console.Usagef("-o FILE is missing; -o - writes to standard output")
	case o.json && o.file == "-":
		return console.Usagef("--json and -o - both write to standard output; choose one")
	case console.Folderish(o.file):
		return console.Usagef("-o %s is a folder; expected a file", o.file)
	}
	if err := console.Writable(o.file, o.format, "--format"); err != nil {
		return err
	}
	if n, unit := in.Txns(size); n > manyHard && unit != "transactions" && !o.quiet {
		fmt.Fprintf(e.Stderr, "isovet: warning: --txns %d is the number of %s of %s: this makes %.3g million "+
			"transactions\n", size, unit, in.Name, n/1e6)
	}
	start := time.Now()
	h, err := guard.Run(c.Context(), guard.Limits{Memory: o.memory}, func() string { return "generating" },
		func(ctx context.Context) (*history.History, error) {
			h, err := in.Build(ctx, size, g.Spec.Seed)
			if err != nil {
				return nil, err
			}
			h.Meta.Name, h.Meta.Note = in.Name, in.About+said(in)
			return h, format.WriteContext(ctx, o.file, h, o.format, false)
		})
	if err != nil {
		return console.OrInterrupted(err, "generating; nothing was written")
	}
	return o.say(e, genSummary{File: o.file, Name: h.Meta.Name, Note: h.Meta.Note, Txns: h.NumTxns(), Ops: h.NumOps(),
		Sessions: h.NumSessions(), Keys: h.NumKeys(), Seed: g.Spec.Seed,
		GenMS: console.Milliseconds(time.Since(start))})
}

// said returns what is known about a family's verdicts.
func said(in *hard.Instance) string {
	switch {
	case in.Valid:
		return fmt.Sprintf("; satisfies %s", in.Level)
	case in.Violates:
		return fmt.Sprintf("; violates %s", in.Level)
	}
	return ""
}
