package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"isovet/check/shrink"
	"isovet/docs"
	"isovet/internal/escape"
	"isovet/report"
)

func newReport(e *env) *cobra.Command {
	f := shrinkFlags{check: checkFlags{checker: auto}, out: "-"}
	c := &cobra.Command{
		Use: "report [flags] HISTORY", GroupID: "work",
		Short: "Write a bug report: what was promised, what was seen, the smallest history, how to verify it",
		Long: `report checks a history, cuts it down to the smallest that still violates the level (isovet shrink), and writes the
text of a bug report in Markdown: what was promised, what was seen and why that breaks the promise, the smallest history
itself, and the commands by which anybody verifies it.

Exit status: 0 written; 2 there is nothing to report: the history satisfies the level, or that is unknown; 130
interrupted, with the smallest history found by then; 254 and 255 as everywhere.`,
		Example: `  isovet report --level serializable h.jsonl > issue.md
  isovet report --level snapshot-isolation h.jsonl.zst -o issue.md`,
		Args:              exactly("HISTORY"),
		ValidArgsFunction: historyFiles,
		RunE: func(c *cobra.Command, args []string) error {
			f.check.levelSet = c.Flags().Changed("level")
			return runReport(c.Context(), e, &f, args)
		},
	}
	levelFlag(c, &f.check.level)
	f.check.judging(c)
	f.check.loading.flags(c, "format", "HISTORY")
	fl := c.Flags()
	fl.StringVarP(&f.out, "out", "o", f.out, "`FILE.md`; - is standard output")
	fl.BoolVar(&f.keep, "keep-names", false, "keep keys, values and times as they are")
	fl.DurationVar(&f.check.limits.timeout, "timeout", 0, "stop after this long, and report the smallest by then")
	fl.Var(sizeValue{&f.check.limits.memory}, "memory", "stop when so much memory is held, such as 2GiB, and report "+
		"the smallest by then")
	fl.BoolVarP(&f.check.quiet, "quiet", "q", false, "no progress on standard error")
	return c
}

func runReport(ctx context.Context, e *env, f *shrinkFlags, args []string) error {
	if err := f.check.validate(args); err != nil {
		return err
	}
	path := args[0]
	p := newProgress(e.stderr, f.check.quiet, false)
	defer p.Close()
	r, early, err := f.smallest(ctx, e, path, p)
	if none, ok := errors.AsType[*shrink.NoViolation](err); ok {
		fmt.Fprintf(e.stderr, "isovet: %s: %s\n", path, strings.Replace(none.Error(), "to shrink", "to report", 1))
		return status(statusUnknown)
	}
	if err != nil {
		return err
	}
	note(r, path)
	s := report.Issue{File: path, Whole: r.H, Small: r.H, Answer: r.Answer, From: r.From.String(),
		Version: buildVersion().String(), Flags: "--level " + r.Answer.Level.String()}
	if f.check.checker != auto {
		s.Flags += " --checker " + escape.Shell(f.check.checker)
	}
	if f.check.profileName != "" {
		s.Flags += " --profile " + escape.Shell(f.check.profileName)
	}
	if f.check.skew != 0 {
		s.Flags += " --clock-skew " + f.check.skew.String()
	}
	if f.check.atStart {
		s.Flags += " --read-only-at-start"
	}
	if f.check.ignore {
		s.Flags += " --ignore-predicates"
	}
	if len(r.Answer.Anomalies) > 0 {
		for _, d := range docs.Anomalies() {
			if d.Kind == string(r.Answer.Anomalies[0].Kind) {
				s.About = d.About
			}
		}
	}
	if err := e.writeFile(f.out, func(w io.Writer) error { return report.Markdown(w, &s) }); err != nil {
		return err
	}
	if early != "" {
		fmt.Fprintf(e.stderr, "isovet: %s: %s; the report has the smallest history found by then\n", path, early)
	}
	if errors.Is(r.Ended, errInterrupted) {
		return status(statusInterrupted)
	}
	return nil
}
