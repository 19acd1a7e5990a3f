package checks

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/certify/large"
	"isovet/check/limits"
	"isovet/check/spill"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/history/split"
	"isovet/internal/cli/console"
	"isovet/internal/guard"
	"isovet/internal/plural"
	"isovet/internal/room"
)

// spilling has the settings for checking a history that does not fit in memory.
type spilling struct {
	dir       string
	keep      bool
	maxWindow int
	engine    *Engine // nil: this machine
	forced    bool    // whatever the memory that it may take, in a folder of this run's own
}

func (s *spilling) flags(c *cobra.Command) {
	fl := c.Flags()
	dir := "check out of core, with files in `DIR` (docs/scale.md)"
	if s.engine != nil {
		dir = s.engine.Spill
		s.engine.Flags(fl)
	}
	fl.StringVar(&s.dir, "spill", "", dir)
	fl.BoolVar(&s.keep, "keep", false, "keep the files of --spill")
	fl.IntVar(&s.maxWindow, "max-window", 0, "--spill: largest window, in `TRANSACTIONS` (default: by memory)")
}

func (f *CheckFlags) validateSpill() error {
	s := &f.spill
	switch {
	case s.dir == "":
		return nil
	case f.level.IsMixed():
		return console.Usagef("--spill judges all transactions at one level; leave it or --level %s out", f.level)
	case s.maxWindow < 0:
		return console.Usagef("--max-window %d is negative", s.maxWindow)
	case f.judge.name != console.Auto && !slices.Contains(spill.Checkers(), f.judge.name):
		return console.Usagef("checker %s cannot check out of core (%s can); leave --checker or --spill out",
			f.judge.name, strings.Join(spill.Checkers(), ", "))
	case f.judge.name != console.Auto && !slices.Contains(spill.LevelsOf(f.judge.name), f.level):
		return console.Usagef("checker %s does not decide %s", f.judge.name, f.level)
	case f.limits.Memory > 0 && f.limits.Memory < limits.LeastMemory:
		return console.Usagef("--memory %s is too little for --spill; expected at least 32 MiB",
			guard.BytesText(f.limits.Memory))
	}
	return nil
}

