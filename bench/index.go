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
	Papers []*indexPaper
}

// indexCount counts claims by what came of them.
type indexCount struct{ Yes, No, Open int }

type indexPaper struct {
	indexCount
	Name    string
	Figures []indexFigure
}

type indexFigure struct {
	ID, Title, Where, Date, Scale, CPU, Commit, Page, Data string
	Seed                                                   uint64
	Cores                                                  int
	Complete, Own                                          bool
	Claims                                                 []indexClaim
	Beside                                                 [][]string
	Charts                                                 []indexChart
}

type indexClaim struct {
	Claim
	Class string
}

type indexChart struct{ Src, Alt string }

// LoadReport reads a figure's raw results, as Report.Write wrote them. Errors: of the file; results of a figure that
// this version does not know.
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
		return nil, fmt.Errorf("%s: results of %q, which is no figure", file, r.Figure)
	}
	r.fig = figures[0]
	if r.timeout, err = time.ParseDuration(r.Timeout); err != nil {
		return nil, fmt.Errorf("%s: timeout: %w", file, err)
	}
	return r, nil
}

// WriteIndex writes a page over all results in a folder: of each figure the paper's claims with what came of them here,
// the paper's numbers beside ours, and the charts, which lie beside. Errors: of the folder; there are no results in it.
func WriteIndex(w io.Writer, dir string) error {
	var d indexData
	papers := map[string]*indexPaper{}
	for _, f := range Figures() {
		file := filepath.Join(dir, filepath.FromSlash(f.ID)+".json")
		if _, err := os.Stat(file); os.IsNotExist(err) {
			continue
		}
		r, err := LoadReport(file)
		if err != nil {
			return err
		}
		name, _, _ := strings.Cut(f.ID, "/")
		p := papers[name]
		if p == nil {
			p = &indexPaper{Name: name}
			papers[name] = p
			d.Papers = append(d.Papers, p)
		}
		p.Figures = append(p.Figures, r.index(&p.indexCount))
	}
	if len(d.Papers) == 0 {
		return fmt.Errorf("%s: no results; expected a folder of isovet bench reproduce", dir)
	}
	for _, p := range d.Papers {
		d.Yes, d.No, d.Open = d.Yes+p.Yes, d.No+p.No, d.Open+p.Open
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

// SaveIndex writes WriteIndex's page into the folder, whole or not at all.
func SaveIndex(dir string) error {
	var b bytes.Buffer
	if err := WriteIndex(&b, dir); err != nil {
		return err
	}
	return writeWhole(filepath.Join(dir, IndexName), b.Bytes())
}

// index is a figure as the page shows it; its claims are counted.
func (r *Report) index(n *indexCount) indexFigure {
	f := indexFigure{ID: r.Figure, Title: r.Title, Where: r.Where, Date: r.Time.Format("2006-01-02"), Scale: r.Scale,
		Seed: r.Seed, Cores: r.Machine.Cores, CPU: r.Machine.CPU, Commit: r.Commit[:min(12, len(r.Commit))],
		Page: r.Figure + ".md", Data: r.Figure + ".json", Complete: r.Complete, Own: r.fig.Own, Beside: r.beside()}
	for _, c := range r.Claims {
		class := "open"
		switch c.Holds {
		case "yes":
			class = "yes"
			n.Yes++
		case "no":
			class = "no"
			n.No++
		default:
			n.Open++
		}
		f.Claims = append(f.Claims, indexClaim{c, class})
	}
	for _, m := range r.fig.Metrics {
		if r.charted(m) {
			f.Charts = append(f.Charts, indexChart{path.Join(path.Dir(r.Figure), r.chartName(m)),
				m.Label + " by " + r.fig.Axis + " for " + strings.Join(slices.Compact(r.Series(m.Key)), ", ")})
		}
	}
	return f
}
