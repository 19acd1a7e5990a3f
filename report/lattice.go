package report

import (
	"io"
	"strings"

	"isovet/evidence"
	"isovet/level"
)

type pageLevel struct{ Level, Verdict, Checker, What string }

// Failure is an anomaly, and the levels whose answers have it first.
type Failure struct {
	At     []level.Level
	Result *evidence.Result // the first of them
}

// Failures returns the first anomaly of each level's answer, those with the same text once.
func Failures(results []*evidence.Result) (out []Failure) {
	at := make(map[string]int)
	for _, r := range results {
		if len(r.Anomalies) == 0 {
			continue
		}
		i, ok := at[r.Anomalies[0].Text]
		if !ok {
			i = len(out)
			at[r.Anomalies[0].Text] = i
			out = append(out, Failure{Result: r})
		}
		out[i].At = append(out[i].At, r.Level)
	}
	return out
}

// LevelNames lists levels in a line.
func LevelNames(ls []level.Level) string {
	if len(ls) == 0 {
		return "none"
	}
	var out []string
	for _, l := range ls {
		out = append(out, l.String())
	}
	return strings.Join(out, ", ")
}

// LatticeHTML is HTML for the answers at all levels: a table of them, and of each failure its anomaly.
func LatticeHTML(w io.Writer, name string, results []*evidence.Result, holding, failing []level.Level) error {
	d := pageData{Name: name, Level: "some levels", Verdict: evidence.Holds.String(),
		Summary: "Strongest that hold: " + LevelNames(holding) + ". Weakest that fail: " + LevelNames(failing) + "."}
	var shown []evidence.Anomaly
	for _, r := range results {
		row := pageLevel{Level: r.Level.String(), Verdict: r.Verdict.String(), Checker: r.Checker, What: r.Reason}
		if len(r.Anomalies) > 0 {
			row.What = title(&r.Anomalies[0])
		}
		d.Levels = append(d.Levels, row)
	}
	if len(failing) > 0 {
		d.Verdict = evidence.Violated.String()
	} else if len(holding) == 0 {
		d.Verdict, d.Level = evidence.Unknown.String(), "every level"
	}
	for _, f := range Failures(results) {
		a := newPageAnomaly(f.Result, &f.Result.Anomalies[0])
		a.Title += ", at " + LevelNames(f.At)
		d.Anomalies = append(d.Anomalies, a)
		shown = append(shown, f.Result.Anomalies[0])
	}
	d.Deps = used(shown)
	if len(results) > 0 && results[0].H != nil {
		d.Meta = metaPairs(results[0].H)
	}
	return d.write(w)
}
