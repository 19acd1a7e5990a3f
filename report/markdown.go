package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"

	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/escape"
	"isovet/internal/plural"
)

// Issue is the content of a bug report.
type Issue struct {
	File   string           // the history that was recorded
	Whole  *history.History // that; its header says what was recorded
	Small  *history.History // the smallest history that shows it
	Answer *evidence.Result // the answer for Small
	From   string           // the size of the whole, in words
	About  string           // description of the anomaly; "": none
	Flags  string           // flags of isovet check for the same question
	// Version is isovet's version.
	Version string
}

// Markdown writes the text of a bug report: what the database promises, what was observed, the smallest history that
// shows it, and how to verify it.
func Markdown(w io.Writer, s *Issue) error {
	r := s.Answer
	kind, what := "violation of a mechanism", ""
	if len(r.Anomalies) > 0 {
		kind, what = string(r.Anomalies[0].Kind), textOf(&r.Anomalies[0], r)
	} else if r.Mechanisms != nil && len(r.Mechanisms.Violations) > 0 {
		v := r.Mechanisms.Violations[0]
		kind, what = v.Mechanism+": "+v.Kind, v.Text+"\nassuming that "+v.Assumes
	}
	db := escape.Markdown(cmp.Or(s.Whole.Meta.DB, "The database"))
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s: %s where %s is promised\n\n", db, kind, r.Label())
	fmt.Fprintf(&b, "## What was promised\n\n")
	at := ""
	if i := s.Whole.Meta.Isolation; i != "" {
		at = " at its isolation level " + escape.Code(i)
	}
	fmt.Fprintf(&b, "This report assumes that %s%s promises **%s**: %s.\n\n", db, at, r.Label(), r.Level.About())
	fmt.Fprintf(&b, "## What was seen\n\n")
	if s.About != "" {
		fmt.Fprintf(&b, "**%s**: %s.\n\n", kind, s.About)
	}
	b.WriteString(escape.Fence("", what))
	fmt.Fprintf(&b, "T7 is transaction 7 of the recorded history (%s: %s", escape.Code(s.File), s.From)
	if wl := s.Whole.Meta.Workload; wl != "" {
		fmt.Fprintf(&b, "; workload %s", escape.Code(wl))
	}
	fmt.Fprintf(&b, ").\n\n## The smallest history that shows it\n\n")
	fmt.Fprintf(&b, "%s, cut down from the recorded history, which violates the level too. A line is a transaction, "+
		"in the order of the recording: its session, its times, its reads (`r`) and its writes (`w`).\n\n", plural.Of(transactions(s.Small), "transaction"))
	var lines bytes.Buffer
	if err := jsonl.Write(&lines, s.Small); err != nil {
		return err
	}
	b.WriteString(escape.Fence("json", lines.String()))
	fmt.Fprintf(&b, "## How to verify it\n\n")
	fmt.Fprintf(&b, "Read the reasons above against the lines. Or save the lines as `small.jsonl` and ask isovet (%s):\n\n",
		s.Version)
	b.WriteString(escape.Fence("sh", "isovet check "+s.Flags+" small.jsonl\nisovet check "+s.Flags+
		" --certificate small.cert small.jsonl; isovet verify small.cert small.jsonl"))
	fmt.Fprintf(&b, "The content of the history has the SHA-256 %s, as its certificate says too.\n",
		escape.Code(evidence.ContentHash(s.Small)))
	_, err := w.Write(b.Bytes())
	return err
}

func transactions(h *history.History) int {
	n := h.NumTxns()
	if h.Init != history.None {
		n--
	}
	return n
}
