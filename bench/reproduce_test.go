package bench

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/check/mechanism"
	"isovet/collect"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// TestReproduceVbox runs the whole evaluation at the quick scale and reads back every file that it writes.
func TestReproduceVbox(t *testing.T) {
	histtest.OnlyLong(t)
	t.Setenv(corpusVariable, "")
	out := t.TempDir()
	reports := reproduced(t, 9, ReproduceOptions{Out: out}, "vbox/table2", "vbox")
	someDecided(t, reports)
	must.Equal(t, reports[0].Figure, "vbox/table2", "the first figure")
	for _, r := range reports {
		for _, p := range r.Points {
			if p.Verdict == evidence.Violated && p.Metric != "found" && r.Figure != "vbox/fig9-hard" {
				t.Errorf("%s: %+v", r.Figure, p)
			}
		}
		path := filepath.Join(out, filepath.FromSlash(r.Figure))
		var back Report
		if b, err := os.ReadFile(path + ".json"); err != nil || json.Unmarshal(b, &back) != nil ||
			len(back.Points) != len(r.Points) || back.Seed != 3 || back.Machine.Cores < 1 || back.Scale != "quick" {
			t.Errorf("%s.json: %v, %+v", r.Figure, err, back)
		}
		f := must.Get(os.Open(path + ".csv"))(t)
		lines, err := csv.NewReader(f).ReadAll()
		f.Close()
		if err != nil || len(lines) != len(r.Points)+1 {
			t.Errorf("%s.csv: %d lines for %d points, %v", r.Figure, len(lines), len(r.Points), err)
		}
		page, err := os.ReadFile(path + ".md")
		if err != nil || !strings.Contains(string(page), r.Title) || !strings.Contains(string(page), "| ") {
			t.Errorf("%s.md: %v\n%s", r.Figure, err, page)
		}
		for _, m := range r.fig.Metrics {
			if !r.charted(m) {
				continue
			}
			name := r.chartName(m)
			if !strings.Contains(string(page), "]("+name+")") {
				t.Errorf("%s.md does not show %s", r.Figure, name)
			}
			svg := must.Get(os.Open(filepath.Join(filepath.Dir(path), name)))(t)
			elements := 0
			for d := xml.NewDecoder(svg); ; elements++ {
				if _, err = d.Token(); err != nil {
					break
				}
			}
			svg.Close()
			if err != io.EOF || elements < 20 {
				t.Errorf("%s: %d elements, %v", name, elements, err)
			}
			again, err := r.chart(m)
			b, _ := os.ReadFile(filepath.Join(filepath.Dir(path), name))
			if err != nil || string(again) != string(b) {
				t.Errorf("%s: drawn twice it differs, or %v", name, err)
			}
		}
	}
	table1 := slices.IndexFunc(reports, func(r *Report) bool { return r.Figure == "vbox/table1" })
	for class, of := range map[string]string{"RAT": "/13", "WAT": "/9", "IAT": "/7"} {
		if p := reports[table1].Find("found", class, "vbox"); p == nil || !strings.HasSuffix(p.Text, of) ||
			p.Paper == "" {
			t.Errorf("Table 1, %s: %+v", class, p)
		}
		// Leopard has its profile: what it does not find it has looked at.
		if p := reports[table1].Find("found", class, "leopard"); p == nil || p.Value < 6 {
			t.Errorf("Table 1, %s: %+v", class, p)
		}
	}
	for found, n := range map[[2]string]float64{{"WAT", "cobra"}: 8, {"RAT", "be"}: 6, {"RAT", "leopard"}: 3} {
		if p := reports[table1].Find("found", found[0], found[1]+asPublished); p == nil || p.Value != n {
			t.Errorf("Table 1, %s as published: %+v; want %g", found, p, n)
		}
	}
	for _, n := range reports[table1].Notes {
		if strings.Contains(n, "needs a profile") || strings.Contains(n, "needs client times") {
			t.Errorf("Table 1: %s", n)
		}
	}
}

