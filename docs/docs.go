// Package docs has the pages that the program shows offline, as they stand in this folder.
//
// Experimental: this package may still change.
package docs

import (
	_ "embed"
	"regexp"
	"strings"
)

//go:embed anomalies.md
var anomalies string

// Anomaly is what the page of anomalies says of a kind: what it is, and the weakest levels that forbid it, both in
// words, and a history that shows it, in one line (package internal/test/histtest/notation has the grammar).
type Anomaly struct{ Kind, About, Weakest, Example string }

var item = regexp.MustCompile("(?m)^- `([A-Za-z0-9-]+)`: (.+)\\. Weakest levels: (.+)\\. Example: `(.+)`$")

// Anomalies returns the kinds in the order of the page, those with the endings -session and -realtime included.
func Anomalies() []Anomaly {
	var out []Anomaly
	page := strings.ReplaceAll(anomalies, "\n  ", " ") // an item's further lines are indented
	for _, m := range item.FindAllStringSubmatch(page, -1) {
		out = append(out, Anomaly{Kind: m[1], About: m[2], Weakest: m[3], Example: m[4]})
	}
	return out
}

// AboutAnomaly says what a kind is, in a sentence without a full stop; "" where the page does not have it.
func AboutAnomaly(kind string) string {
	for _, d := range Anomalies() {
		if d.Kind == kind {
			return d.About
		}
	}
	return ""
}
