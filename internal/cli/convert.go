package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"isovet/history/format"
	"isovet/history/format/native"
	"isovet/history/split"
)

func newConvert(e *env) *cobra.Command {
	v := conversion{to: auto, stderr: e.stderr}
	c := &cobra.Command{
		Use: "convert [flags] IN OUT", GroupID: "work",
		Short: "Convert a history between formats",
		Long: `convert reads a history in one format and writes it in another. If the other format cannot hold something, convert
fails and names it; --lossy drops it. "-" is standard input or output. The ending of OUT gives its format; .gz and .zst
at its end compress it. Standard output, and a file without an ending, get JSON lines. For any other ending --to must
name the format.

With --shards N or --shard-size SIZE, OUT is a folder of parts: native files, or JSON lines (--to isovet-history). Parts,
files of 512 MiB and more, and all files where --memory says how much there is, are converted batch by batch from and to
these two formats, in memory that does not grow with the history but for what a native file needs until it is written:
some 25 bytes for each version in it.

Related: isovet formats lists the formats and which of them can be written.`,
		Example: `  isovet convert h.jsonl.zst h.jsonl
  isovet convert - h.jsonl.gz < h.jsonl
  isovet convert --lossy h.jsonl history.bincode
  isovet convert --shard-size 1GiB big.jsonl.zst big/
  isovet convert --together 'day-*.jsonl' week.ivh`,
		Args: func(c *cobra.Command, args []string) error {
			if v.out != "" {
				args = append(args, v.out)
			}
			if v.from.together && len(args) >= 2 {
				return nil
			}
			return exactly("IN", "OUT")(c, args)
		},
		ValidArgsFunction: historyFiles,
		RunE: func(c *cobra.Command, args []string) error {
			fl := c.Flags()
			switch {
			case fl.Changed("shards") && v.shards < 1:
				return usagef("--shards %d; expected at least 1", v.shards)
			case v.shards > 0 && v.shardSize > 0:
				return usagef("--shards and --shard-size both say where to cut; expected one of them")
			}
			if v.out != "" {
				args = append(args, v.out)
			}
			last := len(args) - 1
			v.in, v.out = v.from.histories(args[:last])[0], args[last]
			return runConvert(c.Context(), e, &v)
		},
	}
	v.from.flags(c, "from", "IN")
	v.from.togetherFlag(c)
	enumFlag(c, &v.to, "to", "format", "format of OUT", formatNames())
	fl := c.Flags()
	fl.StringVarP(&v.out, "out", "o", "", "OUT, said by a flag")
	fl.BoolVar(&v.lossy, "lossy", false, "drop what the format of OUT cannot hold, and renumber keys and "+
		"values where it must")
	fl.IntVar(&v.shards, "shards", 0, "write so many parts to the folder OUT")
	fl.Var(sizeValue{&v.shardSize}, "shard-size", "write parts of about this size to the folder OUT")
	fl.Var(sizeValue{&v.memory}, "memory", "convert batch by batch, and stop where it takes more memory")
	fl.BoolVarP(&v.quiet, "quiet", "q", false, "no progress on standard error")
	return c
}

// writable says before any work whether a file can be written; flag is the one that names its format.
func writable(out, to, flag string) error {
	err := format.Writable(out, to)
	if errors.Is(err, format.ErrEnding) && flag != "" {
		return fmt.Errorf("%w; or %s FORMAT", err, flag)
	}
	return err
}

func runConvert(ctx context.Context, e *env, v *conversion) error {
	if v.sharded() {
		switch _, can := v.streamEnding(); {
		case v.out == "-":
			return usagef("parts are written to a folder, and not to standard output; expected OUT")
		case !can:
			return usagef("format %s cannot be written in parts; expected isovet-native or isovet-history", v.to)
		case v.in == "-":
			return usagef("standard input cannot be read twice, as it takes to divide it; expected a file")
		}
	} else if err := writable(v.out, v.to, "--to"); err != nil {
		return err
	}
	p := newProgress(e.stderr, v.quiet, v.out == "-")
	defer p.Close()
	p.Begin("converting " + v.in)
	paths := v.from.paths(v.in)
	finished := make(chan struct{})
	_, err := guard(ctx, limits{memory: v.memory}, func() string { return "converting " + v.in }, func(
		ctx context.Context) (struct{}, error) {
		defer close(finished)
		if v.streams(paths) && v.from.inPieces() == nil {
			err := v.stream(ctx, e, paths, p)
			if !v.inMemoryAfter(err) {
				return struct{}{}, err
			}
			fmt.Fprintf(e.stderr, "isovet: %v: converted in memory\n", err)
		}
		h, err := loadHistory(ctx, v.in, v.from)
		if err != nil {
			return struct{}{}, err
		}
		p.Hide()
		e.sayNotes(v.in, h)
		return struct{}{}, format.WriteContext(ctx, v.out, h, v.to, v.lossy)
	})
	cleaned(err, finished)
	return orInterrupted(err, "converting "+v.in+"; nothing was written")
}

// inMemoryAfter reports whether what cannot be done batch by batch is tried in memory: unless parts or a bound were
// asked for.
func (v *conversion) inMemoryAfter(err error) bool {
	_, order := errors.AsType[*split.OrderError](err)
	_, lists := errors.AsType[*native.MixedError](err)
	return (order || lists) && !v.sharded() && v.memory == 0
}
