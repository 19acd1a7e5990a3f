// Package docs has the texts that the program shows offline: what the anomalies are.
//
// Experimental: this package may still change.
package docs

import (
	_ "embed"
	"strings"
)

// table has a line for each kind, under a header: its columns are the fields of [Anomaly].
//
//go:embed anomalies.tsv
var table string

// Anomaly is a kind of anomaly: what it is, the weakest levels that forbid it, both in words, and a history that shows
// it, in one line (package internal/test/histtest/notation has the grammar).
type Anomaly struct{ Kind, About, Weakest, Example string }

// Anomalies returns the kinds in the order of the table, those with the endings -session and -realtime included.
func Anomalies() []Anomaly {
	var out []Anomaly
	_, rows, _ := strings.Cut(table, "\n")
	for line := range strings.Lines(rows) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(f) == 4 {
			out = append(out, Anomaly{f[0], f[1], f[2], f[3]})
		}
	}
	return out
}

// AboutAnomaly says what a kind is, in a sentence without a full stop; "" for a kind that the table does not have.
func AboutAnomaly(kind string) string {
	for _, d := range Anomalies() {
		if d.Kind == kind {
			return d.About
		}
	}
	return ""
}
