package report

import (
	"bytes"
	"flag"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"isovet/check"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/browser"
	"isovet/internal/test/must"
	"isovet/level"
)

var updatePictures = flag.Bool("pictures", false, "take the pictures of pages in docs again")

// write puts a page into a file that a browser can open.
func write(t *testing.T, name string, r *evidence.Result) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".html")
	var b bytes.Buffer
	must.OK(t, HTML(&b, name+".jsonl", r))
	must.OK(t, os.WriteFile(path, b.Bytes(), 0o666))
	return "file://" + path
}

// kinds of answers, one of each that has a figure of its own: of the fixtures those with most to show.
func chiefPages(t *testing.T) map[string]*evidence.Result {
	out := map[string]*evidence.Result{}
	for _, r := range verdicts(t) {
		switch {
		case r.Verdict == evidence.Holds && r.Level.Snapshot():
			out["snapshots"] = r
		case r.Verdict == evidence.Holds:
			out["valid"] = r
		case len(r.Anomalies) == 0:
		case len(r.Anomalies[0].AllCycles()) > 1:
			out["cases"] = r
		case len(r.Anomalies[0].Ops) > 0:
			out["reads"] = r
		case r.Anomalies[0].Kind.Base() == level.WriteSkew:
			out["cycle"] = r
		}
	}
	out["many"] = manyCases(t, 100)
	out["long"] = long(t, 5000)
	out["nasty"] = nasty(t)
	for name, r := range out {
		must.Hold(t, r != nil && r.H != nil, "no page of kind %s", name)
	}
	must.Equal(t, len(out), 8, "kinds of pages")
	return out
}

// manyCases is a violation by n cases, made up: what a page shows is what it is given.
func manyCases(t *testing.T, n int) *evidence.Result {
	t.Helper()
	b := history.NewBuilder()
	k := b.Key(b.StringValue([]byte("account")))
	for i := range n + 1 {
		h := history.NewTxnHead()
		h.HasSess, h.Session = true, int64(i%7)
		h.Start, h.End = int64(i)*1000, int64(i)*1000+int64(2+i%5)*900
		b.Read(k, history.Value{})
		b.Write(k, history.IntValue(int64(i)))
		b.EndTxn(h)
	}
	h := must.Get(b.Build())(t)
	ver := func(i int) uint32 { lo, _ := h.TxnOps(uint32(i)); return h.Ops.Ver[lo+1] }
	a := evidence.Anomaly{Kind: level.NoOrder}
	for i := range n {
		a.Cycles = append(a.Cycles, []evidence.Edge{
			{From: 0, To: uint32(i + 1), Key: 0, Ver: ver(i + 1), Writer: history.None, Dep: evidence.WW},
			{From: uint32(i + 1), To: 0, Key: 0, Ver: history.None, Writer: history.None, Dep: evidence.RW}})
	}
	for i := range n + 1 {
		a.Txns = append(a.Txns, uint32(i))
	}
	return &evidence.Result{Verdict: evidence.Violated, Level: level.SnapshotIsolation, H: h,
		Anomalies: []evidence.Anomaly{a}}
}

// TestPagesInABrowser: every kind of page is drawn without a complaint of the browser, can be read in light and dark
// colours, on a narrow screen and without its script.
func TestPagesInABrowser(t *testing.T) {
	b := browser.Open(t)
	for name, r := range chiefPages(t) {
		t.Run(name, func(t *testing.T) {
			if os.Getenv("ISOVET_LONG") == "" && name != "cycle" && name != "reads" && name != "valid" {
				t.Skip("long: run with ISOVET_LONG=1")
			}
			p := b.Page(t)
			p.Goto(write(t, name, r))
			must.Be(t, p.Count(".tools[hidden]") <= 0 && p.Count("section.anomaly") != 0, "the script did not run")
			for _, dark := range []bool{false, true} {
				p.Dark(dark)
				p.Readable(4.5)
				if p.Count(".edge:not(.off) .line") > 0 {
					p.Visible(".edge:not(.off) .line", 3)
				}
			}
			p.Dark(false)
			p.Size(400, 800)
			p.Fits()
			p.Print(true)
			if p.Count(".case") > 1 && browser.Eval[bool](p, `getComputedStyle(document.querySelectorAll(".case")[1]).display === "none"`) {
				t.Error("a case is not printed")
			}
			p.Print(false)
			still := b.Page(t)
			still.Scripts(false)
			still.Goto(write(t, name, r))
			if n := still.Count(".case"); n != browser.Eval[int](still, `Array.from(document.querySelectorAll(".case")).filter(e => e.offsetHeight > 0).length`) {
				t.Errorf("without the script some of %d cases are not shown", n)
			}
		})
	}
}

