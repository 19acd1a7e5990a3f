package collects

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/check/shrink"
	"isovet/collect"
	"isovet/collect/driver"
	"isovet/collect/probe"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/cli/checks"
	"isovet/internal/cli/console"
	"isovet/internal/escape"
	"isovet/internal/plural"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/report/incident"
)

type probeFlags struct {
	cfg         probe.Config
	dir         string
	output      string
	incidents   string
	json, quiet bool
}

func NewProbe(e *console.Env) *cobra.Command {
	f := probeFlags{output: "text", incidents: "contradictions"}
	c := console.Command("probe", console.Exactly(), func(c *cobra.Command, _ []string) error {
		if len(f.cfg.DB) == 0 {
			return console.Usagef(noDatabase, c.CommandPath())
		}
		if f.cfg.Load < 0 || f.cfg.Timeout <= 0 || f.cfg.Sessions < 1 {
			return console.Usagef("--for %v, --op-timeout %v, --sessions %d; expected no negative time, and a session",
				f.cfg.Load, f.cfg.Timeout, f.cfg.Sessions)
		}
		if err := console.Crossed(c); err != nil {
			return err
		}
		return runProbe(c.Context(), e, &f)
	})
	fl := c.Flags()
	fl.StringArrayVar(&f.cfg.DB, "db", nil, "the database's `URL`, or postgres:start; once for each node")
	fl.StringArrayVar(&f.cfg.Isolations, "isolation", nil, "level to probe; repeat it for more (default: all)")
	fl.DurationVar(&f.cfg.Load, "for", 30*time.Second, "duration of the random load at all levels; 0: none")
	fl.IntVar(&f.cfg.Sessions, "sessions", 12, "client sessions of the load")
	fl.Uint64Var(&f.cfg.Seed, "seed", 1, "seed of the load")
	fl.DurationVar(&f.cfg.Timeout, "op-timeout", 10*time.Second, "longest time to wait for an answer")
	fl.StringVar(&f.dir, "out", "", "`FOLDER` for the table and the evidence")
	console.EnumFlag(c, &f.incidents, "incidents", "which",
		"anomalies that get an incident folder", []string{"contradictions", "seen", "none"})
	console.EnumFlag(c, &f.output, "output", "output", "form of the table: text, markdown, json",
		[]string{"text", "markdown", "json"})
	fl.BoolVar(&f.json, "json", false, "short for --output json")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "print errors only")
	return c
}

func runProbe(ctx context.Context, e *console.Env, f *probeFlags) error {
	if f.json {
		f.output = "json"
	}
	if f.dir != "" {
		if err := os.MkdirAll(f.dir, 0o755); err != nil {
			return err
		}
	}
	p := console.NewProgress(e.Stderr, f.quiet, f.output == "json")
	defer p.Close()
	p.Begin("probing")
	f.cfg.Told = func(what string, done, total int) { p.Step(what, done, total) }
	dirs := f.incidentsOf(e)
	found, err := probe.Run(ctx, f.cfg)
	if found == nil {
		p.Hide()
		return console.OrStopped(ctx, err, "probing")
	}
	t := NewProbeTable(found)
	for i := range t.Cells {
		t.Cells[i].Incident = dirs[cellName(t.Cells[i].Isolation, t.Cells[i].Anomaly)]
	}
	if f.dir != "" {
		if werr := t.keep(ctx, e, f.dir, p); werr != nil {
			p.Hide()
			return errors.Join(err, werr)
		}
	}
	p.Hide()
	if werr := t.Write(e.Stdout, f.output); werr != nil {
		return werr
	}
	switch {
	case err != nil:
		return console.OrStopped(ctx, err, "probing")
	case found.Interrupted:
		return console.Exit(console.StatusInterrupted, errors.New("interrupted; the table holds the findings so far"))
	case len(found.Contradictions()) > 0:
		return console.Status(console.StatusViolation)
	}
	return nil
}