// TestTable1Profiles: the profiles that Leopard gets for the real histories of Table 1.
func TestTable1Profiles(t *testing.T) {
	for _, c := range []struct{ db, file, want string }{
		{"PostgreSQL 15.4", "databases/pg15.jsonl", "postgresql:serializable"},
		{"MariaDB 10.11", "databases/maria.jsonl", "mariadb:serializable"},
		{"", "cobra/cock-G2", "cockroachdb:serializable"},
		{"", "cobra/yuga-G2-a", "yugabytedb:serializable"},
		{"", "cobra/other", ""},
	} {
		got := profileOf(c.db, c.file)
		must.Equal(t, got, c.want, "%q of %s: profile", c.db, c.file)
		if _, err := mechanism.LookupProfile(got); got != "" && err != nil {
			t.Error(err)
		}
	}
}

// TestReproduceInterrupted: what has been measured is kept, and marked.
func TestReproduceInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	figures := must.Get(LookupFigures([]string{"vbox/table2"}))(t)
	out := t.TempDir()
	runs := 0
	reports, err := Reproduce(ctx, figures, ReproduceOptions{Scale: QuickScale, Out: out, Self: self(t),
		Progress: func(what string, _, _ int) {
			if strings.Contains(what, " on ") {
				if runs++; runs == 3 {
					cancel()
				}
			}
		}})
	if !errors.Is(err, context.Canceled) || len(reports) != 1 || reports[0].Complete || len(reports[0].Points) == 0 {
		t.Fatalf("%v, %+v", err, reports)
	}
	page, err := os.ReadFile(filepath.Join(out, "vbox", "table2.md"))
	if err != nil || !strings.Contains(string(page), "Interrupted") {
		t.Errorf("%v\n%s", err, page)
	}
}

// TestFigureCells: a time-out, an unknown and a value each look their own; charts draw time-outs and leave out zeros.
func TestFigureCells(t *testing.T) {
	r := &Report{Timeout: "10s", timeout: 10 * time.Second, fig: Figure{Metrics: []Metric{{"time", "time", "ms"},
		{"memory", "memory", "MB"}}, Axis: "x"}}
	late := Measured{Reason: "timeout after 10s"}
	lost := Measured{Reason: "predicate operations: …"}
	good := Measured{Verdict: evidence.Holds}
	for _, c := range []struct {
		p    Point
		want string
		high float64
	}{
		{point("time", "g", "a", &late, fixed(5)), "> 10s", 10_000},
		{point("memory", "g", "a", &late, fixed(5)), "-", 0},
		{point("time", "g", "a", &lost, fixed(5)), "-", 0},
		{point("time", "g", "a", &good, fixed(5)), "5", 5},
		{point("time", "g", "a", &good, fixed(0)), "0", 0},
		{point("time", "g", "a", &good, fixed(0.12345)), "0.123", 0.12345},
		{point("time", "g", "a", &good, fixed(12345.6)), "12346", 12345.6},
	} {
		must.Equal(t, r.cell(&c.p), c.want, "%+v", c.p)
		for _, m := range r.fig.Metrics {
			if m.Key != c.p.Metric {
				continue
			}
			if v, ok := r.Height(&c.p, m); v != c.high && ok || ok != (c.high > 0) {
				t.Errorf("%+v: drawn at %v, %v; want %v", c.p, v, ok, c.high)
			}
		}
	}
	if _, err := LookupFigures([]string{"vbox/fig99"}); err == nil || !strings.Contains(err.Error(), "vbox/fig6") {
		t.Errorf("an unknown figure: %v", err)
	}
}

// few figures are tried: .ci/nightly figures takes all.
func few(figures []Figure) (out []Figure) {
	for i, f := range figures {
		if i%6 == 2 || histtest.Long(false, true) {
			out = append(out, f)
		}
	}
	return out
}

