package bench

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

//go:embed index.tmpl
var indexText string

var indexPage = template.Must(template.New("index").Parse(indexText))

type indexData struct {
	indexCount
	Claims int
	Rule   string
	Papers []*indexPaper
}

// indexCount counts claims by their results.
type indexCount struct{ Yes, No, Open int }

type indexPaper struct {
	indexCount
	Name    string
	Figures []indexFigure
}

type indexFigure struct {
	ID, Title, Where, Date, Scale, CPU, Load, Commit, Page, Data string
	Command, Took                                                string

	Seed          uint64
	Cores         int
	Complete, Own bool
	Workloads     []string
	Claims        []indexClaim
	Beside        [][]string
	Charts        []indexChart
}

type indexClaim struct{ Says, Paper, Here, Holds, Why, Class string }

type indexChart struct{ Src, Alt string }

// LoadReport reads a figure's raw results, written by Report.Write. It returns an error about the file, or if this
// version does not know the figure.
func LoadReport(file string) (*Report, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := &Report{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	figures, err := LookupFigures([]string{r.Figure})
	if err != nil || len(figures) != 1 {
		return nil, fmt.Errorf("%s has results of %q, but no figure has this name", file, r.Figure)
	}
	r.fig = figures[0]
	if r.timeout, err = time.ParseDuration(r.Timeout); err != nil {
		return nil, fmt.Errorf("%s: timeout: %w", file, err)
	}
	dir := filepath.Dir(filepath.Dir(file))
	if r.folder() != "" {
		dir = filepath.Dir(dir)
	}
	r.seek(dir)
	return r, nil
}

// WriteIndex writes a page about all results in a folder. It shows, for each figure, the paper's claims with the
// verdicts here, the paper's numbers beside ours, and the charts in the folder. It returns an error about the folder,
// or if it has no results.
func WriteIndex(w io.Writer, dir string) error {
	d := indexData{Rule: claimRule}
	papers, own := map[string]*indexPaper{}, &indexPaper{Name: "bounds"}
	for _, f := range Figures() {
		for _, scale := range []Scale{DefaultScale, FullScale} {
			file := (&Report{Figure: f.ID, Scale: scale.String()}).Path(dir) + ".json"
			if _, err := os.Stat(file); os.IsNotExist(err) {
				continue
			}
			r, err := LoadReport(file)
			if err != nil {
				return err
			}
			name, _, _ := strings.Cut(f.ID, "/")
			p := papers[name]
			if f.Own {
				p = own
			}
			if p == nil {
				p = &indexPaper{Name: name}
				papers[name] = p
				d.Papers = append(d.Papers, p)
			}
			count := &p.indexCount
			if r.other && scale == DefaultScale {
				count = &indexCount{} // what the paper's sizes say counts
			}
			figure := r.index(count)
			figure.Charts = slices.DeleteFunc(figure.Charts, func(c indexChart) bool { // "make figures" draws them
				_, err := os.Stat(filepath.Join(dir, c.Src))
				return err != nil
			})
			p.Figures = append(p.Figures, figure)
		}
	}
	if len(d.Papers) == 0 && len(own.Figures) == 0 {
		return fmt.Errorf("%s: no results; expected a folder of isovet bench reproduce", dir)
	}
	for _, p := range d.Papers {
		d.Yes, d.No, d.Open = d.Yes+p.Yes, d.No+p.No, d.Open+p.Open
	}
	if len(own.Figures) > 0 { // last: bounds of this project do not count as claims of papers
		d.Papers = append(d.Papers, own)
	}
	d.Claims = d.Yes + d.No
	var b bytes.Buffer
	if err := indexPage.Execute(&b, d); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// IndexName is the name of the index page in a folder of results.
const IndexName = "index.html"

// SaveIndex writes WriteIndex's page to the folder atomically.
func SaveIndex(dir string) error {
	var b bytes.Buffer
	if err := WriteIndex(&b, dir); err != nil {
		return err
	}
	return writeWhole(filepath.Join(dir, IndexName), b.Bytes())
}

// index returns a figure for the page, and counts its claims.
func (r *Report) index(n *indexCount) indexFigure {
	at := path.Join(r.folder(), r.Figure)
	f := indexFigure{ID: at, Title: r.Title, Where: r.Where, Date: r.Time.Format("2006-01-02"), Scale: r.Scale,
		Seed: r.Seed, Cores: r.Machine.Cores, CPU: r.Machine.CPU, Commit: r.Commit[:min(12, len(r.Commit))],
		Load: r.Load.String(), Page: at + ".md", Data: at + ".json", Complete: r.Complete, Own: r.fig.Own,
		Workloads: r.Workloads, Beside: r.beside(), Command: "isovet bench reproduce " + r.Figure,
		Took: time.Duration(r.Seconds * float64(time.Second)).Round(time.Second).String()}
	if r.Scale == FullScale.String() {
		f.Command += " --full"
	}
	for i := range r.Claims {
		c := &r.Claims[i]
		class := "open"
		switch c.Holds {
		case Holds:
			class = "yes"
			n.Yes++
		case Fails:
			class = "no"
			n.No++
		default:
			n.Open++
		}
		f.Claims = append(f.Claims, indexClaim{upper(c.Says), c.demanded(), c.here(), c.Holds, c.Why, class})
	}
	for _, m := range r.fig.Metrics {
		if r.charted(m) {
			f.Charts = append(f.Charts, indexChart{path.Join(path.Dir(at), r.chartName(m)),
				m.Label + " by " + r.fig.Axis + " for " + strings.Join(slices.Compact(r.Series(m.Key)), ", ")})
		}
	}
	return f
}