// probeJSON is what "isovet probe --json" prints.
type probeJSON struct {
	DB          string           `json:"db"`
	Nodes       int              `json:"nodes"`
	ElapsedMS   float64          `json:"elapsed_ms"`
	Interrupted bool             `json:"interrupted,omitempty"`
	Isolations  []probeIsolation `json:"isolations"`
	Cells       []probeCell      `json:"cells"`
}

type probeIsolation struct {
	Isolation     string   `json:"isolation"`
	Said          string   `json:"said_by_database"`
	Documentation string   `json:"documentation,omitempty"`
	Commits       int      `json:"load_commits"`
	Aborts        int      `json:"load_aborts"`
	Other         []string `json:"other_anomalies,omitempty"`
	Undecided     []string `json:"undecided,omitempty"`
}

type probeCell struct {
	Anomaly     string     `json:"anomaly"`
	About       string     `json:"about"`
	ForbiddenBy string     `json:"forbidden_by"`
	Isolation   string     `json:"isolation"`
	Seen        probe.Seen `json:"seen"`
	Documented  string     `json:"documented,omitempty"`
	Contradicts bool       `json:"contradicts_documentation,omitempty"`
	How         string     `json:"prevented_by,omitempty"`
	Schedule    string     `json:"schedule,omitempty"`
	Kind        string     `json:"kind,omitempty"`
	History     string     `json:"history,omitempty"`
	Certificate string     `json:"certificate,omitempty"`
	Incident    string     `json:"incident,omitempty"`      // its folder
	Whole       string     `json:"whole_history,omitempty"` // if shrinking History did not end
	result      *evidence.Result
	kinds       []level.Anomaly // the kinds by which a load shows it
}

// ProbeTable is a probe's outcome as a table.
type ProbeTable struct {
	probeJSON
	names []string // names of the phenomena, in the order of the rows
}

// NewProbeTable returns the table of a probe.
func NewProbeTable(p *probe.Probed) *ProbeTable {
	t := &ProbeTable{probeJSON: probeJSON{DB: p.DB, Nodes: p.Nodes, ElapsedMS: console.Milliseconds(p.Elapsed),
		Interrupted: p.Interrupted, Cells: []probeCell{}}}
	for _, in := range p.Isolations {
		t.Isolations = append(t.Isolations, probeIsolation{Isolation: in.Name, Said: in.Said, Documentation: in.Source,
			Commits: in.Commits, Aborts: in.Aborts, Undecided: in.Undecided,
			Other: slice.Map(in.Other, func(k level.Anomaly) string { return string(k) })})
	}
	for _, ph := range probe.Phenomena() {
		t.names = append(t.names, ph.Name)
		for _, in := range p.Isolations {
			c := p.Cell(ph.Name, in.Name)
			if c == nil {
				continue
			}
			j := probeCell{Anomaly: ph.Name, About: ph.About, ForbiddenBy: ph.Level.String(), Isolation: in.Name,
				Seen: c.Seen, Contradicts: c.Contradicts(), How: c.How, Schedule: c.Schedule, result: c.Result,
				kinds: ph.Kinds}
			if c.Documented != driver.Unspoken {
				j.Documented = c.Documented.String()
			}
			if c.Result != nil {
				j.Kind = string(j.kindOf(c.Result))
			}
			t.Cells = append(t.Cells, j)
		}
	}
	return t
}

func (t *ProbeTable) cell(anomaly, isolation string) *probeCell {
	for i := range t.Cells {
		if c := &t.Cells[i]; c.Anomaly == anomaly && c.Isolation == isolation {
			return c
		}
	}
	return nil
}

// kindOf returns the kind of that anomaly of a result that belongs to the cell. If none does, it returns the first
// anomaly's.
func (c *probeCell) kindOf(r *evidence.Result) level.Anomaly {
	i := slices.IndexFunc(r.Anomalies, func(a evidence.Anomaly) bool { return slices.Contains(c.kinds, a.Kind) })
	return r.Anomalies[max(0, i)].Kind
}

