package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"isovet/evidence"
	"isovet/internal/escape"
	"isovet/internal/plural"
)

// TextOptions are the options of Text. The zero value is the default.
type TextOptions struct {
	MaxAnomalies int // anomalies described; 0: 3
	MaxLines     int // lines of a description; 0: 40
	// Color colours the verdict and the anomalies' names, with the escape sequences of terminals.
	Color bool
}

// paint adds a terminal colour to a text.
func (o *TextOptions) paint(code, text string) string {
	if !o.Color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

const (
	green  = "32"
	red    = "1;31"
	yellow = "33"
	bold   = "1"
)

// Text writes a verdict for people: the answer, the reason, and the checker's work. It escapes the history's strings.
func Text(w io.Writer, name string, r *evidence.Result, o TextOptions) error {
	o.MaxAnomalies = cmp.Or(o.MaxAnomalies, 3)
	o.MaxLines = cmp.Or(o.MaxLines, 40)
	b := bufio.NewWriter(w)
	name = escape.Line(name)
	switch r.Verdict {
	case evidence.Holds:
		fmt.Fprintf(b, "%s: %s at %s\n", name, o.paint(green, "valid"), r.Label())
		if r.Stricter != "" {
			fmt.Fprintf(b, "  but %s is violated; --level %s shows how\n", r.Stricter, r.Stricter)
		}
	case evidence.Violated:
		fmt.Fprintf(b, "%s: %s of %s\n", name, o.paint(red, "VIOLATION"), r.Label())
		for i := range r.Anomalies[:min(len(r.Anomalies), o.MaxAnomalies)] {
			a := &r.Anomalies[i]
			fmt.Fprintf(b, "  %s\n", o.paint(bold, escape.Line(a.Title(r.H))))
			describe(b, a, r, o.MaxLines)
		}
		if n := more(r, o.MaxAnomalies); n > 0 {
			of := ""
			if r.Counts == nil {
				of = " (of those listed: " + kindCounts(Kinds(r)) + ")"
			}
			fmt.Fprintf(b, "  and %s%s\n", plural.Phrase(n, "further anomaly", "further anomalies"), of)
		}
		if r.Counts != nil && len(r.Anomalies)+r.Also > 1 {
			out, may := r.Levels()
			all := "in all"
			if r.CountsCut {
				all = "at least"
			}
			fmt.Fprintf(b, "  %s: %s\n  ruled out: %s, and the levels that imply these; may hold: %s\n",
				all, kindCounts(Kinds(r)), LevelNames(out), LevelNames(may))
		}
		for _, hint := range evidence.Hints(r) {
			fmt.Fprintf(b, "  hint: %s\n", escape.Line(hint))
		}
	default:
		fmt.Fprintf(b, "%s: %s at %s: %s\n", name, o.paint(yellow, "unknown"), r.Label(), escape.Text(r.Reason))
	}
	mechanisms(b, r.Mechanisms, o.MaxAnomalies)
	fmt.Fprintf(b, "  %s\n", escape.Line(Summary(r)))
	return b.Flush()
}

// mechanisms writes the section about the database's mechanisms.
func mechanisms(b *bufio.Writer, m *evidence.Mechanisms, most int) {
	if m == nil {
		return
	}
	profile := escape.Line(m.Profile)
	if m.Total() == 0 {
		fmt.Fprintf(b, "  under profile %s: no mechanism failed\n", profile)
		return
	}
	fmt.Fprintf(b, "  under profile %s:\n", profile)
	for i := range m.Violations[:min(len(m.Violations), most)] {
		v, proved := &m.Violations[i], ""
		if v.Proved {
			proved = " (proved: a violation without that assumption)"
		}
		fmt.Fprintf(b, "    %s, %s: %s\n      assuming that %s%s\n", v.Mechanism, v.Kind, escape.Text(v.Text),
			escape.Text(v.Assumes), proved)
	}
	if n := m.Total() - most; n > 0 {
		fmt.Fprintf(b, "    and %s\n", plural.Phrase(n, "further violation", "further violations"))
	}
}

// more returns the number of anomalies that the text does not describe.
func more(r *evidence.Result, most int) int {
	return r.Also + max(0, len(r.Anomalies)-most)
}

func describe(b *bufio.Writer, a *evidence.Anomaly, r *evidence.Result, max int) {
	n := 0
	for line := range strings.Lines(textOf(a, r)) {
		if n++; n > max {
			continue
		}
		fmt.Fprintf(b, "    %s\n", escape.Text(strings.TrimRight(line, "\n")))
	}
	if n > max {
		fmt.Fprintf(b, "    … %s; --json, --report and --certificate have all\n", plural.Of(n-max, "more line"))
	}
}

// textOf returns an anomaly's text and its transactions' statements. It makes the text if the checker made none.
func textOf(a *evidence.Anomaly, r *evidence.Result) string {
	text := a.Text
	if text == "" {
		text = evidence.Describe(a, r.H)
	}
	return evidence.InSQL(text, a, r.H)
}

// Summary returns a line with the history, the checker and the time.
func Summary(r *evidence.Result) string {
	s := &r.Stats
	parts := []string{}
	if r.H != nil {
		txns := plural.Of(s.Txns, "transaction")
		if s.Invented > 0 {
			txns += " and " + plural.Of(s.Invented, "writer") + " without a record in the file"
		}
		parts = append(parts, fmt.Sprintf("%s, %s, %s, %s", txns,
			plural.Of(s.Ops, "operation"), plural.Of(s.Sessions, "session"), plural.Of(s.Keys, "key")))
	}
	if r.Checker != "" {
		by := "by " + r.Checker
		if r.Solver != "" {
			by += " with " + r.Solver
		}
		if r.Settings != "" {
			by += " (" + r.Settings + ")"
		}
		if r.DecidedBy != "" {
			by += ", decided by " + r.DecidedBy
		}
		switch {
		case r.Implied && r.Verdict == evidence.Holds:
			by += " at " + r.ImpliedBy.String() + ", which implies this level"
		case r.Implied:
			by += " at " + r.ImpliedBy.String() + ", which this level implies"
		}
		parts = append(parts, by)
	}
	if s.LoadMS > 0 {
		parts = append(parts, "loaded in "+Millis(s.LoadMS))
	}
	if s.CheckMS > 0 {
		parts = append(parts, "checked in "+Millis(s.CheckMS))
	}
	switch in := Millis(s.CertifyMS); {
	case r.Certified != "" && s.CertifyMS > 0:
		parts = append(parts, "certified: "+r.Certified+", in "+in)
	case r.Certified != "":
		parts = append(parts, "certified: "+r.Certified)
	case s.CertifyMS > 0:
		parts = append(parts, "certified in "+in)
	}
	if s.PeakMB > 0 {
		parts = append(parts, fmt.Sprintf("%.0f MB at most", s.PeakMB))
	}
	return strings.Join(parts, "; ")
}

// Millis writes milliseconds in the unit that reads best.
func Millis(ms float64) string {
	switch {
	case ms >= 60e3:
		return fmt.Sprintf("%d min %02.0f s", int(ms/60e3), (ms-60e3*float64(int(ms/60e3)))/1e3)
	case ms >= 1e4:
		return fmt.Sprintf("%.1f s", ms/1e3)
	case ms >= 1e3:
		return fmt.Sprintf("%.2f s", ms/1e3)
	case ms >= 100:
		return fmt.Sprintf("%.0f ms", ms)
	case ms >= 10:
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.2f ms", ms)
}

func sortedKeys(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }
