//go:build !checkonly

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"isovet/datasets"
	"isovet/history"
	"isovet/history/split"
	"isovet/internal/safego"
)

// faultsValue is the --fault flag: a name, or several.
type faultsValue struct{ enum }

func (v *faultsValue) Set(s string) error {
	for name := range strings.SplitSeq(s, ",") {
		if err := v.enum.Set(strings.TrimSpace(name)); err != nil {
			return err
		}
	}
	*v.value = s
	return nil
}

// checkPlanted says what contradicts itself about faults.
func (g *genFlags) checkPlanted(truth string) error {
	switch s := &g.spec; {
	case s.Faults < 0:
		return usagef("--faults %d; expected at least 1", s.Faults)
	case s.Faults > 0 && s.Fault == "":
		return usagef("--faults without --fault, which names what is to be planted")
	case truth != "" && s.Fault == "":
		return usagef("--truth without --fault: nothing is planted")
	}
	return nil
}

// writeTruth writes the faults, a JSON object a line.
func (e *env) writeTruth(path string, faults []datasets.Planted) error {
	if path == "" {
		return nil
	}
	return e.writeFile(path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		for _, f := range faults {
			if err := enc.Encode(f); err != nil {
				return err
			}
		}
		return nil
	})
}

// shardEnding is the ending of parts in a format.
func shardEnding(name string) (string, error) {
	switch name {
	case auto, "", "isovet-native":
		return ".ivh", nil
	case "isovet-history":
		return ".jsonl", nil
	case "parquet":
		return ".parquet", nil
	}
	return "", usagef("format %s cannot be written in parts; expected isovet-native, isovet-history or parquet", name)
}

// batch is what is to be written, and in which part.
type batch struct {
	shard int
	h     *history.History
}

// runGenShards generates a history into a folder of parts, in memory that does not grow with it.
func runGenShards(ctx context.Context, e *env, g *genFlags, o genOut) error {
	ending, err := shardEnding(o.format)
	if err != nil {
		return err
	}
	why, bounded, err := datasets.Streams(g.spec)
	if err != nil {
		return err
	}
	if why != "" {
		return usagef("--shards: %s; expected true times (--hint true, --times txns or all)", why)
	}
	if !bounded && !o.quiet {
		fmt.Fprintf(e.stderr, "isovet: workload %s: rows with columns, lists and wide values are kept in every "+
			"version, so memory grows with the transactions\n", g.spec.Workload)
	}
	p := newProgress(e.stderr, o.quiet, o.json)
	defer p.Close()
	p.Begin("generating " + o.file)
	start := time.Now()
	var r *datasets.Result
	var out *split.Out
	var meta history.Meta
	finished := make(chan struct{})
	_, err = guard(ctx, limits{memory: o.memory}, func() string { return "generating" }, func(ctx context.Context) (
		struct{}, error) {
		defer close(finished)
		var err error
		r, out, meta, err = genShards(ctx, g.spec, o, ending, p)
		return struct{}{}, err
	})
	cleaned(err, finished)
	if err == nil {
		err = e.writeTruth(o.truth, r.Faults)
	}
	if err != nil {
		return orInterrupted(err, "generating; nothing was left behind")
	}
	p.Hide()
	txns, ops, parts := out.Written()
	if o.json {
		return jsonLine(e.stdout, genSummary{File: o.file, Name: meta.Name, Workload: meta.Workload,
			Isolation: meta.Isolation, Note: meta.Note, Txns: int(txns), Ops: int(ops), Sessions: g.spec.Sessions,
			Seed: g.spec.Seed, Fault: g.spec.Fault, Planted: r.Planted, Parts: parts,
			GenMS: milliseconds(time.Since(start))})
	}
	if !o.quiet {
		fmt.Fprintf(e.stderr, "%s: %s, %d transactions, %d operations in %d parts; %s\n", o.file, meta.Workload, txns,
			ops, parts, meta.Note)
	}
	return nil
}

// genShards runs the store and, beside it, writes what comes out. What it has written is gone where it fails.
func genShards(ctx context.Context, spec datasets.Spec, o genOut, ending string, p *progress) (r *datasets.Result,
	out *split.Out, meta history.Meta, err error) {
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
	if werr != nil && !errors.Is(err, errInterrupted) {
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

// folderish reports whether a name asks for a folder.
func folderish(path string) bool {
	if path == "" || path == "-" {
		return false
	}
	st, err := os.Stat(path)
	return slices.Contains([]byte("/\\"), path[len(path)-1]) || err == nil && st.IsDir()
}
