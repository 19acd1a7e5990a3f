package workloads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"isovet/datasets"
	"isovet/history"
	"isovet/history/split"
	"isovet/internal/cli/console"
	"isovet/internal/guard"
	"isovet/internal/safego"
	"isovet/internal/slice"
)

// faultsValue is the value of --fault: one or several names.
type faultsValue struct{ console.Enum }

func (v *faultsValue) Set(s string) error {
	for name := range strings.SplitSeq(s, ",") {
		if err := v.Enum.Set(strings.TrimSpace(name)); err != nil {
			return err
		}
	}
	*v.Value = s
	return nil
}

// writeTruth writes the faults, one JSON object on each line.
func writeTruth(e *console.Env, path string, faults []datasets.Planted) error {
	if path == "" {
		return nil
	}
	return e.WriteFile(path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		return slice.Each(faults, func(f datasets.Planted) error { return enc.Encode(f) })
	})
}

// ShardEnding returns the name ending for parts in a format.
func ShardEnding(name string) (string, error) {
	switch name {
	case console.Auto, "", "isovet-native":
		return ".ivh", nil
	case "isovet-history":
		return ".jsonl", nil
	case "parquet":
		return ".parquet", nil
	}
	return "", console.Usagef("format %s cannot be written in parts; expected isovet-native, isovet-history or parquet",
		name)
}

// batch is a piece of the history to write, and its part.
type batch struct {
	shard int
	h     *history.History
}

// runGenShards generates a history into a folder of parts, so that memory does not grow with it.
func runGenShards(ctx context.Context, e *console.Env, g *GenFlags, o genOut) error {
	ending, err := ShardEnding(o.format)
	if err != nil {
		return err
	}
	why, bounded, err := datasets.Streams(g.Spec)
	if err != nil {
		return err
	}
	if why != "" {
		return console.Usagef("--shards: %s; expected true times (--hint true, --times txns or all)", why)
	}
	if !bounded && !o.quiet {
		fmt.Fprintf(e.Stderr, "isovet: workload %s: isovet keeps every version of rows with columns, lists and wide "+
			"values, so memory grows with the transactions\n", g.Spec.Workload)
	}
	p := console.NewProgress(e.Stderr, o.quiet, o.json)
	defer p.Close()
	p.Begin("generating " + o.file)
	start := time.Now()
	var r *datasets.Result
	var out *split.Out
	var meta history.Meta
	finished := make(chan struct{})
	_, err = guard.Run(ctx, guard.Limits{Memory: o.memory}, func() string { return "generating" },
		func(ctx context.Context) (
			struct{}, error) {
			defer close(finished)
			var err error
			r, out, meta, err = genShards(ctx, g.Spec, o, ending, p)
			return struct{}{}, err
		})
	console.Cleaned(finished)
	if err == nil {
		err = writeTruth(e, o.truth, r.Faults)
	}
	if err != nil {
		return console.OrInterrupted(err, "generating; nothing was left behind")
	}
	p.Hide()
	txns, ops, parts := out.Written()
	return o.say(e, genSummary{File: o.file, Name: meta.Name, Workload: meta.Workload, Isolation: meta.Isolation,
		Note: meta.Note, Txns: int(txns), Ops: int(ops), Sessions: g.Spec.Sessions, Seed: g.Spec.Seed,
		Fault: g.Spec.Fault, Planted: r.Planted, Parts: parts, GenMS: console.Milliseconds(time.Since(start))})
}

// genShards runs the store and, in parallel, writes its output. If it fails, it removes what it has written.
func genShards(ctx context.Context, spec datasets.Spec, o genOut, ending string,
	p *console.Progress) (r *datasets.Result, out *split.Out, meta history.Meta, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan batch, 4)
	var writer safego.Group
	var werr error
	writer.Go(func() {
		at := 1
		for b := range todo {
			if werr != nil {
				continue
			}
			if out == nil {
				meta = b.h.Meta
				out, werr = split.Create(o.file, ending, b.h)
			}
			switch {
			case werr != nil:
			case b.shard == 0:
				werr = out.First(b.h)
			case b.shard != at:
				at = b.shard
				if werr = out.Cut(); werr == nil {
					werr = out.Add(b.h)
				}
			default:
				werr = out.Add(b.h)
			}
			if werr != nil {
				cancel(werr)
			}
		}
	})
	r, err = datasets.Stream(ctx, spec, o.shards, p.Step, func(shard int, h *history.History) error {
		select {
		case todo <- batch{shard, h}:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	close(todo)
	writer.Wait()
	if werr != nil && !errors.Is(err, guard.ErrInterrupted) {
		err = werr
	}
	if err == nil {
		more := map[string]any{"seed": spec.Seed}
		if r.Faults != nil {
			more["planted"] = r.Faults
		}
		err = out.Finish(more)
	}
	if err != nil && out != nil {
		err = errors.Join(err, out.Abort())
	}
	return r, out, meta, err
}
