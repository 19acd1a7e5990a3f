package checks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"isovet/check/shrink"
	"isovet/docs"
	"isovet/evidence"
	"isovet/internal/atomicfile"
	"isovet/internal/cli/console"
	"isovet/internal/escape"
	"isovet/report"
)

// reportForm is the form of the command report's output, by the name of the file after -o.
type reportForm uint8

const (
	reportText   reportForm = iota // Markdown
	reportPage                     // for a browser
	reportFolder                   // an incident
)

func reportFormOf(out string) reportForm {
	switch strings.ToLower(filepath.Ext(out)) {
	case ".html", ".htm":
		return reportPage
	case ".md", ".markdown", ".txt":
		return reportText
	}
	if out == "-" || atomicfile.Special(out) {
		return reportText
	}
	return reportFolder
}

func NewReport(e *console.Env) *cobra.Command {
	f := shrinkFlags{out: "-"}
	c := console.Command("report", console.Exactly("HISTORY"), func(c *cobra.Command, args []string) error {
		if err := console.Crossed(c); err != nil {
			return err
		}
		f.check.levelSet = c.Flags().Changed("level")
		return runReport(c.Context(), e, &f, args)
	})
	c.ValidArgsFunction = console.HistoryFiles
	levelFlag(c, latticeValue{console.Level(&f.check.level), nil}, " or mixed")
	f.check.judging(c)
	f.check.loading.Flags(c, "format", "HISTORY")
	fl := c.Flags()
	fl.StringVarP(&f.out, "out", "o", f.out, "a folder, FILE.md or FILE.html; - is standard output")
	fl.BoolVar(&f.rename, "rename", false, "give keys, values and times short names")
	fl.DurationVar(&f.check.limits.Timeout, "timeout", 0, "time bound; report the smallest history by then")
	fl.Var(console.Size(&f.check.limits.Memory), "memory", "memory bound; report the smallest history by then")
	fl.BoolVarP(&f.check.quiet, "quiet", "q", false, "show no progress")
	return c
}

func runReport(ctx context.Context, e *console.Env, f *shrinkFlags, args []string) error {
	if err := f.check.validate(args); err != nil {
		return err
	}
	form := reportFormOf(f.out)
	if form == reportFolder && e.Incident == nil {
		return console.Usagef("-o %q: folders are written by the full isovet; expected FILE.md or FILE.html", f.out)
	}
	path := args[0]
	p := console.NewProgress(e.Stderr, f.check.quiet, false)
	defer p.Close()
	r, early, err := f.smallest(ctx, e, path, p)
	none, ok := errors.AsType[*shrink.NoViolation](err)
	switch {
	case ok:
		fmt.Fprintf(e.Stderr, "isovet: %s: %s\n", path, strings.Replace(none.Error(), "to shrink", "to report", 1))
		return console.Status(console.StatusUnknown)
	case err != nil:
		return err
	case form == reportFolder && r.Answer.Verdict != evidence.Violated:
		fmt.Fprintf(e.Stderr, "isovet: %s: a mechanism is violated, and not the level; expected -o FILE.md\n", path)
		return console.Status(console.StatusUnknown)
	}
	Note(r, path)
	switch form {
	case reportText:
		err = e.WriteFile(f.out, func(w io.Writer) error { return report.Markdown(w, f.issue(path, r)) })
	case reportPage:
		o := report.HTMLOptions{Whole: r.Whole}
		err = e.WriteFile(f.out, func(w io.Writer) error { return report.HTMLWith(w, path, r.Answer, o) })
	case reportFolder:
		err = e.Incident(r, f.out)
	}
	if err != nil {
		return err
	}
	if early != "" {
		fmt.Fprintf(e.Stderr, "isovet: %s: %s; the report has the smallest history found by then\n", path, early)
	}
	return console.Interrupted(r.Ended)
}

// issue returns the report about the smallest history, with the flags for judging it.
func (f *shrinkFlags) issue(path string, r *shrink.Result) *report.Issue {
	s := report.Issue{File: path, Whole: r.H, Small: r.H, Answer: r.Answer, From: r.From.String(),
		Version: console.BuildVersion().String(), Flags: "--level " + r.Answer.Level.String()}
	if len(r.Answer.Anomalies) > 0 {
		s.About = docs.AboutAnomaly(string(r.Answer.Anomalies[0].Kind))
	}
	for _, w := range f.check.judgedBy() {
		s.Flags += " " + escape.Shell(w)
	}
	return &s
}