// checkSpilled checks a history out of core. If it fits in memory, spilled is false and the check is in memory.
func (f *CheckFlags) checkSpilled(ctx context.Context, e *console.Env, path string, i, n int,
	p *console.Progress) (o outcome, spilled bool) {
	began := time.Now()
	memory := cmp.Or(f.limits.Memory, limits.DefaultMemory)
	if path == "-" {
		return outcome{path, nil, console.Usagef(
			"standard input cannot be read twice, as --spill does; expected a file"),
			began, nil}, true
	}
	paths := f.loading.Paths(path)
	dir := f.spill.dir
	if n > 1 {
		dir = strings.TrimSuffix(dir, "/") + "/" + fmt.Sprint(i+1)
	}
	set, err := planned(ctx, f.spill.engine, dir, paths, f.loading, memory, p)
	if err != nil {
		return outcome{path, nil, console.OrInterrupted(err, "examining "+path), began, nil}, true
	}
	if need := limits.InMemory(set); !f.spill.forced && need <= memory && !slices.ContainsFunc(paths, remote) {
		fmt.Fprintf(e.Stderr, "isovet: %s: the history fits into memory (about %s of %s), so --spill writes no files\n",
			path, room.Size(float64(need)), room.Size(float64(memory)))
		g := *f
		g.limits.Memory = 0
		return checkOne(ctx, e, &g, path, p, 0), false
	}
	at, _ := f.named(&set.Header.Meta)
	checker := f.judge.name
	if checker == console.Auto {
		checker = spill.CheckerOf(at)
	}
	f.sayNamed(e, path, &set.Header.Meta)
	in, err := spill.Of(set)
	if err != nil {
		return outcome{path, nil, err, began, nil}, true
	}
	var backend spill.Backend
	clean := func() error { return nil }
	if f.spill.engine != nil {
		backend, clean, err = f.spill.engine.Open(dir, set, memory, func(done,
			total int) {
			p.Step("tasks", done, total)
		})
		if err != nil {
			return outcome{path, nil, err, began, nil}, true
		}
	}
	free := ""
	if n, known := spill.Free(dir); known && backend == nil {
		free = ", which has " + room.Size(float64(n)) + " free"
	}
	fmt.Fprintf(e.Stderr, "isovet: %s: checking %s out of core, with %s of memory and about %s of files in %s%s\n",
		path, plural.Of(set.Txns, "transaction"), room.Size(float64(memory)), room.Size(float64(spill.Disk(in))), dir,
		free)
	within := f.limits
	within.Used = time.Since(began)
	r, a, err := limits.OutOfCore(ctx, in, within, spill.Options{Dir: dir, Backend: backend, Memory: memory,
		Level: at, Asked: f.levelSet, Checker: checker, ReadOnlyAtStart: f.AtStart, Skew: f.Skew.Nanoseconds(),
		MaxWindow: f.spill.maxWindow, Keep: f.spill.keep,
		Progress: func(s string, done, total int64) { p.Step(s, int(done), int(total)) },
		Resumed: func(n, of int) {
			fmt.Fprintf(e.Stderr, "isovet: %s: an earlier run read %d of %d parts; their files in %s are used again\n",
				path, n, of, dir)
		}})
	if stopped, ok := errors.AsType[*guard.StoppedError](err); ok {
		if !f.spill.forced {
			fmt.Fprintf(e.Stderr, "isovet: %s: finished parts are in %s; the same command continues from them\n", path,
				dir)
		}
		return outcome{path, r, console.Interrupted(stopped), began, nil}, true
	}
	if err != nil {
		return outcome{path, nil, err, began, nil}, true
	}
	if !f.spill.keep {
		if err := clean(); err != nil {
			fmt.Fprintf(e.Stderr, "isovet: %s: could not delete the check's files in %s: %v\n", path, dir, err)
		}
	}
	f.weigh(r)
	for i, w := range a.Open {
		if i == 10 {
			fmt.Fprintf(e.Stderr, "isovet: %s: and %d more\n", path, len(a.Open)-i)
			break
		}
		fmt.Fprintf(e.Stderr, "isovet: %s: not decided: client times %d to %d: %s\n", path, w.From, w.To, w.Why)
	}
	return outcome{path, r, f.certifySpilled(e, path, i, n, a), began, nil}, true
}

// spills reports whether a check that found memory not enough is repeated with files on disk: unless the user requested
// a checker that needs memory.
func (f *CheckFlags) spills(ctx context.Context, o outcome) bool {
	r := o.result
	return r != nil && o.err == nil && r.Verdict == evidence.Unknown && forMemory(r.Reason) && o.path != "-" &&
		f.judge.name == console.Auto && !f.all && f.solver+f.shrunk+f.proof == "" && f.spill.engine == nil &&
		ctx.Err() == nil && limits.Spills(r.Level, f.limits.Memory)
}

