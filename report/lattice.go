package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"isovet/evidence"
	"isovet/internal/slice"
	"isovet/level"
)

type pageLevel struct{ Level, Verdict, Checker, What, To string }

// Failure is an anomaly, with the levels for which the answer lists it first.
type Failure struct {
	At     []level.Level
	Result *evidence.Result // the first of them
}

// Failures returns the first anomaly of each level's answer. Anomalies with equal text become one Failure.
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

// LevelNames lists levels on one line.
func LevelNames(ls []level.Level) string {
	return cmp.Or(strings.Join(slice.Map(ls, level.Level.String), ", "), "none")
}

// LatticeHTML writes a page like HTML for the answers at all levels: a figure and a table of the levels, with links to
// the anomaly that each violated level shows.
func LatticeHTML(w io.Writer, name string, results []*evidence.Result, holding, failing []level.Level) error {
	d := pageData{Name: name, Level: "some levels", Verdict: evidence.Holds.String(),
		Summary: "Strongest that hold: " + LevelNames(holding) + ". Weakest that fail: " + LevelNames(failing) + "."}
	var shown []evidence.Anomaly
	at := make(map[level.Level]string)
	for i, f := range Failures(results) {
		id := fmt.Sprintf("a%d", i+1)
		a := newPageAnomaly(f.Result, &f.Result.Anomalies[0], id)
		a.Title += ", at " + LevelNames(f.At)
		d.Anomalies = append(d.Anomalies, a)
		shown = append(shown, f.Result.Anomalies[0])
		for _, l := range f.At {
			at[l] = id
		}
	}
	for _, r := range results {
		row := pageLevel{Level: r.Level.String(), Verdict: r.Verdict.String(), Checker: r.Checker, What: r.Reason,
			To: at[r.Level]}
		if len(r.Anomalies) > 0 {
			row.What = r.Anomalies[0].Title(r.H)
		}
		d.Levels = append(d.Levels, row)
	}
	if len(failing) > 0 {
		d.Verdict = evidence.Violated.String()
	} else if len(holding) == 0 {
		d.Verdict, d.Level = evidence.Unknown.String(), "every level"
	}
	d.Lattice = markup(lattice(results, at))
	d.Deps = used(shown)
	if len(results) > 0 && results[0].H != nil {
		d.Meta = MetaPairs(results[0].H)
		d.drawRun(results[0].H, results[0].H, shown)
	}
	return d.write(w)
}

// lattice draws the levels with their verdicts, each above those that it implies. A violated level links to its
// anomaly.
func lattice(results []*evidence.Result, to map[level.Level]string) string {
	const boxWidth, boxHeight, stepX, stepY = 196, 38, 222, 66
	of := make(map[level.Level]*evidence.Result)
	for _, r := range results {
		of[r.Level] = r
	}
	// A level's height is the longest way down from it.
	var depth func(level.Level) int
	depth = func(l level.Level) int {
		n := 0
		for m := range of {
			if m != l && l.Implies(m) {
				n = max(n, 1+depth(m))
			}
		}
		return n
	}
	top := 0
	for l := range of {
		top = max(top, depth(l))
	}
	place := func(l level.Level) (x, y float64) {
		row := top - depth(l)
		if l == level.Linearizable {
			row = 0
		}
		return float64(10 + stepX*latticeColumn(l)), float64(10 + stepY*row)
	}
	var b strings.Builder
	width, height := 10+stepX*4, 10+stepY*top+boxHeight+10
	fmt.Fprintf(&b, `<svg class="lattice" viewBox="0 0 %d %d" width="%d" role="img"><title>The levels; a line leads from `+
		`each to the weaker ones that it implies</title>`, width, height, width)
	for _, l := range level.All() {
		for _, m := range level.All() {
			if of[l] == nil || of[m] == nil || l == m || !l.Implies(m) || between(of, l, m) {
				continue
			}
			x1, y1 := place(l)
			x2, y2 := place(m)
			fmt.Fprintf(&b, `<path class="implies" d="M%.0f,%.0f C%.0f,%.0f %.0f,%.0f %.0f,%.0f"/>`, x1+boxWidth/2, y1+
				boxHeight, x1+boxWidth/2, y1+boxHeight+18, x2+boxWidth/2, y2-18, x2+boxWidth/2, y2)
		}
	}
	for _, l := range level.All() {
		r := of[l]
		if r == nil {
			continue
		}
		x, y := place(l)
		word := r.Verdict.String()
		if len(r.Anomalies) > 0 {
			word = esc(Clip("✗ "+string(r.Anomalies[0].Kind), 28))
		}
		if id := to[l]; id != "" {
			fmt.Fprintf(&b, `<a href="#%s">`, id)
		}
		fmt.Fprintf(&b, `<g class="level %s" transform="translate(%.0f,%.0f)"><title>%s: %s</title>`+
			`<rect width="%d" height="%d" rx="6"/><text class="head" x="8" y="16">%s</text><text x="8" y="30">%s</text></g>`,
			r.Verdict, x, y, l, esc(l.About()), boxWidth, boxHeight, l, word)
		if to[l] != "" {
			b.WriteString(`</a>`)
		}
	}
	b.WriteString(`</svg>`)
	return b.String()
}

// latticeColumn returns the column of a level, from left to right.
func latticeColumn(l level.Level) int {
	switch {
	case l.Serial():
		return 1
	case l.Snapshot():
		return 2
	case l == level.RepeatableRead || l == level.Linearizable:
		return 0
	}
	return 3
}

// between reports whether a third level lies between l and m: l implies it, and it implies m.
func between(of map[level.Level]*evidence.Result, l, m level.Level) bool {
	return slices.ContainsFunc(level.All(), func(n level.Level) bool {
		return of[n] != nil && n != l && n != m && l.Implies(n) && n.Implies(m)
	})
}