func (c *probeCell) mark() string {
	if c == nil {
		return "not tried"
	}
	s := ""
	switch c.Seen {
	case probe.NotSeen:
		return "-"
	case probe.NotTried:
		return "not tried"
	case probe.BySchedule:
		s = "seen"
	case probe.UnderLoad:
		s = "seen under load"
	}
	if c.Contradicts {
		s += " (!)"
	}
	return s
}

// rows returns the table of phenomena by isolation.
func (t *ProbeTable) rows() (header []string, rows [][]string) {
	each := func(first string, cell func(probeIsolation) string) []string {
		return append([]string{first}, slice.Map(t.Isolations, cell)...)
	}
	header = each("anomaly", func(in probeIsolation) string { return in.Isolation })
	for _, name := range t.names {
		rows = append(rows, each(name, func(in probeIsolation) string { return t.cell(name, in.Isolation).mark() }))
	}
	return header, rows
}

// Write writes the table as text, Markdown or JSON, as output says.
func (t *ProbeTable) Write(w io.Writer, output string) error {
	switch output {
	case "json":
		return console.JSONLine(w, &t.probeJSON)
	case "markdown":
		return t.markdown(w)
	}
	header, rows := t.rows()
	fmt.Fprintf(w, "%s: anomalies seen by isolation level\n\n", t.DB)
	if err := console.Table(w, header, rows); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n"+strings.Join(t.remarks(), "\n")+"\n")
	return err
}

// remarks returns the lines below the table.
func (t *ProbeTable) remarks() []string {
	out := []string{`"-": tried and not seen, which proves nothing. "(!)": the documentation forbids it.`}
	for _, in := range t.Isolations {
		s := fmt.Sprintf("%s: the database says %q", in.Isolation, in.Said)
		if in.Commits+in.Aborts > 0 {
			s += "; load of " + plural.Of(in.Commits, "commit") + ", " + plural.Of(in.Aborts, "abort")
		}
		if len(in.Other) > 0 {
			s += "; also seen: " + strings.Join(in.Other, ", ")
		}
		if len(in.Undecided) > 0 {
			s += "; " + plural.Of(len(in.Undecided), "undecided check")
		}
		if in.Documentation != "" {
			s += "; " + in.Documentation
		}
		out = append(out, s)
	}
	for _, c := range slice.Refs(t.Cells) {
		if c.Contradicts {
			out = append(out, fmt.Sprintf("%s at %s contradicts the documentation: %s", c.Anomaly, c.Isolation,
				c.Schedule))
		}
	}
	return out
}

func (t *ProbeTable) markdown(w io.Writer) error {
	header, rows := t.rows()
	fmt.Fprintf(w, "# %s: anomalies seen by isolation level\n\n", escape.Markdown(t.DB))
	for i, row := range append([][]string{header}, rows...) {
		for j, cell := range row {
			if i == 0 { // names of isolation levels come from the database
				row[j] = escape.Cell(cell)
			}
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(w, "|%s\n", strings.Repeat(" --- |", len(row)))
		}
	}
	fmt.Fprintln(w)
	for _, r := range t.remarks() {
		fmt.Fprintf(w, "- %s\n", escape.Markdown(r))
	}
	fmt.Fprintln(w)
	for i := range t.Cells {
		if c := &t.Cells[i]; c.result != nil {
			fmt.Fprintf(w, "- **%s** at %s: %s", c.Anomaly, escape.Markdown(c.Isolation), escape.Code(c.Schedule))
			if c.History != "" {
				fmt.Fprintf(w, " ([history](%s))", c.History)
			}
			if c.Incident != "" {
				fmt.Fprintf(w, " ([incident](%s/%s))", c.Incident, incident.ReadmeFile)
			}
			fmt.Fprintln(w)
		}
	}
	return nil
}

// The time for shrinking a load's violations: for a cell, and for all.
const (
	probeShrinks    = 10 * time.Second
	probeShrinksAll = 40 * time.Second
)

