package histories

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"isovet/history/format"
	"isovet/history/format/native"
	"isovet/history/split"
	"isovet/internal/cli/console"
	"isovet/internal/guard"
)

func NewConvert(e *console.Env) *cobra.Command {
	v := conversion{to: console.Auto, stderr: e.Stderr}
	c := console.Command("convert", func(c *cobra.Command, args []string) error {
		if v.out != "" {
			args = append(args, v.out)
		}
		if v.from.Together && len(args) >= 2 {
			return nil
		}
		return console.Exactly("IN", "OUT")(c, args)
	}, func(c *cobra.Command, args []string) error {
		if err := console.Crossed(c); err != nil {
			return err
		}
		if c.Flags().Changed("shards") && v.shards < 1 {
			return console.Usagef("--shards %d; expected at least 1", v.shards)
		}
		if v.out != "" {
			args = append(args, v.out)
		}
		last := len(args) - 1
		v.in, v.out = v.from.Histories(args[:last])[0], args[last]
		return runConvert(c.Context(), e, &v)
	})
	c.ValidArgsFunction = console.HistoryFiles
	v.from.Flags(c, "from", "IN")
	v.from.TogetherFlag(c)
	console.EnumFlag(c, &v.to, "to", "format", "format of OUT (isovet formats)", console.FormatNames())
	fl := c.Flags()
	fl.StringVarP(&v.out, "out", "o", "", "OUT, as a flag")
	fl.BoolVar(&v.lossy, "lossy", false, "omit what the format of OUT cannot express")
	fl.IntVar(&v.shards, "shards", 0, "write this number of parts to the folder OUT")
	fl.Var(console.Size(&v.shardSize), "shard-size", "write parts of about this size to the folder OUT")
	fl.Var(console.Size(&v.memory), "memory", "convert batch by batch within this memory")
	fl.BoolVarP(&v.quiet, "quiet", "q", false, "show no progress")
	return c
}

func runConvert(ctx context.Context, e *console.Env, v *conversion) error {
	if v.sharded() {
		switch _, can := v.streamEnding(); {
		case v.out == "-":
			return console.Usagef("parts go into a folder, not to standard output; expected OUT")
		case !can:
			return console.Usagef("format %s cannot be written in parts; expected isovet-native or isovet-history",
				v.to)
		case v.in == "-":
			return console.Usagef("convert must read the input twice to divide it, so not from standard input; " +
				"expected a file")
		case v.from.InPieces() != nil:
			return v.from.InPieces()
		}
	} else if err := console.Writable(v.out, v.to, "--to"); err != nil {
		return err
	}
	p := console.NewProgress(e.Stderr, v.quiet, v.out == "-")
	defer p.Close()
	p.Begin("converting " + v.in)
	paths := v.from.Paths(v.in)
	finished := make(chan struct{})
	_, err := guard.Run(ctx, guard.Limits{Memory: v.memory}, func() string { return "converting " + v.in }, func(
		ctx context.Context) (struct{}, error) {
		defer close(finished)
		if v.streams(paths) && v.from.InPieces() == nil {
			err := v.stream(ctx, e, paths, p)
			if !v.inMemoryAfter(err) {
				return struct{}{}, err
			}
			fmt.Fprintf(e.Stderr, "isovet: %v: converted in memory\n", err)
		}
		h, err := console.LoadHistory(ctx, v.in, v.from)
		if err != nil {
			return struct{}{}, err
		}
		p.Hide()
		e.SayNotes(v.in, h)
		return struct{}{}, format.WriteContext(ctx, v.out, h, v.to, v.lossy)
	})
	console.Cleaned(finished)
	return console.OrInterrupted(err, "converting "+v.in+"; nothing was written")
}

// inMemoryAfter reports whether a conversion that failed batch by batch is tried in memory: unless the user requested
// parts or a bound.
func (v *conversion) inMemoryAfter(err error) bool {
	_, order := errors.AsType[*split.OrderError](err)
	_, lists := errors.AsType[*native.MixedError](err)
	return (order || lists) && !v.sharded() && v.memory == 0
}
