package checks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"

	"isovet/evidence"
	"isovet/internal/cli/console"
	"isovet/internal/escape"
	"isovet/report"
)

// Outputs are the values of --output with descriptions.
var Outputs = []console.Choice{
	{Name: "text", About: "for people"},
	{Name: "json", About: "one object a line for each history"},
	{Name: "junit", About: "JUnit XML: a suite a history, a case a level"},
	{Name: "sarif", About: "SARIF 2.1.0, for code scanning: a result a finding, at its transaction's line"},
	{Name: "github", About: "annotations in a log of GitHub Actions, at the transaction's line"},
}

// around writes what surrounds the answers for n histories, each with several answers, which work writes: the begin
// and end of a document, or a line of totals for people. In a supervised process the keeper does this.
func (f *CheckFlags) around(e *console.Env, n, answers int, work func() (console.Tally, error)) error {
	if f.unsolved != "" {
		fmt.Fprintf(e.Stderr, "isovet: --solver is not used: %s\n", f.unsolved)
	}
	if e.Kept != nil {
		_, err := work()
		return err
	}
	s, document := report.NewStream(f.output, console.BuildVersion().Version)
	if document {
		if err := s.Begin(e.Stdout, n, answers); err != nil {
			return err
		}
	}
	t, err := work()
	if document {
		early := ""
		if t.Totals.Histories < n {
			if early = fmt.Sprintf("%d of %d histories were checked", t.Totals.Histories, n); err != nil {
				early = err.Error()
			}
		}
		if werr := s.End(e.Stdout, console.StatusOf(err), early); werr != nil {
			return errors.Join(err, werr)
		}
	}
	if n > 1 && !f.json && t.Totals.Histories > 0 {
		w := e.Stdout
		if document {
			w = e.Stderr
		}
		if _, werr := fmt.Fprintln(w, t.Totals.String()); werr != nil {
			return errors.Join(err, werr)
		}
	}
	return err
}

// colored reports whether output to w may be coloured: w is a terminal, and colours are not switched off
// (https://no-color.org).
func colored(w io.Writer) bool {
	f, ok := escape.Unwrap(w).(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" &&
		(isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}

// item returns the result for documents, without its answers.
func (o *outcome) item() *report.Item {
	it := &report.Item{Path: o.path, Err: o.err}
	if !o.began.IsZero() {
		it.Seconds = time.Since(o.began).Seconds()
	}
	return it
}

// resultJSON returns the JSON object of docs/output.md. If there is no answer because of bad input or a fault, the
// verdict is unknown with the error as reason, so that every history has a line.
func resultJSON(f *CheckFlags, o outcome) ([]byte, error) {
	if o.result != nil {
		return evidence.JSON(o.result, o.path)
	}
	lev, checker, workload := f.level.String(), f.judge.name, ""
	if e, is := errors.AsType[*notJudged](o.err); is {
		lev, checker, workload = "", "workload", e.workload
	}
	return json.Marshal(struct {
		History   string   `json:"history"`
		Level     string   `json:"level,omitempty"`
		Workload  string   `json:"workload,omitempty"`
		Checker   string   `json:"checker"`
		Verdict   string   `json:"verdict"`
		Reason    string   `json:"reason"`
		Error     string   `json:"error"`
		Anomalies []string `json:"anomalies"`
	}{o.path, lev, workload, checker, evidence.Unknown.String(), "no answer: " + o.err.Error(), o.err.Error(),
		[]string{}})
}
