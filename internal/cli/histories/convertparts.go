package histories

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"isovet/history"
	"isovet/history/format"
	"isovet/history/format/jsonl"
	"isovet/history/format/native"
	"isovet/history/split"
	"isovet/internal/cli/console"
	"isovet/internal/plural"
	"isovet/internal/safego"
)

// streamFrom is the size from which on files are converted batch by batch instead of in memory.
const streamFrom = 512 << 20

// conversion has the input and the output of a conversion.
type conversion struct {
	in, out, to string
	from        console.Loading
	lossy       bool
	shards      int
	shardSize   int64
	memory      int64
	quiet       bool
	stderr      io.Writer
}

func (v *conversion) sharded() bool { return v.shards > 0 || v.shardSize > 0 }

// streamEnding returns the name ending for the output format, if that can be written batch by batch.
func (v *conversion) streamEnding() (string, bool) {
	pack := filepath.Ext(v.out)
	if pack != ".gz" && pack != ".zst" || v.sharded() {
		pack = ""
	}
	name := v.to
	if name == console.Auto || name == "" {
		switch ext := filepath.Ext(strings.TrimSuffix(v.out, pack)); {
		case v.sharded() || ext == ".ivh" && v.out != "-":
			name = "isovet-native"
		case ext == ".jsonl" || ext == "" || v.out == "-":
			name = "isovet-history"
		default:
			return "", false
		}
	}
	switch name {
	case "isovet-native":
		return ".ivh" + pack, true
	case "isovet-history":
		return ".jsonl" + pack, true
	}
	return "", false
}

// streams reports whether the conversion is done batch by batch, so that memory does not grow with the history.
func (v *conversion) streams(paths []string) bool {
	if paths[0] == "-" {
		return false
	}
	_, can := v.streamEnding()
	return can && (v.sharded() || v.memory > 0 || split.InParts(paths) || console.SizeOf(paths) >= streamFrom)
}

// pour calls add with the batches of a history, in parallel with reading them.
func pour(ctx context.Context, s *split.Set, p *console.Progress, add func(*history.History) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan *history.History, 4)
	var writer safego.Group
	var failed error
	writer.Go(func() {
		for h := range todo {
			if failed == nil {
				if failed = add(h); failed != nil {
					cancel(failed)
				}
			}
		}
	})
	err := s.Each(ctx, func(b *split.Batch) error {
		p.Step("converting, transactions", int(b.First), int(s.Txns))
		select {
		case todo <- b.H:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	close(todo)
	writer.Wait()
	if failed != nil {
		return failed
	}
	return err
}

// stream converts batch by batch.
func (v *conversion) stream(ctx context.Context, e *console.Env, paths []string, p *console.Progress) error {
	if err := v.from.InPieces(); err != nil {
		return err
	}
	s, err := split.Plan(ctx, paths, split.Options{Format: v.from.Format, RealTime: format.RealTime(v.from.RealTime),
		Initial: format.InitialValue(v.from.Initial), Progress: func(done, total int64) {
			p.Step("examining the files, MB", int(done/1e6), int(total/1e6))
		}})
	if err != nil {
		return err
	}
	header, err := s.Header.History()
	if err != nil {
		return err
	}
	ending, _ := v.streamEnding()
	notes := map[string]bool{}
	say := func(h *history.History) {
		for _, n := range h.Notes {
			if text := h.File + ": " + n.Text; !notes[text] {
				notes[text] = true
				fmt.Fprintf(e.Stderr, "isovet: %s\n", text)
			}
		}
	}
	if v.sharded() {
		return v.streamParts(ctx, s, header, ending, p, say)
	}
	return e.WriteFile(v.out, func(w io.Writer) error {
		return v.streamFile(ctx, s, header, ending, w, p, say)
	})
}

func (v *conversion) streamFile(ctx context.Context, s *split.Set, header *history.History, ending string, to io.Writer,
	p *console.Progress, say func(*history.History)) (err error) {
	buf := bufio.NewWriterSize(to, 1<<18)
	w, err := format.Compressed(buf, ending)
	if err != nil {
		return err
	}
	if strings.HasPrefix(ending, ".ivh") {
		dir := filepath.Dir(v.out)
		if v.out == "-" {
			dir = os.TempDir()
		}
		n := native.NewWriter(dir, header)
		defer n.Close()
		if err := pour(ctx, s, p, func(h *history.History) error { say(h); return n.Add(h) }); err != nil {
			return err
		}
		err = n.Finish(w)
	} else {
		j := jsonl.NewWriter(w, header, true)
		if err := pour(ctx, s, p, func(h *history.History) error { say(h); return j.Add(h) }); err != nil {
			return err
		}
		err = j.Flush()
	}
	return errors.Join(err, w.Close(), buf.Flush())
}

func (v *conversion) streamParts(ctx context.Context, s *split.Set, header *history.History, ending string,
	p *console.Progress, say func(*history.History)) error {
	out, err := split.Create(v.out, ending, header)
	if err != nil {
		return err
	}
	done, part := int64(0), int64(1)
	err = pour(ctx, s, p, func(h *history.History) error {
		say(h)
		for lo, n := uint32(0), uint32(h.NumTxns()); lo < n; {
			hi := n
			if v.shards > 0 {
				// The last part may be short of a transaction, and none has one too many.
				end := (s.Txns*part + int64(v.shards) - 1) / int64(v.shards)
				hi = uint32(min(int64(n), int64(lo)+end-done))
			}
			piece := h
			if lo > 0 || hi < n {
				var err error
				if piece, err = split.Sub(h, lo, hi); err != nil {
					return err
				}
			}
			if err := out.Add(piece); err != nil {
				return err
			}
			done += int64(hi - lo)
			lo = hi
			_, bytes := out.Now()
			if v.shards > 0 && done >= (s.Txns*part+int64(v.shards)-1)/int64(v.shards) || v.shards == 0 &&
				bytes >= v.shardSize {
				part++
				if err := out.Cut(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil {
		err = out.Finish(nil)
	}
	if err != nil {
		return errors.Join(err, out.Abort())
	}
	txns, ops, parts := out.Written()
	if !v.quiet {
		p.Hide()
		fmt.Fprintf(v.stderr, "%s: %s, %s in %s\n", v.out, plural.Of(txns, "transaction"),
			plural.Of(ops, "operation"), plural.Of(parts, "part"))
	}
	return nil
}
