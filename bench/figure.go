package bench

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"isovet/evidence"
	"isovet/internal/atomicfile"
	"isovet/internal/slice"
)

// Report is a figure's results.
type Report struct {
	Figure   string    `json:"figure"`
	Title    string    `json:"title"`
	Where    string    `json:"where"`
	Command  string    `json:"command,omitempty"`
	Time     time.Time `json:"time"`
	Commit   string    `json:"commit,omitempty"`
	Go       string    `json:"go"`
	Machine  Machine   `json:"machine"`
	Seed     uint64    `json:"seed"`
	Scale    string    `json:"scale"`
	Timeout  string    `json:"timeout"`
	Seconds  float64   `json:"seconds"`
	Complete bool      `json:"complete"` // false: interrupted
	// Load is the machine's load average when the figure begins and ends, or nil.
	Load *Load `json:"load,omitempty"`
	// Workloads are the histories that were made for the figure, with their sizes.
	Workloads []string `json:"workloads,omitempty"`
	Points    []Point  `json:"points"`
	// Bounds says that stopped runs have bounds. In older reports the time-out is used as the bound.
	Bounds bool `json:"bounds,omitempty"`
	// OrderFirst says that the solver cdcl was encode.OrderFirst. In older reports the number of nodes decided.
	OrderFirst bool     `json:"order_first,omitempty"`
	Claims     []Claim  `json:"claims,omitempty"`
	Notes      []string `json:"notes,omitempty"`

	fig     Figure
	timeout time.Duration
	dir     string // the folder of all results; "": it is not known
	other   bool   // there are results at the other scale: at the paper's sizes, or at the default's
}

// Point is one measurement.
type Point struct {
	Metric string `json:"metric"`
	// Group is its position on the horizontal axis. Series is the line or the colour of the bar.
	Group  string  `json:"group"`
	Series string  `json:"series"`
	Value  float64 `json:"value"`
	// Runs are the numbers whose median is Value. It is nil if there was one run, or all numbers are equal.
	Runs []float64 `json:"runs,omitempty"`
	// Text, if set, is shown instead of Value: "13/13".
	Text     string           `json:"text,omitempty"`
	Verdict  evidence.Verdict `json:"verdict"`
	Reason   string           `json:"reason,omitempty"`
	TimedOut bool             `json:"timed_out,omitempty"`
	// Bound limits the value of a stopped run: a time is at least Bound, a throughput at most. 0 means that the bound
	// is not known, since the run may have been stopped before the measured part began.
	Bound float64 `json:"bound,omitempty"`
	Fault bool    `json:"fault,omitempty"`
	// CPUMS is the processor time of the whole process, including loading.
	CPUMS float64 `json:"cpu_ms,omitempty"`
	// Paper is the paper's number for this point, if its text or a table has one.
	Paper string `json:"paper,omitempty"`
}

// Decided reports whether there is a value.
func (p *Point) Decided() bool { return p.Verdict != evidence.Unknown }

func newReport(f Figure, l *Lab, o ReproduceOptions) *Report {
	return &Report{Figure: f.ID, Title: f.Title, Where: f.Where, Command: o.Command, Time: time.Now().UTC().Truncate(
		time.Second), Commit: commit(),
		Go: runtime.Version(), Machine: ThisMachine(), Seed: l.Seed, Scale: l.Scale.String(),
		Timeout: l.Timeout.String(), Load: newLoad(), Bounds: true, OrderFirst: true, fig: f, timeout: l.Timeout}
}

// Add adds a point, with the paper's value for it.
func (r *Report) Add(p Point) {
	of := func(group string) string { return r.fig.Papers[p.Metric+", "+group+", "+p.Series] }
	p.Paper = cmp.Or(of(p.Group), of("*"))
	r.Points = append(r.Points, p)
}

// Note adds a remark once.
func (r *Report) Note(format string, args ...any) {
	r.Notes = slice.Union(r.Notes, fmt.Sprintf(format, args...))
}

// Find returns a point that has a value, or nil.
func (r *Report) Find(metric, group, series string) *Point {
	for i := range r.Points {
		if p := &r.Points[i]; p.Metric == metric && p.Group == group && p.Series == series && p.Decided() {
			return p
		}
	}
	return nil
}