// spillInstead repeats a check with files on disk if it spills. If that gives no answer either, the first answer stays.
func (f *CheckFlags) spillInstead(ctx context.Context, e *console.Env, o outcome, i, n int) outcome {
	if !f.spills(ctx, o) {
		return o
	}
	r := o.result
	g := *f
	if g.limits.Timeout > 0 {
		if o.began.IsZero() || time.Since(o.began) >= g.limits.Timeout {
			return o
		}
		g.limits.Timeout -= time.Since(o.began)
	}
	dir, err := os.MkdirTemp("", "isovet-spill-")
	if err != nil {
		return o
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(e.Stderr, "isovet: %s: %s; going on with files on disk (--spill DIR says where)\n", o.path, r.Reason)
	g.spill.dir, g.spill.forced = dir, true
	p := console.NewProgress(e.Stderr, f.quiet, f.json)
	p.Begin("checking " + o.path)
	to, _ := g.checkSpilled(ctx, e, o.path, i, n, p)
	p.Hide()
	p.Close()
	var stop *console.ExitError
	switch {
	case to.err != nil && !errors.As(to.err, &stop):
		fmt.Fprintf(e.Stderr, "isovet: %s: out of core: %v\n", o.path, to.err)
		return o
	case to.result == nil || to.err == nil && to.result.Verdict == evidence.Unknown:
		if to.result != nil {
			fmt.Fprintf(e.Stderr, "isovet: %s: out of core: %s\n", o.path, to.result.Reason)
		}
		return o
	}
	g.certificate = ""
	to.err = errors.Join(to.err, g.outputs(ctx, e, to, i, n))
	return to
}

// forMemory reports whether an answer is unknown because memory did not suffice.
func forMemory(reason string) bool {
	return strings.HasPrefix(reason, "memory bound") || strings.HasSuffix(reason, wantOfMemory)
}

// planned divides a history into pieces. dir is for files of an engine.
func planned(ctx context.Context, x *Engine, dir string, paths []string, l console.Loading, memory int64,
	p *console.Progress) (
	*split.Set, error) {
	p.Step("examining the files", 0, 0)
	if err := l.InPieces(); err != nil {
		return nil, err
	}
	o := limits.Pieces(l.Options(), memory)
	o.Progress = func(done, total int64) { p.Step("examining the files, MB", int(done/1e6), int(total/1e6)) }
	return x.plan(ctx, dir, paths, o)
}

// certifySpilled writes the requested certificate.
func (f *CheckFlags) certifySpilled(e *console.Env, path string, i, n int, a *spill.Answer) error {
	if f.certificate == "" {
		return nil
	}
	err := spill.ErrNoCertificate
	if a.Verdict != evidence.Unknown {
		err = e.WriteFile(console.Numbered(f.certificate, i, n), func(w io.Writer) error {
			return a.WriteCertificate(w, path)
		})
	}
	if errors.Is(err, spill.ErrNoCertificate) {
		fmt.Fprintf(e.Stderr, "isovet: %s: %v\n", path, err)
		return nil
	}
	return err
}

// IsLarge reports whether a file is a certificate of a history that was checked out of core.
func IsLarge(path string) bool {
	return large.Is(start(path, 4096))
}

// start returns the first n bytes of a file's content; fewer if it has fewer, none if it cannot be read. It does not
// read what is no regular file, such as a pipe.
func start(path string, n int) []byte {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	in, err := format.Open(path)
	if err != nil {
		return nil
	}
	defer in.Close()
	head, _ := in.Head()
	return bytes.Clone(head[:min(n, len(head))])
}

// verifyLarge replays a certificate of a history that was checked out of core, also out of core.
func verifyLarge(ctx context.Context, e *console.Env, f *verifyFlags, cert, path string) error {
	memory := cmp.Or(f.limits.Memory, limits.DefaultMemory)
	dir := f.spill
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "isovet-verify-"); err != nil {
			return err
		}
		defer os.Remove(dir)
	}
	p := console.NewProgress(e.Stderr, f.json, f.json)
	defer p.Close()
	p.Begin("verifying " + cert)
	v := verifyResult{Certificate: cert, History: path}
	within := f.limits
	within.Memory = 0
	r, err := guard.Run(ctx, within, func() string { return "verifying " + cert },
		func(ctx context.Context) (*large.Result, error) {
			debug.SetMemoryLimit(memory * 3 / 4)
			set, err := planned(ctx, nil, dir, f.from.Paths(path), f.from, memory, p)
			if err != nil {
				return nil, err
			}
			in, closing, err := console.Open(cert)
			if err != nil {
				return nil, err
			}
			defer closing()
			s := &large.Source{Name: set.Name, Txns: set.Txns, Each: func(ctx context.Context,
				each func(*history.History, int64) error) error {
				return set.Each(ctx, func(b *split.Batch) error { return each(b.H, b.First) })
			}}
			r, err := large.Verify(ctx, in, s, large.Options{Dir: dir, Memory: memory, ClockSkew: f.skew.Nanoseconds(),
				Progress: func(stage string, done, total int64) { p.Step(stage, int(done), int(total)) }})
			return r, console.Named(err, cert)
		})
	p.Hide()
	if err != nil {
		return v.stopped(e, f, err)
	}
	says := &evidence.Result{Level: r.Level, Verdict: r.Verdict, Timestamps: r.Timestamps}
	v.Level, v.Checker, v.Verdict = says.Label(), r.Checker, r.Verdict.String()
	return v.end(e, f, v.say(r.Refuted), v.claim(says))
}
