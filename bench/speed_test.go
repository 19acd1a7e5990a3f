package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestSpeedCases: every case has a bound, and every bound of the cases stands in the results.
func TestSpeedCases(t *testing.T) {
	r := speedReport(t, "speed/shapes")
	n := 0
	for _, c := range speedCases() {
		bounds := len(c.parts)
		for _, b := range []float64{c.cpu, c.memory} {
			if b > 0 {
				bounds++
			}
		}
		if bounds == 0 {
			t.Errorf("%s has no bound", c.name)
		}
		n += bounds * len(c.levels)
	}
	if n != len(r.Claims) {
		t.Errorf("%d bounds, %d claims in the results: isovet bench reproduce speed", n, len(r.Claims))
	}
}

const performancePage = "../docs/performance.md"

// TestPerformancePage: the page's tables are those of the results.
func TestPerformancePage(t *testing.T) {
	page, err := os.ReadFile(performancePage)
	if err != nil {
		t.Fatal(err)
	}
	made := page
	for _, name := range []string{"shapes", "standard", "growth", "readers"} {
		begin, end := []byte("<!-- begin: speed/"+name+" -->\n"), []byte("<!-- end: speed/"+name+" -->\n")
		head, rest, ok := bytes.Cut(made, begin)
		_, tail, ended := bytes.Cut(rest, end)
		if !ok || !ended {
			t.Fatalf("the page has no place for %s", name)
		}
		made = slices.Concat(head, begin, []byte("\n"+speedReport(t, "speed/"+name).boundsTable()+"\n"), end, tail)
	}
	if *update {
		if err := os.WriteFile(performancePage, made, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(page, made) {
		t.Error("docs/performance.md is not what is made of the results: go test ./bench -run PerformancePage -update")
	}
}

func speedReport(t *testing.T, name string) *Report {
	t.Helper()
	b, err := os.ReadFile("results/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	figures, err := LookupFigures([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	r := &Report{fig: figures[0]}
	if err := json.Unmarshal(b, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// boundsTable is every measurement beside its bound, as a table of a page; growth shows the steps.
func (r *Report) boundsTable() string {
	var rows [][]string
	header := []string{"history, level", "before", "peer", "now", "bound", "holds"}
	if r.Figure == "speed/readers" {
		header = []string{"format", "file", "now", "bound", "holds"}
		for _, g := range r.Groups("rate") {
			now, bound := r.Find("rate", g, "now"), r.Find("rate", g, "bound")
			holds := "no"
			if now.Value >= bound.Value {
				holds = "yes"
			}
			rows = append(rows, []string{g, r.shown("file", g, "now", " MB"), r.shown("rate", g, "now", " MB/s"),
				r.shown("rate", g, "bound", " MB/s"), holds})
		}
	} else if r.Figure == "speed/standard" {
		header = []string{"workload, checker", "before", "now", "ratio", "memory before", "now", "holds"}
		for _, g := range r.Groups("cpu") {
			holds := ""
			if p := r.Find("ratio", g, "now"); p != nil {
				holds = "no"
				if p.Value <= standardBound {
					holds = "yes"
				}
			}
			rows = append(rows, []string{g, r.shown("cpu", g, "before", " s"), r.shown("cpu", g, "now", " s"),
				r.shown("ratio", g, "now", ""), r.shown("memory", g, "before", " MB"),
				r.shown("memory", g, "now", " MB"), holds})
		}
	} else if r.Figure == "speed/growth" {
		header = append([]string{"checker"}, r.Series("time")...)
		for _, n := range r.Series("step") {
			header = append(header, "step to "+n)
		}
		for _, g := range r.Groups("time") {
			row := []string{g}
			for _, n := range r.Series("time") {
				row = append(row, r.shown("time", g, n, " ms"))
			}
			for _, n := range r.Series("step") {
				row = append(row, r.shown("step", g, n, "×"))
			}
			rows = append(rows, row)
		}
	} else {
		for _, m := range r.fig.Metrics {
			for _, g := range r.Groups(m.Key) {
				bound := r.Find(m.Key, g, "bound")
				if bound == nil {
					continue
				}
				now, holds := r.Find(m.Key, g, "now"), "no"
				if now != nil && now.Value <= bound.Value {
					holds = "yes"
				}
				unit := " " + m.Unit
				rows = append(rows, []string{g, r.shown(m.Key, g, "before", unit), r.shown(m.Key, g, "peer", unit),
					r.shown(m.Key, g, "now", unit), r.shown(m.Key, g, "bound", unit), holds})
			}
		}
	}
	var b strings.Builder
	if err := writeTable(&b, header, rows, true); err != nil {
		return err.Error()
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// shown is a point with its unit.
func (r *Report) shown(metric, group, series, unit string) string {
	for i := range r.Points {
		if p := &r.Points[i]; p.Metric == metric && p.Group == group && p.Series == series {
			switch s := r.cell(p); {
			case p.Text != "":
				return s
			case s != "" && s != "-":
				return s + unit
			}
			return "undecided"
		}
	}
	return ""
}