// TestClicks: an edge of either figure lights up its sentence and its other picture, opens it, and says what it rests
// on; a sentence lights up its edges.
func TestClicks(t *testing.T) {
	b := browser.Open(t)
	r := chiefPages(t)["cycle"]
	p := b.Page(t)
	p.Goto(write(t, "cycle", r))
	n := p.Count(".case .step")
	if n < 2 || p.Count("svg.cycle .edge") != n || p.Count("svg.timeline .edge") != n {
		t.Fatalf("%d sentences, %d and %d edges", n, p.Count("svg.cycle .edge"), p.Count("svg.timeline .edge"))
	}
	lit := `Array.from(document.querySelectorAll(".lit[data-e]")).map(e => e.getAttribute("data-e")).sort().join(",")`
	for i := range n {
		id := fmt.Sprintf("a1c1e%d", i)
		p.Click(`svg.cycle .edge[data-e="` + id + `"] .label`)
		must.Equal(t, browser.Eval[string](p, lit), id+","+id+","+id, "what edge %d lights up", i)
		must.Be(t, browser.Eval[bool](p, `document.querySelector('.step[data-e="`+id+`"]').open`),
			"edge %d does not open its sentence", i)
		if text := p.Text(`.step[data-e="` + id + `"] .rests`); !strings.Contains(text, "operation") {
			t.Errorf("edge %d rests on %q", i, text)
		}
	}
	p.Press(browser.Escape)
	p.TabTo(`.step[data-e="a1c1e0"] summary`)
	p.Press(browser.Down)
	if got := browser.Eval[string](p, lit); !strings.Contains(got, "a1c1e1") {
		t.Errorf("the next sentence lights up %s", got)
	}
	p.Press(browser.Escape)
	must.Equal(t, browser.Eval[string](p, lit), "", "what is lit after Escape")
	for _, view := range []string{"Zoom in", "Zoom out", "Fit the timeline to the page",
		"Draw the time to scale, idle spans too", "As long as the text needs"} {
		if p.Count(`button[aria-label="`+view+`"]`) == 0 {
			continue // no times, no scale
		}
		p.Click(`button[aria-label="` + view + `"]`)
		if browser.Eval[bool](p, `Array.from(document.querySelectorAll("svg.timeline .bar")).some(g => !(g.getBBox().width > 0))`) {
			t.Errorf("after %q a transaction has no width", view)
		}
	}
}

// TestCases: a hundred cases are shown one at a time, counted as the text does.
func TestCases(t *testing.T) {
	b := browser.Open(t)
	p := b.Page(t)
	p.Goto(write(t, "many", manyCases(t, 100)))
	shown := `Array.from(document.querySelectorAll(".case")).filter(e => !e.hidden).map(e => e.getAttribute("data-case")).join(",")`
	for i, want := range []string{"1", "2", "3"} {
		if i > 0 {
			p.Click(`button[aria-label="The next case"]`)
		}
		must.Equal(t, browser.Eval[string](p, shown), want, "the case shown")
	}
	p.TabTo(`#a1c3 summary`)
	p.Press(browser.Left, browser.Left, browser.Left)
	must.Equal(t, browser.Eval[string](p, shown), "100", "the case before the first")
	must.Equal(t, p.Text(".stepper [role=status]"), "Case 100 of 100", "the stepper")
	if text := p.Text("pre"); !strings.Contains(text,
		"Case 3, if T0's version of account came before T3's") || !strings.Contains(p.Text("#a1c3"), "T0 < T3") {
		t.Errorf("the text counts its cases otherwise: %s", text)
	}
	if n := p.Count("svg.timeline .edge:not(.off)"); n != 0 && n != 2 {
		t.Errorf("%d edges of one case on the timeline", n)
	}
}

// TestOrder: the order of a valid history can be searched.
func TestOrder(t *testing.T) {
	b := browser.Open(t)
	r := chiefPages(t)["valid"]
	p := b.Page(t)
	p.Goto(write(t, "valid", r))
	must.Equal(t, p.Count("#order tr"), 0, "rows before a group is opened")
	p.Click("#order details.group summary")
	p.Wait(`document.querySelector("#order tr") !== null`)
	var rows []string
	for _, g := range newPageOrder(r).Groups[:1] {
		for _, o := range g.Rows {
			rows = append(rows, fmt.Sprint(o.N)+o.Name+o.Ops+o.Line+o.Saw)
		}
	}
	must.Equal(t, p.Count("#order details[open] tr"), len(rows), "rows")
	for i, want := range rows {
		must.Equal(t, p.Text(fmt.Sprintf("#order details[open] tr:nth-child(%d)", i+1)), want, "row %d", i+1)
	}
	if n := p.Count("#order tr[data-t]"); n == 0 {
		t.Error("no row is known on the timeline")
	}
	first := p.Text("#order tr td:nth-child(2)")
	p.Click(".search input")
	p.Press(strings.Split(first, "")...)
	p.Wait(`document.querySelector(".search output").textContent !== ""`)
	if got := p.Text(".search output"); !strings.HasSuffix(got, " found") || got == "0 found" {
		t.Errorf("%s: %s", first, got)
	}
}