// keep writes the table in every form, and the history and certificate of every anomaly. For an anomaly found under
// load it writes the smallest history that still shows it.
func (t *ProbeTable) keep(ctx context.Context, e *console.Env, dir string, p *console.Progress) error {
	p.Begin("shrinking")
	ctx, cancel := context.WithTimeout(ctx, probeShrinksAll)
	defer cancel()
	for _, c := range slice.Refs(t.Cells) {
		if c.result == nil {
			continue
		}
		base := cellName(c.Isolation, c.Anomaly)
		c.History, c.Certificate = base+".jsonl", base+".cert"
		h, r := c.result.H, c.result
		if c.Seen == probe.UnderLoad {
			p.Step(c.Anomaly+" at "+c.Isolation, 0, 0)
			s, err := c.shrunk(ctx)
			switch {
			case err != nil:
				fmt.Fprintf(e.Stderr, "isovet: cannot shrink %s: %v\n", c.History, err)
			case s.To != s.From:
				if s.Ended != nil {
					c.Whole = base + ".whole.jsonl"
					if err := keepAnswer(e, dir, c.Whole, base+".whole.cert", h, r); err != nil {
						return err
					}
				}
				checks.Note(s, c.Schedule)
				h, r = s.H, s.Answer
				c.Kind = string(c.kindOf(r))
			}
		}
		if err := keepAnswer(e, dir, c.History, c.Certificate, h, r); err != nil {
			return err
		}
	}
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"probe.txt", func(w io.Writer) error { return t.Write(w, "text") }},
		{"probe.md", t.markdown},
		{"probe.json", func(w io.Writer) error {
			enc := json.NewEncoder(w)
			enc.SetIndent("", " ")
			return enc.Encode(&t.probeJSON)
		}},
		{"probe.html", t.html},
	} {
		if err := e.WriteFile(filepath.Join(dir, file.name), file.write); err != nil {
			return err
		}
	}
	return nil
}

// shrunk returns the smallest history found that still shows the cell's anomaly.
func (c *probeCell) shrunk(ctx context.Context) (*shrink.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, probeShrinks)
	defer cancel()
	return shrink.History(ctx, c.result.H, c.result.Level, shrink.Options{First: c.result, Kinds: c.kinds})
}

func keepAnswer(e *console.Env, dir, file, certificate string, h *history.History, r *evidence.Result) error {
	if err := writeHistory(filepath.Join(dir, file), &collect.Result{History: h}, console.Auto); err != nil {
		return err
	}
	return e.WriteFile(filepath.Join(dir, certificate), func(w io.Writer) error {
		return evidence.WriteCertificate(w, r)
	})
}

// html writes the table as a page that needs no other file.
func (t *ProbeTable) html(w io.Writer) error {
	type pageCell struct {
		Cell        *probeCell
		Mark, Class string
	}
	type pageRow struct {
		Name, About, Level string
		Cells              []pageCell
	}
	var rows []pageRow
	for i, ph := range probe.Phenomena() {
		row := pageRow{Name: t.names[i], About: ph.About, Level: ph.Level.String()}
		for _, in := range t.Isolations {
			c := t.cell(ph.Name, in.Isolation)
			cell := pageCell{c, c.mark(), "no"}
			switch {
			case c == nil || c.Seen == probe.NotTried:
				cell.Class = "none"
			case c.Contradicts:
				cell.Class = "bad"
			case c.result != nil:
				cell.Class = "seen"
			}
			row.Cells = append(row.Cells, cell)
		}
		rows = append(rows, row)
	}
	return escape.Page(w, func(w io.Writer) error {
		return probePage.Execute(w, map[string]any{"T": &t.probeJSON, "Rows": rows, "Remarks": t.remarks()})
	})
}

//go:embed probe.tmpl
var probePageText string

var probePage = template.Must(template.New("probe").Parse(probePageText))