// reproduced runs the figures of papers, n in all, at the quick scale: each is whole and has claims and points, and
// nothing is a fault.
func reproduced(t *testing.T, n int, o ReproduceOptions, papers ...string) []*Report {
	t.Helper()
	figures, err := LookupFigures(papers)
	if err != nil || len(figures) != n {
		t.Fatalf("%d figures, %v", len(figures), err)
	}
	if o.NoServers {
		figures = few(figures)
	}
	o.Scale, o.Seed, o.Command = QuickScale, 3, "test"
	if o.Self == nil && histtest.Long(false, true) { // TestReproduceInterrupted's runs are processes, too
		o.Self = self(t)
	}
	if o.Out == "" {
		o.Out = t.TempDir()
	}
	reports, err := Reproduce(t.Context(), figures, o)
	if err != nil || len(reports) != len(figures) {
		t.Fatalf("%d reports, %v", len(reports), err)
	}
	for _, r := range reports {
		if f := r.Faults(); len(f) > 0 {
			t.Errorf("%s: %v", r.Figure, f)
		}
		if len(r.Points) == 0 || !r.Complete || len(r.Claims) == 0 {
			t.Errorf("%s: %d points, complete %v, %d claims, notes %v", r.Figure, len(r.Points), r.Complete,
				len(r.Claims), r.Notes)
		}
	}
	return reports
}

// TestReproduceMTC: no checker disagrees with a valid run, and each metric has groups.
func TestReproduceMTC(t *testing.T) {
	for _, r := range reproduced(t, 9, ReproduceOptions{NoServers: true}, "mtc") {
		for _, m := range r.fig.Metrics {
			if m.Key != "pace" && len(r.Groups(m.Key)) < 2 { // the pace is that of servers
				t.Errorf("%s: %s has %d groups", r.Figure, m.Key, len(r.Groups(m.Key)))
			}
		}
		for _, p := range r.Points {
			if p.Verdict == evidence.Violated && r.Figure != "mtc/table2" {
				t.Errorf("%s: %+v", r.Figure, p)
			}
		}
	}
}

// someDecided: of each figure a point is.
func someDecided(t *testing.T, reports []*Report) {
	for _, r := range reports {
		if !slices.ContainsFunc(r.Points, func(p Point) bool { return p.Decided() }) {
			t.Errorf("%s: none of %d points is decided: %v", r.Figure, len(r.Points), r.Notes)
		}
	}
}

func TestReproduceLeopard(t *testing.T) {
	someDecided(t, reproduced(t, 7, ReproduceOptions{NoServers: true}, "leopard"))
}

// TestReproduceChronos runs the evaluation of CHRONOS and AION at the quick scale.
func TestReproduceChronos(t *testing.T) {
	histtest.OnlyLong(t)
	isovet := filepath.Join(t.TempDir(), "isovet") // has the command watch
	out, err := exec.Command("go", "build", "-o", isovet, "../cmd/isovet").CombinedOutput()
	must.OK(t, err, "%s", out)
	for _, r := range reproduced(t, 24, ReproduceOptions{Self: []string{isovet}}, "chronos", "aion") {
		for _, p := range r.Points {
			if p.Verdict == evidence.Violated && r.Figure != "chronos/fig11" {
				t.Errorf("%s: %+v", r.Figure, p)
			}
		}
		switch r.Figure {
		case "chronos/fig11":
			for c, want := range map[string]evidence.Verdict{"replay": evidence.Holds, "chronos": evidence.Violated,
				"aion": evidence.Violated, "emme-si": evidence.Violated} {
				if p := r.Find("verdict", "Figure 11", c); p == nil || p.Verdict != want {
					t.Errorf("Figure 11, %s: %+v; expected %s", c, p, want)
				}
			}
		case "aion/fig12", "aion/online-rate", "aion/online-datasets":
			if !slices.ContainsFunc(r.Series("rate"), func(s string) bool {
				return strings.HasSuffix(s, cobraPurdom.String())
			}) {
				t.Errorf("%s has no line of Cobra's: %q", r.Figure, r.Series("rate"))
			}
		case "aion/fig14":
			if a, b := r.Find("flips", "N(100, 1²)", "pairs"), r.Find("flips", "N(100, 50²)", "pairs"); a == nil ||
				b == nil || a.Value >= b.Value {
				t.Errorf("flips at deviations 1 and 50: %+v, %+v", a, b)
			}
		}
	}
}