// TestPageSize: a page is at most 150 kB without the history that it lists, which stands in it as plain text; at its
// limits, 100 cases between 100 transactions or a cycle of thousands, 320 kB.
func TestPageSize(t *testing.T) {
	pages := chiefPages(t)
	if testing.Short() {
		t.Log("the long order alone is not made")
	} else {
		h, err := datasets.Generate(t.Context(), datasets.Spec{Workload: "blindw", Txns: 3000})
		must.OK(t, err)
		c, _ := check.Auto(h, level.SnapshotIsolation)
		o := check.Options{Level: level.SnapshotIsolation}
		pages["long order"] = must.Get(check.Run(t.Context(), c, h, o))(t)
	}
	listed := regexp.MustCompile(`(?s)(<pre class="rows"[^>]*>)(.*?)</pre>`)
	for name, r := range pages {
		var b bytes.Buffer
		must.OK(t, HTML(&b, name, r))
		wellFormed(t, name, b.Bytes())
		history := 0
		for _, m := range listed.FindAllSubmatch(b.Bytes(), -1) {
			history += len(m[2])
			must.Be(t, !bytes.Contains(m[2], []byte("<")), "%s: markup in the listed order", name)
		}
		t.Logf("%s: %d bytes, %d of them listed history", name, b.Len(), history)
		most := 150_000
		if name == "many" || name == "long" {
			most = 320_000
		}
		if n := b.Len() - history; n > most {
			t.Errorf("%s: %d bytes beside %d of listed history; expected %d at most", name, n, history, most)
		}
		if r.Verdict == evidence.Holds && history == 0 {
			t.Errorf("%s: no order is listed", name)
		}
	}
}

// shown are the pages of which docs and README have pictures: how each is made, and how high its picture is.
var shown = []struct {
	name    string
	height  int64
	spec    datasets.Spec
	checker string
	level   level.Level
	all     bool // levels
}{
	{name: "cycle", height: 1180, level: level.Serializable,
		spec: datasets.Spec{Workload: "smallbank", Txns: 300, Fault: "write-skew"}},
	{name: "predicates", height: 860, level: level.Serializable,
		spec: datasets.Spec{Workload: "booking", Variant: "rush", Txns: 2000, Isolation: "repeatable-read", Seed: 7}},
	{name: "timestamps", height: 960, level: level.SnapshotIsolation, checker: "chronos",
		spec: datasets.Spec{Workload: "mix", Txns: 500, Isolation: "snapshot-isolation", Break: "version",
			DBTimes: true, NoAborted: true, Seed: 1}},
	{name: "order", height: 860, level: level.StrictSerializable,
		spec: datasets.Spec{Workload: "smallbank", Txns: 60, Sessions: 6, Times: datasets.TxnTimes}},
	{name: "levels", height: 880, all: true,
		spec: datasets.Spec{Workload: "smallbank", Txns: 300, Fault: "write-skew"}},
	{name: "reads", height: 660, level: level.SnapshotIsolation,
		spec: datasets.Spec{Workload: "smallbank", Txns: 300, Fault: "aborted-read"}},
}

// pictured writes a page of shown.
func pictured(t *testing.T, i int) []byte {
	t.Helper()
	s := shown[i]
	h, err := datasets.Generate(t.Context(), s.spec)
	must.OK(t, err)
	h.File = s.name + ".jsonl"
	var b bytes.Buffer
	if s.all {
		l, err := check.RunLattice(t.Context(), h, check.Options{}, nil)
		if err == nil {
			err = LatticeHTML(&b, h.File, l.Results, l.Holding, l.Failing)
		}
		must.OK(t, err)
		return b.Bytes()
	}
	c, _ := check.Auto(h, s.level)
	if s.checker != "" {
		c, err = check.ByName(s.checker)
	}
	must.OK(t, err)
	r, err := check.Run(t.Context(), c, h, check.Options{Level: s.level})
	must.OK(t, err)
	must.Equal(t, r.Verdict == evidence.Holds, s.name == "order", "%s: %s, %s", s.name, r.Verdict, r.Reason)
	must.OK(t, HTML(&b, h.File, r))
	return b.Bytes()
}

// TestPictures: the pictures of pages in docs are there and small, and the pages are smaller than 150 kB; with
// -pictures the pictures are taken.
func TestPictures(t *testing.T) {
	const folder = "../docs/pages"
	var b *browser.Browser
	if *updatePictures {
		b = browser.Open(t)
	}
	for i, s := range shown {
		page := pictured(t, i)
		if len(page) > 150_000 {
			t.Errorf("page %s has %d bytes", s.name, len(page))
		}
		wellFormed(t, s.name, page)
		path := filepath.Join(folder, s.name+".png")
		if b != nil {
			file := filepath.Join(t.TempDir(), s.name+".html")
			must.OK(t, os.WriteFile(file, page, 0o666))
			p := b.Page(t)
			p.Size(1180, s.height)
			p.Goto("file://" + file)
			must.OK(t, os.WriteFile(path, p.Screenshot(false), 0o666))
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if c, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || c.Width < 800 || len(data) > 200_000 {
			t.Errorf("%s: %d bytes, %d pixels wide, %v", path, len(data), c.Width, err)
		}
	}
}
