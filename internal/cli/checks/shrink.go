package checks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"isovet/check/shrink"
	"isovet/evidence"
	"isovet/history/format"
	"isovet/internal/cli/console"
	"isovet/internal/escape"
	"isovet/internal/guard"
	"isovet/internal/plural"
	"isovet/internal/slice"
	"isovet/report"
)

type shrinkFlags struct {
	check  CheckFlags // how it is judged
	out    string
	to     string
	rename bool
	json   bool
}

func NewShrink(e *console.Env) *cobra.Command {
	f := shrinkFlags{to: console.Auto}
	c := console.Command("shrink", console.OneHistory(&f.check.loading, "HISTORY"), func(c *cobra.Command,
		args []string) error {
		args = f.check.loading.Histories(args)
		if f.out == "" {
			return console.Usagef("-o OUT is missing; usage: %s", c.UseLine())
		}
		if err := console.Crossed(c); err != nil {
			return err
		}
		f.check.levelSet = c.Flags().Changed("level")
		return runShrink(c.Context(), e, &f, args)
	})
	c.ValidArgsFunction = console.HistoryFiles
	levelFlag(c, latticeValue{console.Level(&f.check.level), nil}, " or mixed")
	f.check.judging(c)
	f.check.loading.Flags(c, "format", "HISTORY")
	f.check.loading.TogetherFlag(c)
	fl := c.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "file for the smallest history; - is standard output")
	console.EnumFlag(c, &f.to, "to", "format", "format of the smallest history (isovet formats)", console.FormatNames())
	fl.BoolVar(&f.rename, "rename", false, "give keys, values and times short names")
	fl.DurationVar(&f.check.limits.Timeout, "timeout", 0, "time bound; keep the smallest history by then")
	fl.Var(console.Size(&f.check.limits.Memory), "memory", "memory bound; keep the smallest history by then")
	fl.BoolVar(&f.json, "json", false, "print one JSON object; on standard error with -o -")
	fl.BoolVarP(&f.check.quiet, "quiet", "q", false, "show no progress")
	return c
}

// shrinkJSON is what "isovet shrink --json" prints.
type shrinkJSON struct {
	History  string      `json:"history"`
	Level    string      `json:"level"`
	Out      string      `json:"out,omitempty"`
	Verdict  string      `json:"verdict"` // of the whole
	Reason   string      `json:"reason,omitempty"`
	From     *shrinkSize `json:"from,omitempty"`
	To       *shrinkSize `json:"to,omitempty"`
	Tried    int         `json:"tried,omitempty"` // histories that were judged
	Complete bool        `json:"complete"`        // nothing more can go alone
	MS       float64     `json:"elapsed_ms"`
	// Result is the answer for the smallest history, as isovet check --json prints it.
	Result json.RawMessage `json:"result,omitempty"`
}

type shrinkSize struct {
	Txns int `json:"txns"`
	Ops  int `json:"ops"`
}

func runShrink(ctx context.Context, e *console.Env, f *shrinkFlags, args []string) error {
	if err := f.check.validate(args); err != nil {
		return err
	}
	if err := console.Writable(f.out, f.to, "--to"); err != nil {
		return err
	}
	path, start := args[0], time.Now()
	p := console.NewProgress(e.Stderr, f.check.quiet, f.json)
	defer p.Close()
	r, early, err := f.smallest(ctx, e, path, p)
	if none, ok := errors.AsType[*shrink.NoViolation](err); ok {
		return f.nothing(e, path, none, start)
	}
	if err != nil {
		return err
	}
	return f.write(e, path, r, early, start)
}

// smallest finds the smallest history that violates the level, and says why the search ended early, if it did. It
// returns a *shrink.NoViolation if there is no violation.
func (f *shrinkFlags) smallest(ctx context.Context, e *console.Env, path string, p *console.Progress) (r *shrink.Result,
	early string, err error) {
	p.Begin("shrinking " + path)
	var best atomic.Pointer[shrink.Result]
	var stage atomic.Pointer[string]
	set := func(s string) { stage.Store(&s) }
	set("loading " + path)
	r, err = guard.Run(ctx, f.check.limits, func() string { return *stage.Load() }, func(ctx context.Context) (
		*shrink.Result, error) {
		h, err := console.LoadShown(ctx, path, f.check.loading, p)
		if err != nil {
			return nil, err
		}
		e.SayNotes(path, h)
		f.check.sayNamed(e, path, &h.Meta)
		o := shrink.Options{Checker: f.check.judge.name, Solver: f.check.solver,
			Smaller: func(r *shrink.Result) { best.Store(r) }}
		if f.rename {
			o.Names = shrink.Short
		}
		at, profile := f.check.profiled(h)
		o.Check = f.check.Options(at, profile)
		o.Check.Progress = p.Step
		o.Progress = func(s string, txns, ops int) {
			set("shrinking (" + s + ")")
			if txns > 0 {
				s += ": " + plural.Of(txns, "transaction") + ", " + plural.Of(ops, "operation") + " left"
			}
			p.Step(s, 0, 0)
		}
		return shrink.History(ctx, h, at, o)
	})
	p.Hide()
	if stopped, ok := errors.AsType[*guard.StoppedError](err); ok {
		if best.Load() == nil {
			return nil, "", console.Exit(console.StoppedStatus(stopped), fmt.Errorf("%s: %w; nothing was written", path,
				stopped))
		}
		r, early, err = best.Load(), stopped.Text, nil
		r.Ended = stopped.Cause
	}
	if err == nil && r.Ended != nil && early == "" {
		early = f.check.limits.Reason(r.Ended, *stage.Load())
	}
	return r, early, err
}

