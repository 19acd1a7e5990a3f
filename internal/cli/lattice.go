package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/report"
)

// allLevels stands for the whole lattice in --level.
const allLevels = "all"

// latticeValue is a level, or all of them.
type latticeValue struct {
	levelValue
	all *bool
}

func (v latticeValue) String() string {
	if v.all != nil && *v.all {
		return allLevels
	}
	return v.levelValue.String()
}

func (v latticeValue) Set(s string) error {
	if *v.all = strings.EqualFold(strings.TrimSpace(s), allLevels); *v.all {
		return nil
	}
	return v.levelValue.Set(s)
}

// runLattice checks histories at every level. The exit status is that of the worst level some checker decides.
func runLattice(ctx context.Context, e *env, f *checkFlags, args []string) error {
	switch {
	case f.checker != auto || f.solver != "":
		return usagef("--level all takes the checker of each level; leave --checker and --solver out")
	case f.dot != "" || f.certificate != "":
		return usagef("--dot and --certificate are of one level; leave them out with --level all")
	}
	p := newProgress(e.stderr, f.quiet, f.json)
	defer p.Close()
	worst := statusOK
	for i, path := range args {
		if ctx.Err() != nil {
			return &exitError{status: statusInterrupted}
		}
		p.Begin("checking " + path)
		l, load, err := latticeOf(ctx, f, path, p)
		p.Hide()
		if err != nil {
			if s := statusOf(err); s == statusInterrupted {
				return err
			}
			fmt.Fprintf(e.stderr, "isovet: %v\n", err)
			worst = worse(worst, statusOf(err))
			continue
		}
		e.sayNotes(path, l.H)
		for _, r := range l.Results {
			switch {
			case r.Verdict == evidence.Violated:
				worst = worse(worst, statusViolation)
			case r.Verdict == evidence.Unknown && r.Checker != "":
				worst = worse(worst, f.unknownStatus)
			}
		}
		if f.html != "" {
			page := func(w io.Writer) error { return report.LatticeHTML(w, path, l.Results, l.Holding, l.Failing) }
			if err := e.writeFile(numbered(f.html, i, len(args)), page); err != nil {
				return err
			}
		}
		if err := printLattice(e.stdout, f, path, l, load); err != nil {
			return err
		}
	}
	return status(worst)
}

// latticeOf loads a history and checks it. Where a limit ends the work there is no answer at any level, and that is an error.
func latticeOf(ctx context.Context, f *checkFlags, path string, p *progress) (l *check.Lattice, load time.Duration, err error) {
	var stage atomic.Pointer[string]
	set := func(s string) { stage.Store(&s) }
	set("loading")
	l, err = guard(ctx, f.limits, func() string { return *stage.Load() }, func(ctx context.Context) (*check.Lattice, error) {
		start := time.Now()
		h, err := loadHistory(ctx, path, f.loading)
		if err != nil {
			return nil, err
		}
		load = time.Since(start)
		set("checking")
		return check.RunLattice(ctx, h, check.Options{ClockSkew: f.skew.Nanoseconds(), Progress: func(s string, done, total int) {
			set("checking (" + s + ")")
			p.Step(s, done, total)
		}})
	})
	var stopped *stoppedError
	if errors.As(err, &stopped) {
		if errors.Is(stopped, errInterrupted) {
			return nil, 0, &exitError{status: statusInterrupted}
		}
		return nil, 0, &exitError{statusUnknown, fmt.Errorf("%s: %s", path, stopped.text)}
	}
	return l, load, err
}

// printLattice writes a table of the levels, what holds and fails, and for each failure its first anomaly; or one JSON object.
func printLattice(w io.Writer, f *checkFlags, path string, l *check.Lattice, load time.Duration) error {
	if f.json {
		out := struct {
			History string             `json:"history"`
			Notes   []history.Note     `json:"notes,omitempty"`
			LoadMS  float64            `json:"load_ms"`
			Holding []level.Level      `json:"strongest_holding"`
			Failing []level.Level      `json:"weakest_failing"`
			Levels  []*evidence.Report `json:"levels"`
		}{History: path, Notes: l.H.Notes, LoadMS: milliseconds(load), Holding: append([]level.Level{}, l.Holding...), Failing: append([]level.Level{}, l.Failing...)}
		for _, r := range l.Results {
			out.Levels = append(out.Levels, evidence.NewReport(r, path))
		}
		b, err := json.Marshal(out)
		if err != nil {
			return err
		}
		_, err = w.Write(append(b, '\n'))
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", path)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "level\tverdict\tchecker\tanomaly\n")
	for _, r := range l.Results {
		what, by := r.Reason, r.Checker
		if len(r.Anomalies) > 0 {
			what = string(r.Anomalies[0].Kind)
		}
		if by == "" {
			by = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", r.Level, r.Verdict, by, what)
	}
	t.Flush()
	fmt.Fprintf(&b, "strongest that hold: %s\nweakest that fail: %s\n", report.LevelNames(l.Holding), report.LevelNames(l.Failing))
	for _, of := range report.Failures(l.Results) {
		a := &of.Result.Anomalies[0]
		fmt.Fprintf(&b, "\n%s: %s (%s)\n", report.LevelNames(of.At), a.Kind, a.Kind.Name())
		for line := range strings.Lines(a.Text) {
			fmt.Fprintf(&b, "  %s", line)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, trimLines(b.String()))
	return err
}

// trimLines drops blanks at the ends of lines.
func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}