// Groups lists the groups of a metric's points, in the order of their first points.
func (r *Report) Groups(metric string) []string {
	return r.names(metric, func(p *Point) string { return p.Group })
}

// Series lists the series of a metric's points, in the order of their first points.
func (r *Report) Series(metric string) []string {
	return r.names(metric, func(p *Point) string { return p.Series })
}

func (r *Report) names(metric string, get func(*Point) string) []string {
	var out []string
	for i := range r.Points {
		if p := &r.Points[i]; p.Metric == metric {
			out = slice.Union(out, get(p))
		}
	}
	return out
}

// bound returns the bound of a stopped run's value. below says that it is an upper bound.
func (r *Report) bound(p *Point) (v float64, below, ok bool) {
	unit := r.fig.unit(p.Metric)
	switch {
	case !p.TimedOut || p.Reason == timeoutBefore:
		return 0, false, false
	case unit == "ms" && !r.Bounds:
		return float64(r.timeout.Milliseconds()), false, true
	case unit == "ms" || unit == tpsUnit:
		return p.Bound, unit == tpsUnit, p.Bound > 0
	}
	return 0, false, false
}

// timeoutBefore is the reason of a point that was not run because a smaller one timed out. tpsUnit is the unit of
// throughput.
const (
	timeoutBefore = "timeout on a smaller history"
	tpsUnit       = "transactions a second"
)

// Faults lists faults of isovet among the points.
func (r *Report) Faults() []string {
	faults := slice.Filter(r.Points, func(p Point) bool { return p.Fault })
	return slice.Map(faults, func(p Point) string {
		return fmt.Sprintf("%s, %s on %s: %s", r.Figure, p.Series, p.Group, p.Reason)
	})
}

// cell returns a point as text for a table.
func (r *Report) cell(p *Point) string {
	switch {
	case p == nil:
		return ""
	case p.Text != "":
		return p.Text
	case p.TimedOut && r.fig.unit(p.Metric) == "ms" && !r.Bounds:
		return "> " + r.Timeout
	case !p.Decided():
		if v, below, ok := r.bound(p); ok {
			return map[bool]string{false: "> ", true: "< "}[below] + number(sixDigits(v))
		}
		return "-"
	}
	if low, high, ok := p.Interval(); ok {
		return number(sixDigits(p.Value)) + " (" + number(sixDigits(low)) + " to " + number(sixDigits(high)) + ")"
	}
	return number(p.Value)
}

