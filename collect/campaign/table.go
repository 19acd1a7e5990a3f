package campaign

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"isovet/collect/driver"
	"isovet/collect/hunt"
	"isovet/internal/escape"
	"isovet/internal/plural"
	"isovet/level"
)

// Row is a cell with the sum of its hunts.
type Row struct {
	Cell
	Elapsed          time.Duration
	Runs, Rounds     int
	Committed        int
	Attempts         int
	Refused          int
	Kinds            []string      // of violations
	At               []string      // the same, with the violated level where the cell has several
	First            time.Duration // hunting time up to the first violation
	Kept             string        // its place in the folder; "": it was not stored
	Outcome, Because string        // a word, and the reason
}

// NoneFound is the outcome of a cell that was hunted long enough without a violation.
const NoneFound = "none found"

// Contradicts reports whether the cell shows an anomaly that the database's documentation excludes.
func (r *Row) Contradicts() bool {
	p := driver.Promise{But: r.Allowed}
	return r.Source != "" && slices.ContainsFunc(r.Kinds, func(k string) bool { return !p.Excepts(level.Anomaly(k)) })
}

// Rows returns the cells of the plan, including those of other shards, and the cells of earlier plans.
func (p *Campaign) Rows() []Row {
	cells := map[string]*Cell{}
	var order []string
	add := func(c *Cell) {
		if _, ok := cells[c.key()]; !ok {
			order = append(order, c.key())
		}
		cells[c.key()] = c
	}
	for i := range p.Runs {
		add(&p.Runs[i].Cell)
	}
	for _, c := range p.Cells {
		add(c)
	}
	slices.Sort(order)
	t := p.tallies()
	var rows []Row
	for _, k := range order {
		x := t[k]
		r := Row{Cell: *cells[k], Elapsed: x.elapsed, Runs: x.runs, Rounds: x.rounds, Committed: x.committed,
			Attempts: x.attempts, Refused: x.refused, Kinds: x.kinds, At: x.at, First: x.first, Kept: x.kept}
		r.Outcome, r.Because = x.outcome()
		rows = append(rows, r)
	}
	return rows
}

// outcome returns the combined outcome of a cell's hunts.
func (t *tally) outcome() (word, why string) {
	switch {
	case t.runs == 0:
		return "not run", ""
	case len(t.kinds) > 0:
		return strings.Join(t.at, ", "), ""
	case t.unsupported > 0:
		return "not supported", t.reason
	case t.failed == t.runs:
		return "error", t.reason
	case t.committed < hunt.FewCommits || float64(t.refused) > hunt.MostRefused*float64(t.attempts):
		return "inconclusive", t.reason
	case t.undecided == t.rounds:
		return "unknown", t.reason
	}
	return NoneFound, t.reason
}

// Sum describes the hunts in a sentence.
func (p *Campaign) Sum() string {
	var elapsed time.Duration
	committed, cells, violated, contradicts := 0, 0, 0, 0
	rows := p.Rows()
	for i := range rows {
		r := &rows[i]
		elapsed += r.Elapsed
		committed += r.Committed
		if r.Runs > 0 {
			cells++
		}
		if len(r.Kinds) > 0 {
			violated++
		}
		if r.Contradicts() {
			contradicts++
		}
	}
	return fmt.Sprintf("%s in %d of %s, %v in all, %s; violations in %s, %d of them against the database's "+
		"documentation", plural.Of(len(p.Runs), "hunt"), cells, plural.Of(len(rows), "cell"),
		elapsed.Round(time.Second), plural.Of(committed, "committed transaction"), plural.Of(violated, "cell"),
		contradicts)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }

// Markdown writes the table, without cells that were not hunted.
func (p *Campaign) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\n%s%s", p.Sum(), "| database | isolation | hunted for | workload | fault | s | rounds | "+
		"commits | refused % | found | first after s |\n", strings.Repeat("| --- ", 11)+"|\n")
	for _, r := range p.Rows() {
		if r.Runs == 0 {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %d | %d | %.1f | %s | %s |\n",
			escape.Cell(r.Name()), escape.Cell(r.Isolation), r.Level, escape.Cell(r.Workload), escape.Cell(r.Fault),
			seconds(r.Elapsed), r.Rounds, r.Committed, r.RefusedShare(), r.Outcome, r.FirstAfter())
	}
	for _, a := range p.Away {
		fmt.Fprintf(&b, "\nNot hunted: %s: %s\n", escape.Code(a.DB), escape.Code(a.Reason))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Name returns the database's name on the page.
func (r *Row) Name() string {
	if r.Product == "" || strings.Contains(r.DB, ":start:") {
		return strings.TrimSpace(r.Product + " " + r.DB)
	}
	return r.Product
}

// RefusedShare returns the percentage of attempts that the database refused.
func (r Row) RefusedShare() float64 { return 100 * float64(r.Refused) / float64(max(r.Attempts, 1)) }

// FirstAfter returns the time to the first violation, in seconds, or "".
func (r Row) FirstAfter() string {
	if len(r.Kinds) == 0 {
		return ""
	}
	return seconds(r.First)
}

// Seconds returns the hunting time in seconds.
func (r Row) Seconds() string { return seconds(r.Elapsed) }

// HTML writes the page. Of the cells that were not hunted it has the number for each database.
func (p *Campaign) HTML(w io.Writer) error {
	var rows []Row
	unhunted, all := map[string]int{}, 0
	for _, r := range p.Rows() {
		if r.Runs > 0 {
			rows = append(rows, r)
			continue
		}
		unhunted[r.Name()]++
		all++
	}
	return escape.Page(w, func(w io.Writer) error {
		return page.Execute(w, map[string]any{"Sum": p.Sum(), "Rows": rows, "Away": p.Away, "Unhunted": unhunted,
			"All": all})
	})
}

//go:embed table.tmpl
var pageText string

var page = template.Must(template.New("campaign").Parse(pageText))