// TestFollower: what is verified while the database runs is what its history says, for rows, lists and predicates; and
// a database that breaks its promise is found out.
func TestFollower(t *testing.T) {
	for _, x := range []struct {
		db, isolation, workload string
		violated                bool
	}{
		{"sqlite:", "immediate", "smallbank", false},
		{"sqlite:", "immediate", "list-append", false},
		{"sqlite:", "immediate", "booking", false},
		{"badger:", "", "rmw", false},
		{"badger:", "no-conflicts", "rmw", true},
	} {
		p, err := mechanism.LookupProfile(map[string]string{"sqlite:": "sqlite:immediate",
			"badger:": "badger:serializable-snapshot"}[x.db])
		must.OK(t, err)
		f := newFollower(p)
		name, variant, _ := strings.Cut(x.workload, "/")
		r, err := collect.Run(t.Context(), collect.Config{DB: []string{x.db}, Isolation: x.isolation,
			Workload: name, Variant: variant, Keys: 10, Txns: 400, Sessions: 6, Seed: 3, Live: f})
		must.OK(t, err)
		online := f.online.Close()
		offline, err := mechanism.Verify(t.Context(), r.History, mechanism.Options{Profile: *p, Duplicates: true})
		must.OK(t, err)
		if online.Traces != offline.Traces || online.Txns != offline.Txns || online.Verified != offline.Verified ||
			online.Total() != offline.Total() {
			t.Errorf("%s %s: online %s, offline %s", x.db, x.workload, online, offline)
		}
		must.Equal(t, online.Total() > 0, x.violated, "%s %s: %s", x.db, x.workload, online)
	}
}

// askedFor is the most transactions of a history that a figure asks for, and how many histories.
func askedFor(t *testing.T, id string) (txns, histories int) {
	t.Helper()
	figures := must.Get(LookupFigures([]string{id}))(t)
	l := &Lab{Scale: FullScale, Seed: 1, Timeout: timeouts[FullScale], dir: t.TempDir(), noServers: true,
		sources: map[datasets.Spec]Source{}, tell: func(string) {}}
	l.asked = func(s *datasets.Spec) {
		histories++
		txns = max(txns, s.Txns)
		s.Txns, s.Keys, s.Sessions = min(s.Txns, 20), min(s.Keys, 20), min(s.Sessions, 5)
	}
	must.OK(t, figures[0].Measure(t.Context(), l, newReport(figures[0], l, ReproduceOptions{})), "%s", id)
	return txns, histories
}

// notAsked are figures that do not tell without databases, or have no number of transactions.
var notAsked = []string{"vbox/table1", "mtc/fig11", "mtc/fig13", "mtc/fig14"}

// TestSizes: --full makes histories of the sizes that each figure's page says; those that it can tell without running
// anything are asked of a quarter of the figures, in the long form of all.
func TestSizes(t *testing.T) {
	for i, f := range Figures() {
		must.Be(t, f.Own || (f.Paper != "") != (f.NoSize != ""), "%s is to have sizes, or to say why it has none", f.ID)
		if f.Paper == "" {
			continue
		}
		if !slices.Contains(notAsked, f.ID) && (i%4 == 1 || histtest.Long(false, true)) {
			if txns, n := askedFor(t, f.ID); txns != f.Txns || n == 0 {
				t.Errorf("%s asks for up to %d transactions, not %d", f.ID, txns, f.Txns)
			}
		}
	}
}