func number(v float64) string {
	switch {
	case v == float64(int64(v)):
		return strconv.FormatInt(int64(v), 10)
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// grid makes the table of a metric, with a row for each group and a column for each series.
func (r *Report) grid(m Metric) (header []string, rows [][]string) {
	series := r.Series(m.Key)
	header = append([]string{r.fig.Axis}, series...)
	for _, g := range r.Groups(m.Key) {
		row := []string{g}
		for _, s := range series {
			var at *Point
			for i := range r.Points {
				if p := &r.Points[i]; p.Metric == m.Key && p.Group == g && p.Series == s {
					at = p
				}
			}
			row = append(row, r.cell(at))
		}
		rows = append(rows, row)
	}
	return header, rows
}

// WriteText writes the tables for people, as ASCII or as a Markdown page.
func (r *Report) WriteText(w io.Writer, markdown bool) error {
	b := &bytes.Buffer{}
	if markdown {
		r.writeHead(b)
	} else {
		fmt.Fprintf(b, "%s: %s (%s)\n\n", r.Figure, r.Title, r.Where)
	}
	if err := slice.Each(r.fig.Metrics, func(m Metric) error { return r.writeMetric(b, m, markdown) }); err != nil {
		return err
	}
	if rows := r.beside(); len(rows) > 0 {
		fmt.Fprintf(b, "Beside the paper's figures:\n\n")
		if err := writeTable(b, []string{"what", r.fig.Axis, "series", "here", "paper"}, rows, markdown); err != nil {
			return err
		}
		fmt.Fprintln(b)
	}
	r.writeClaims(b, markdown)
	for _, n := range r.notes() {
		if markdown {
			b.WriteString(wrapped("- ", n))
		} else {
			fmt.Fprintf(b, "- %s\n", n)
		}
	}
	_, err := w.Write(append(bytes.TrimRight(b.Bytes(), "\n"), '\n'))
	return err
}

// writeHead writes the head of a page: what was measured, where and how.
func (r *Report) writeHead(b *bytes.Buffer) {
	about := fmt.Sprintf("%s. Measured %s at the %s scale, seed %d, time-out %s, on %d cores (%s, %.0f GB, %s), %s, "+
		"%v, commit %s; %.0f s in all.", r.Where, r.Time.Format("2006-01-02"), r.Scale, r.Seed, r.Timeout,
		r.Machine.Cores, r.Machine.CPU, r.Machine.MemoryMB/1e3, r.Machine.OS, r.Go, r.Load,
		r.Commit[:min(12, len(r.Commit))], r.Seconds)
	fmt.Fprintf(b, "# %s: %s\n\n%s\n", r.Figure, r.Title, wrapped("", about))
	if r.Command != "" {
		text, indent := "    "+strings.TrimSpace(wrapped("          ", r.Command)), "\n          "
		b.WriteString(strings.ReplaceAll(text, indent, " \\\n        ") + "\n\n")
	}
	if o := r.otherScale(); o != "" {
		b.WriteString(wrapped("", o+".") + "\n")
	}
	if !r.Complete {
		fmt.Fprintf(b, "**Interrupted: some of it is missing.**\n\n")
	}
	if s := r.solvers(); s != "" {
		b.WriteString(wrapped("", s+".") + "\n")
	}
	if of := figureNamed(r.Figure).Histories; of != "" && len(r.Workloads) == 0 {
		b.WriteString(wrapped("", "Histories: "+of+".") + "\n")
	}
	if len(r.Workloads) > 0 {
		b.WriteString("Histories:\n\n")
		for _, w := range r.Workloads {
			b.WriteString(wrapped("- ", w+"."))
		}
		b.WriteString("\n")
	}
}

// writeMetric writes the table of a metric and, on a page, its chart.
func (r *Report) writeMetric(b *bytes.Buffer, m Metric, markdown bool) error {
	header, rows := r.grid(m)
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintf(b, "%s:\n\n", m.named())
	if err := writeTable(b, header, rows, markdown); err != nil {
		return err
	}
	fmt.Fprintln(b)
	if markdown && r.charted(m) {
		fmt.Fprintf(b, "![%s](%s)\n\n", m.Label, r.chartName(m))
	}
	return nil
}

// notes lists the remarks, and why some points have no value.
func (r *Report) notes() []string {
	notes := slices.Clone(r.Notes)
	for i := range r.Points {
		if p := &r.Points[i]; !p.Decided() && !p.TimedOut && p.Reason != "" {
			notes = slice.Union(notes, fmt.Sprintf("%s on %s: %s.", p.Series, p.Group, p.Reason))
		}
	}
	return notes
}

func (f *Figure) unit(metric string) string {
	for _, m := range f.Metrics {
		if m.Key == metric {
			return m.Unit
		}
	}
	return ""
}

func (r *Report) beside() [][]string {
	var rows [][]string
	for i := range r.Points {
		if p := &r.Points[i]; p.Paper != "" {
			label := p.Metric
			for _, m := range r.fig.Metrics {
				if m.Key == p.Metric {
					label = m.named()
				}
			}
			rows = append(rows, []string{label, p.Group, p.Series, r.cell(p), p.Paper})
		}
	}
	return rows
}

// WriteCSV writes the points, one on each line.
func (r *Report) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	lines := [][]string{{"figure", "metric", "group", "series", "value", "text", "verdict", "timed_out", "reason",
		"cpu_ms", "paper", "runs", "low", "high", "scale", "seed", "timeout", "cores", "cpu", "go", "commit"}}
	for _, p := range slice.Refs(r.Points) {
		v := ""
		if p.Decided() {
			v = strconv.FormatFloat(p.Value, 'g', -1, 64)
		}
		low, high := v, v
		if l, h, ok := p.Interval(); ok {
			low, high = strconv.FormatFloat(l, 'g', -1, 64), strconv.FormatFloat(h, 'g', -1, 64)
		}
		lines = append(lines, []string{r.Figure, p.Metric, p.Group, p.Series, v, p.Text, p.Verdict.String(),
			strconv.FormatBool(p.TimedOut), p.Reason, strconv.FormatFloat(p.CPUMS, 'g', -1, 64), p.Paper,
			strconv.Itoa(max(1, len(p.Runs))), low, high, r.Scale, strconv.FormatUint(r.Seed, 10), r.Timeout,
			strconv.Itoa(r.Machine.Cores), r.Machine.CPU, r.Go, r.Commit})
	}
	return c.WriteAll(lines)
}

// Path returns the path of the report's files in the folder of all results, without their endings.
func (r *Report) Path(dir string) string { return filepath.Join(dir, r.folder(), r.base()) }

// seek looks for results at the other scale in the folder of all results.
func (r *Report) seek(dir string) {
	r.dir = dir
	o := Report{Figure: r.Figure, Scale: FullScale.String()}
	if r.Scale == o.Scale {
		o.Scale = DefaultScale.String()
	}
	_, err := os.Stat(o.Path(dir) + ".json")
	r.other = err == nil
}

// otherScale returns the link from a page to that of the other scale.
func (r *Report) otherScale() string {
	switch full := r.Scale == FullScale.String(); {
	case full && r.other:
		return strings.TrimPrefix(paperSizes(r.Figure)+". ", ". ") + "[At the default scale](../../" + r.Figure + ".md)"
	case full:
		return paperSizes(r.Figure)
	case r.other:
		return "[At the full scale](../" + FullFolder + "/" + r.Figure + ".md)"
	}
	return ""
}

// base returns the name of the figure's files below the results' folder, without ending.
func (r *Report) base() string { return filepath.FromSlash(r.Figure) }

func (r *Report) chartName(m Metric) string {
	name := filepath.Base(r.base())
	if len(r.fig.Metrics) > 1 {
		name += "-" + m.Key
	}
	return name + ".svg"
}

// Write writes JSON, CSV, Markdown and charts below the folder of all results.
func (r *Report) Write(dir string) error {
	path := r.Path(dir)
	r.seek(dir)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	files, err := r.files(path)
	if err != nil {
		return err
	}
	for name, b := range files {
		if err := writeWhole(name, b); err != nil {
			return err
		}
	}
	return writeWhole(path+".json", append(data, '\n')) // the last: a figure that has it has all
}

// files makes the files beside the JSON: CSV, page and charts, by path.
func (r *Report) files(path string) (map[string][]byte, error) {
	var list, page bytes.Buffer
	if err := r.WriteCSV(&list); err != nil {
		return nil, err
	}
	if err := r.WriteText(&page, true); err != nil {
		return nil, err
	}
	files := map[string][]byte{path + ".csv": list.Bytes(), path + ".md": page.Bytes()}
	for _, m := range r.fig.Metrics {
		if !r.charted(m) {
			continue
		}
		svg, err := r.chart(m)
		if err != nil {
			return nil, err
		}
		files[filepath.Join(filepath.Dir(path), r.chartName(m))] = svg
	}
	return files, nil
}

// writeWhole writes a file atomically.
func writeWhole(path string, b []byte) error {
	tmp, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	_, err = tmp.Write(b)
	return atomicfile.End(tmp, path, false, err)
}

// writeTable writes a table of texts. The first column, and columns without numbers, are left-aligned.
func writeTable(w io.Writer, header []string, rows [][]string, markdown bool) error {
	cols := make([]tableColumn, len(header))
	for j, name := range header {
		cols[j] = tableColumn{name, j == 0}
		for _, row := range rows {
			if s := strings.TrimLeft(row[j], "<> "); s != "" && s != "-" && (s[0] < '0' || s[0] > '9') ||
				strings.ContainsAny(s, "ax×;") {
				cols[j].left = true
			}
		}
	}
	return renderTable(w, cols, rows, markdown)
}

// charted reports whether there is something to draw for a metric: a number with a unit and, for lines, at more than
// one position.
func (r *Report) charted(m Metric) bool {
	if m.Unit == "" || r.fig.Numeric && len(r.Groups(m.Key)) < 2 {
		return false
	}
	return slices.ContainsFunc(r.Points, func(p Point) bool {
		return p.Metric == m.Key && (p.Decided() && p.Value > 0 || p.TimedOut)
	})
}