// shrinkCommand returns the command that finds the smallest history with the same verdict.
func (f *CheckFlags) shrinkCommand(o outcome) string {
	at, _ := f.profiled(o.result.H)
	words := []string{"isovet", "shrink"}
	if set, ok := f.loading.Sets[o.path]; ok {
		words = append(append(words, set...), "--together")
	} else if o.path == "-" {
		words = append(words, "HISTORY")
	} else {
		words = append(words, o.path)
	}
	words = append(words, "--level", at.String())
	add := func(set bool, more ...string) {
		if set {
			words = append(words, more...)
		}
	}
	words = append(words, f.judgedBy()...)
	add(f.loading.Format != console.Auto, "--format", f.loading.Format)
	add(f.loading.RealTime != console.Auto, "--real-time", f.loading.RealTime)
	add(f.loading.Initial != "", "--initial", f.loading.Initial)
	return strings.Join(slice.Map(append(words, "-o", "small.jsonl"), escape.Shell), " ")
}

// judgedBy returns the flags by which a history is judged, except for the level.
func (f *CheckFlags) judgedBy() (words []string) {
	add := func(set bool, more ...string) {
		if set {
			words = append(words, more...)
		}
	}
	add(f.judge.name != console.Auto, "--checker", f.judge.text)
	add(f.solver != "" && f.judge.solver+f.judge.theory == "", "--solver", f.solver)
	add(f.Skew != 0, "--clock-skew", f.Skew.String())
	add(f.profileName != "", "--profile", f.profileName)
	add(f.AtStart, "--read-only-at-start")
	add(f.ignore, "--ignore-predicates")
	add(f.mechanismsOnly, "--mechanisms-only")
	return words
}

// LinkTo returns a link from a page to a file.
func LinkTo(page, file string) string {
	if from, err := filepath.Abs(filepath.Dir(page)); err == nil {
		if to, err := filepath.Abs(file); err == nil {
			if rel, err := filepath.Rel(from, to); err == nil {
				file = rel
			}
		}
	}
	return (&url.URL{Path: filepath.ToSlash(file)}).String()
}

// shrinkTo writes the smallest history that still violates the level, if the verdict is "violation".
func (f *CheckFlags) shrinkTo(ctx context.Context, e *console.Env, o outcome, to string) (done bool, err error) {
	r := o.result
	if r.Verdict != evidence.Violated && (r.Mechanisms == nil || r.Mechanisms.Total() == 0) {
		return false, nil
	}
	if r.Items {
		fmt.Fprintf(e.Stderr, "isovet: %s: check shrinks no verdict that ignores predicates; isovet shrink "+
			"--ignore-predicates does\n", o.path)
		return false, nil
	}
	at, profile := f.profiled(r.H)
	s, err := shrink.History(ctx, r.H, at, shrink.Options{Checker: f.judge.name, Solver: f.solver,
		Check: f.Options(at, profile), First: r})
	if err != nil {
		return false, err
	}
	Note(s, o.path)
	if err := format.Write(to, s.H, console.Auto, false); err != nil {
		return false, fmt.Errorf("cannot write %s: %w", to, err)
	}
	fmt.Fprintf(e.Stderr, "isovet: %s: shrunk from %s to %s: %s\n", o.path, s.From, s.To, to)
	return to != "-", nil
}

func (f *shrinkFlags) nothing(e *console.Env, path string, n *shrink.NoViolation, start time.Time) error {
	if f.json {
		j := shrinkJSON{History: path, Level: n.Answer.Label(), Verdict: n.Answer.Verdict.String(),
			Reason: n.Error(), MS: console.Milliseconds(time.Since(start))}
		if err := console.JSONLine(e.Stdout, &j); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(e.Stderr, "isovet: %s: %v\n", path, n)
	}
	return console.Status(console.StatusUnknown)
}

// write writes the smallest history and describes it.
func (f *shrinkFlags) write(e *console.Env, path string, r *shrink.Result, early string, start time.Time) error {
	Note(r, path)
	if err := format.Write(f.out, r.H, f.to, false); err != nil {
		return fmt.Errorf("cannot write %s: %w", f.out, err)
	}
	to := e.Stdout
	if f.out == "-" {
		to = e.Stderr
	}
	if f.json {
		b, err := evidence.JSON(r.Answer, f.out)
		if err != nil {
			return err
		}
		j := shrinkJSON{History: path, Level: r.Answer.Label(), Out: f.out, Verdict: r.Answer.Verdict.String(),
			From: &shrinkSize{r.From.Txns, r.From.Ops}, To: &shrinkSize{r.To.Txns, r.To.Ops}, Tried: r.Tried,
			Complete: r.Ended == nil, MS: console.Milliseconds(time.Since(start)), Result: b,
			Reason: cmp.Or(early, r.Answer.Reason)}
		if err := console.JSONLine(to, &j); err != nil {
			return err
		}
	} else {
		if err := report.Text(to, f.out, r.Answer, report.TextOptions{}); err != nil {
			return err
		}
		fmt.Fprintf(to, "%s: shrunk from %s to %s; %s judged in %.1f s\n", f.out, r.From, r.To,
			plural.Of(r.Tried, "history"),
			time.Since(start).Seconds())
		if early != "" {
			fmt.Fprintf(e.Stderr, "isovet: %s: %s; %s has the smallest history found by then\n", path, early, f.out)
		}
	}
	return console.Interrupted(r.Ended)
}

// Note notes the origin of a shrunk history in its header.
func Note(r *shrink.Result, path string) {
	h := *r.H // the answer's own has no new note
	h.Meta.Note = fmt.Sprintf("cut down from %s (%s) to %s that still violate %s", filepath.Base(path), r.From, r.To,
		r.Answer.Label())
	r.H = &h
}
