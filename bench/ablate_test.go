package bench

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/check"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/internal/test/must"
)

func TestCells(t *testing.T) {
	all := must.Get(Grid{}.Cells())(t)
	seen := map[Cell]bool{}
	for _, c := range all {
		if seen[c] {
			t.Errorf("%v twice", c)
		}
		seen[c] = true
		if c.Theory == "eager" && c.Encoding != "order" || c.Backend != "cdcl" && (c.Theory == "closure" ||
			c.Theory == "order") {
			t.Errorf("%v makes no sense", c)
		}
		if (c.Closure == "") != (c.Pruning == "none" && c.Theory != "closure") {
			t.Errorf("%v: is a closure built?", c)
		}
	}
	few := must.Get(Grid{OneAtATime: true}.Cells())(t)
	techniques := map[string]bool{}
	for _, c := range few {
		technique := c.Technique
		if c.Technique = ""; !seen[c] {
			t.Errorf("%v is not in the grid", c)
		}
		techniques[technique] = true
	}
	for _, name := range check.Techniques()[1:] {
		if !techniques[name] {
			t.Errorf("technique %s is not measured", name)
		}
	}
	if len(all) < 500 || len(few) < 20 || len(few) > 60 {
		t.Errorf("%d cells, %d one at a time", len(all), len(few))
	}
	one, err := Grid{Closures: []string{"purdom"}, Prunings: []string{"edges"}, Encodings: []string{"cobra"},
		Theories: []string{"lazy"}, Phases: []string{"time"}, Backends: []string{"gini"}}.Cells()
	if err != nil || len(one) != 1 || one[0] != (Cell{"purdom", "edges", "cobra", "lazy", "", "gini", "", ""}) {
		t.Errorf("%v, %v", one, err)
	}
	if _, err := (Grid{Phases: []string{"x"}}).Cells(); err == nil || !strings.Contains(err.Error(),
		`unknown phase "x"; expected all or some of time`) {
		t.Error(err)
	}
}

func TestAblate(t *testing.T) {
	good := generate(t, datasets.Spec{Workload: "blindw", Variant: "WR", Txns: 80, Keys: 20, Seed: 1})
	bad := generate(t, datasets.Spec{Workload: "rmw", Txns: 60, Seed: 2, Fault: "lost-update"})
	for _, self := range [][]string{nil, self(t)} {
		grid := Grid{OneAtATime: true}
		if self != nil { // processes take their time
			grid = Grid{Closures: []string{"purdom+"}, Prunings: []string{"edges"}, Phases: []string{"time"},
				Encodings: []string{"vbox"}, Backends: []string{"cdcl"}}
		}
		cells := must.Get(grid.Cells())(t)
		calls := 0
		rows, err := Ablate(t.Context(), []Source{good, bad}, AblateOptions{Grid: grid, Self: self,
			Timeout: time.Minute, Progress: func(string, int, int) { calls++ }})
		if err != nil || len(rows) != 2*len(cells) || calls != len(rows) {
			t.Fatalf("%d rows of %d, %d calls, %v", len(rows), 2*len(cells), calls, err)
		}
		for i, r := range rows {
			want := evidence.Holds
			if i >= len(cells) {
				want = evidence.Violated
			}
			if r.Verdict != want || r.Fault != "" || (r.PeakMB > 0) != (self != nil) {
				t.Errorf("%s: %v, %s %s, %v MB", r.Cell, r.Verdict, r.Reason, r.Fault, r.PeakMB)
			}
			if i%len(cells) > 0 && r.CheckMS < rows[i-1].CheckMS {
				t.Errorf("row %d is out of order", i)
			}
		}
		if d := AblateDisagreements(rows); len(d) > 0 {
			t.Error(d)
		}
		var js, list, text bytes.Buffer
		must.OK(t, WriteAblationJSON(&js, rows))
		var back []AblateRow
		if err := json.Unmarshal(js.Bytes(), &back); err != nil || len(back) != len(rows) ||
			back[3].Cell != rows[3].Cell || back[3].CheckMS != rows[3].CheckMS {
			t.Errorf("%v\n%s", err, js.Bytes()[:400])
		}
		must.OK(t, WriteAblationCSV(&list, rows))
		if lines, err := csv.NewReader(&list).ReadAll(); err != nil || len(lines) != len(rows)+1 {
			t.Errorf("%d lines, %v", len(lines), err)
		}
		if err := WriteAblation(&text, rows, true); err != nil || !strings.Contains(text.String(), "lost") &&
			!strings.Contains(text.String(), "rmw") {
			t.Errorf("%v\n%s", err, text.String())
		}
		path := must.Get(WriteAblationResults(t.TempDir(), "test", 7, true, rows[:len(cells)]))(t)
		b, _ := os.ReadFile(path)
		var raw struct {
			Results
			Parts []struct {
				AblateRow
				Runs []Measured `json:"runs"`
			} `json:"rows"`
		}
		if err := json.Unmarshal(b, &raw); err != nil || raw.Seed != 7 || raw.Machine.Cores < 1 ||
			len(raw.Parts) != len(cells) || len(raw.Parts[0].Runs) != 1 {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestAblateDisagreements: unknown disagrees with nobody, histories do not with each other.
func TestAblateDisagreements(t *testing.T) {
	row := func(on string, v evidence.Verdict, phase string) AblateRow {
		return AblateRow{Cell{Phase: phase}, Row{Input: Input{Workload: on}, Verdict: v}}
	}
	rows := []AblateRow{row("a", evidence.Holds, "x"), row("a", evidence.Unknown, "y"), row("b", evidence.Violated,
		"x")}
	if d := AblateDisagreements(rows); len(d) > 0 {
		t.Error(d)
	}
	d := AblateDisagreements(append(slices.Clone(rows), row("b", evidence.Holds, "z")))
	if len(d) != 1 || !strings.Contains(d[0], "on b default 1 combinations say valid") {
		t.Error(d)
	}
}
