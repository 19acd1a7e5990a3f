package view

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"isovet/bench"
	"isovet/check"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/history/format/native"
	"isovet/internal/safego"
	"isovet/internal/test/browser"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

var updatePictures = flag.Bool("pictures", false, "take the picture of the viewer in docs again")

// served is a viewer of files that ends with the test.
func served(t *testing.T, o Options) *Server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	if o.Name == "" {
		o.Name = filepath.Base(o.Paths[0])
	}
	s, err := New(ctx, o)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	var group safego.Group
	group.Go(func() {
		if err := s.Serve(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); group.Wait() })
	return s
}

// skewed is the file of a history in which two transactions among many are a write skew.
func skewed(t *testing.T, txns int) string {
	t.Helper()
	h, err := datasets.Generate(t.Context(), datasets.Spec{Workload: "blindw", Txns: txns, Seed: 3,
		Fault: "write-skew"})
	must.OK(t, err)
	return written(t, "skewed.jsonl", func(f *os.File) error { return jsonl.Write(f, h) })
}

// written makes a file in a folder of its own.
func written(t *testing.T, name string, write func(f *os.File) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f := must.Get(os.Create(path))(t)
	must.OK(t, write(f))
	must.OK(t, f.Close())
	return path
}

// opened is a page of a viewer, whose history has been read and whose keys have been looked at.
func opened(t *testing.T, b *browser.Browser, s *Server) *browser.Page {
	t.Helper()
	p := b.Page(t)
	p.Goto(s.URL())
	p.Wait(`document.querySelector("#overview svg") && document.querySelector("#timeline .rowname") &&
		document.querySelector("#panel-keys table")`)
	return p
}

// checked has the page check, and waits for the answer.
func checked(p *browser.Page) {
	p.Click("#check")
	p.Wait(`document.querySelector("#panel-answer h3 .verdict")`)
}

// TestViewer goes the way of a user: check, jump to the violation, its cycle as a graph, a transaction by search, its
// dependencies step by step, the keys, the smallest history; in light and dark, and on a narrow screen.
func TestViewer(t *testing.T) {
	b := browser.Open(t)
	s := served(t, Options{Paths: []string{skewed(t, 400)}})
	p := opened(t, b, s)
	if n := p.Count("#timeline .txn"); n < 390 {
		t.Errorf("%d boxes", n)
	}
	checked(p)
	must.Equal(t, p.Text("#panel-answer h3"), "violation of serializable", "the answer")
	must.Equal(t, p.Text(".violation-row b"), "write-skew", "the violation")
	p.Wait(`document.querySelector("iframe.evidence").contentDocument.querySelector("svg.timeline")`)
	p.Click(".jump")
	p.Wait(`document.querySelectorAll("#timeline .txn.named .head").length === 2`)
	p.Readable(4.5)
	p.Visible("#timeline .txn.named .rim", 3)

	p.Click(".cycle")
	p.Wait(`document.querySelectorAll("#panel-graph .node.named").length === 2`)
	must.Equal(t, p.Count("#panel-graph svg .edge .line"), 2, "edges in the cycle")
	p.Visible("#panel-graph .edge .line", 3)
	p.Click("#panel-graph .edges summary")
	p.Wait(`document.querySelector("#panel-graph .edges .lit li") && document.querySelector("#panel-graph .edge.lit")`)
	p.Click("#panel-graph .node.named")
	p.Wait(`document.querySelectorAll("#panel-graph .node").length > 2`)

	p.Press("/")
	p.Wait(`document.activeElement.id === "q"`)
	// The browser's driver types the slash beside the key that was refused, now or a moment later.
	p.Press(browser.End, "x")
	p.Wait(`document.querySelector("#q").value.endsWith("x") && !(document.querySelector("#q").value = "")`)
	p.Press("T", "1", "0", "0")
	p.Wait(`document.querySelector("#found button b")?.textContent === "T100"`)
	p.Press(browser.Enter)
	p.Wait(`document.querySelector("#panel-txn h3").textContent.startsWith("T100") &&
		document.querySelector("#timeline .chosen .head")`)
	before := p.Count("#panel-txn table.ops tr")
	p.Click("#deps")
	p.Wait(`document.querySelector("#panel-graph .node.centre")?.getAttribute("aria-label").startsWith("T100,")`)
	if one := p.Count("#panel-graph .node"); before < 2 || one < 2 {
		t.Errorf("%d rows, %d nodes", before, one)
	}
	p.Click("#panel-graph .node:not(.centre)")
	p.Wait(`document.querySelectorAll("#panel-graph .node.open").length === 2`)
	for _, dark := range []bool{true, false} {
		p.Dark(dark)
		p.Readable(4.5)
		p.Visible("#panel-graph .edge .line", 3)
	}

	p.Click("#tab-keys")
	p.Wait(`document.querySelectorAll("#panel-keys tbody tr").length === 50`)
	p.Click(`#panel-keys th:nth-child(3) button`)
	p.Wait(`document.querySelector("#panel-keys th:nth-child(3)").getAttribute("aria-sort") === "descending"`)
	sorted := `[...document.querySelectorAll("#panel-keys td:nth-child(3)")].map(e => Number(e.textContent))
		.every((n, i, all) => !i || all[i - 1] >= n)`
	must.Be(t, browser.Eval[bool](p, sorted), "the keys are not sorted by writers")
	p.Click("#panel-keys tbody button")
	p.Wait(`document.querySelector("#panel-keys h3")?.textContent.startsWith("Key ")`)

	p.Click("#tab-answer")
	p.Click("#shrink")
	p.Wait(`document.querySelector("#small")`)
	if got := p.Text("#small"); !strings.Contains(got, "transactions") {
		t.Error(got)
	}
	p.Size(400, 800)
	p.Wait(`document.querySelector("#timeline svg").clientWidth < 400`)
	p.Fits()
	for _, name := range []string{"txn", "graph", "keys"} {
		p.Click("#tab-" + name)
		p.Fits()
	}
	small := b.Page(t)
	small.Goto(s.URL() + "?book=2")
	small.Wait(`document.querySelectorAll("#timeline .txn text.head").length > 1`)
}

// TestKeyboard: without a mouse, a check, the violation, a transaction and its neighbours can be had.
func TestKeyboard(t *testing.T) {
	b := browser.Open(t)
	p := opened(t, b, served(t, Options{Paths: []string{skewed(t, 200)}}))
	p.TabTo("#check")
	p.Press(browser.Enter)
	p.Wait(`document.querySelector("#panel-answer h3 .verdict")`)
	p.TabTo("#timeline")
	p.Press("v")
	p.Wait(`document.querySelectorAll("#timeline .txn.named .head").length === 2`)
	was := p.Text("#tools output")
	p.Press("+")
	p.Wait(`document.querySelector("#tools output").textContent !== ` + "`" + was + "`")
	p.Press("0")
	p.Press("n")
	p.Wait(`document.querySelector("#panel-txn h3") && document.activeElement.id === "timeline"`)
	first := p.Text("#panel-txn h3")
	p.Press("n")
	p.Wait(`document.querySelector("#panel-txn h3").textContent !== ` + "`" + first + "`")
	p.TabTo("#deps")
	p.Press(browser.Enter)
	p.Wait(`document.querySelectorAll("#panel-graph .node").length > 1`)
	p.TabTo("#panel-graph .node:not(.centre)")
	p.Press(browser.Enter)
	p.Wait(`document.querySelectorAll("#panel-graph .node.open").length === 2`)
}

// TestHostileKeys: names of a history are text, whatever is in them, and neither the page nor the console minds.
func TestHostileKeys(t *testing.T) {
	names := []string{`<img src=x onerror=alert(1)>`, "</script><script>window.bad=1</script>", "a\u202eb\u2066c",
		"javascript:bad", "\"'`${window.bad=1}", strings.Repeat("long", 200), "\x00\x1f\x7f", "ключ 鍵 🔑", ""}
	h := built(t, func(b *history.Builder) {
		b.Meta.Name, b.Meta.Note = "<b onclick=alert(1)>name</b>", "</title><script>window.bad=1</script>"
		for i, name := range names {
			k := b.Key(b.StringValue([]byte(name)))
			for j := range 3 {
				head := history.NewTxnHead()
				head.HasSess, head.Session = true, int64(j)
				head.Start, head.End = int64(i*100+j*10), int64(i*100+j*10+50)
				b.Read(k, history.Value{})
				b.Write(k, b.StringValue([]byte(name+string(rune('a'+j)))))
				b.EndTxn(head)
			}
		}
	})
	path := written(t, "<i>hostile.jsonl", func(f *os.File) error { return jsonl.Write(f, h) })
	b := browser.Open(t)
	p := opened(t, b, served(t, Options{Paths: []string{path}}))
	checked(p)
	p.Click(".jump")
	p.Wait(`document.querySelectorAll("#timeline .txn.named").length > 1`)
	p.Click(".cycle")
	p.Wait(`document.querySelectorAll("#panel-graph .node").length > 1`)
	p.Click("#q")
	p.Press("s", "r", "c")
	p.Wait(`document.querySelector("#found button b")`)
	p.Press(browser.Enter)
	p.Wait(`document.querySelector("#panel-keys h3 .mono")?.textContent.includes("<img")`)
	p.Click("#panel-keys tbody button")
	p.Wait(`document.querySelector("#panel-txn table.ops")`)
	if browser.Eval[bool](p, `"bad" in window ||
		document.querySelectorAll("main img, main script, main b[onclick]").length > 0`) {
		t.Error("a name became markup")
	}
	if text := browser.Eval[string](p, "document.body.innerText"); strings.ContainsAny(text, "\u202e\u2066") {
		t.Error("marks of direction are shown as they are")
	}
	p.Size(400, 800)
	p.Fits()
}

// TestPicture: the picture of the viewer in docs is there and small; with -pictures it is taken.
func TestPicture(t *testing.T) {
	const path = "../../docs/pages/view.png"
	if *updatePictures {
		b := browser.Open(t)
		h, err := datasets.Generate(t.Context(), datasets.Spec{Workload: "smallbank", Txns: 300, Fault: "write-skew",
			Sessions: 12, AbortRate: 0.05, Zipf: 0})
		must.OK(t, err)
		file := written(t, "bank.jsonl", func(f *os.File) error { return jsonl.Write(f, h) })
		p := b.Page(t)
		p.Size(1180, 1120)
		p.Goto(served(t, Options{Paths: []string{file}}).URL())
		p.Wait(`document.querySelector("#overview svg") && document.querySelector("#panel-keys table")`)
		checked(p)
		p.Click(".jump")
		p.Wait(`document.querySelectorAll("#timeline .txn.named .head").length === 2`)
		p.Click(".cycle")
		p.Wait(`document.querySelectorAll("#panel-graph .node.named").length === 2`)
		p.Click("#panel-graph .node.named")
		p.Wait(`document.querySelectorAll("#panel-graph .node").length > 2`)
		p.Wait(`(document.activeElement.blur(), window.scrollTo(0, 0), true)`)
		must.OK(t, os.WriteFile(path, p.Screenshot(false), 0o666))
	}
	data := must.Get(os.ReadFile(path))(t)
	if c, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || c.Width < 800 || len(data) > 200_000 {
		t.Errorf("%d bytes, %d pixels wide, %v", len(data), c.Width, err)
	}
}

// TestFirstPaint tells how long after the navigation began the browser first showed something, and when the load of the
// history stood in the page, by the browser's own clock. ISOVET_LONG looks at a million transactions.
func TestFirstPaint(t *testing.T) {
	h, err := datasets.Generate(t.Context(), datasets.Spec{Workload: "blindw", Txns: histtest.Long(2000, 1_000_000)})
	must.OK(t, err)
	file := written(t, "h.ivh", func(f *os.File) error { return native.Write(f, h) })
	s := served(t, Options{Paths: []string{file}})
	p := browser.Open(t).Page(t)
	p.Goto(s.URL())
	p.Wait(`document.querySelector("#overview svg path.area") !== null`)
	drawn := browser.Eval[float64](p, `performance.now()`)
	p.Wait(`performance.getEntriesByName("first-contentful-paint").length > 0`)
	paint := browser.Eval[float64](p, `performance.getEntriesByName("first-contentful-paint")[0].startTime`)
	must.Be(t, paint > 0 && drawn > 0, "first contentful paint after %v ms, the load after %v ms", paint, drawn)
	t.Logf("%d transactions: first contentful paint after %.0f ms, the load drawn after %.0f ms", h.NumTxns(), paint,
		drawn)
}

// watched makes the folder of a watch with an incident, whose evidence is a history with its certificate, and one that
// names a file outside.
func watched(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must.OK(t, os.Mkdir(filepath.Join(dir, "evidence"), 0o777))
	data := must.Get(os.ReadFile(skewed(t, 100)))(t)
	h := must.Get(jsonl.Read(data, "x"))(t)
	c, _ := check.Auto(h, level.Serializable)
	r := must.Get(check.Run(t.Context(), c, h, check.Options{Level: level.Serializable}))(t)
	put := func(name string, write func(w io.Writer) error) {
		f, err := os.Create(filepath.Join(dir, name))
		if err == nil {
			err = write(f)
		}
		if err == nil {
			err = f.Close()
		}
		must.OK(t, err)
	}
	put("evidence/000017.jsonl", func(w io.Writer) error { _, err := w.Write(data); return err })
	put("evidence/000017.cert.json", func(w io.Writer) error { return evidence.WriteCertificate(w, r) })
	put("incidents.jsonl", func(w io.Writer) error {
		e := json.NewEncoder(w)
		for _, i := range []map[string]any{
			{"incident": 1, "class": "LATE", "unjudged": true, "count": 3, "txns": 3},
			{"incident": 2, "class": "EXT", "kind": "before", "low": "<b>x", "high": "<b>y", "count": 12, "keys": 2,
				"txns": 9, "open": true, "lines": []any{map[string]any{"n": 17, "axiom": "EXT"}},
				"evidence": []any{map[string]any{"n": 17, "history": "evidence/000017.jsonl",
					"certificate": "evidence/000017.cert.json"}}},
			{"incident": 3, "class": "INT", "count": 1, "txns": 1,
				"evidence": []any{map[string]any{"n": 18, "history": "../../etc/passwd"}}},
		} {
			if err := e.Encode(i); err != nil {
				return err
			}
		}
		return nil
	})
	return dir
}

// TestWatchFolder: incidents are listed, those against the database first; the evidence of one opens as a history, with
// its certificate replayed; what leads out of the folder does not.
func TestWatchFolder(t *testing.T) {
	dir := watched(t)
	s := served(t, Options{Paths: []string{dir}})
	if status, body, _ := asked(t, "POST", s.URL()+"api/open?violation=18", posted); status < 400 ||
		!strings.Contains(body, "leads out") {
		t.Errorf("%d %s", status, body)
	}
	w := got[watchJSON](t, s.URL()+"api/watch")
	must.Hold(t, len(w.Incidents) == 3 && w.Incidents[0].What == "EXT: before" && w.Incidents[2].What == "LATE",
		"%+v", w.Incidents)
	b := browser.Open(t)
	p := b.Page(t)
	p.Goto(s.URL())
	p.Wait(`document.querySelectorAll("details.incident").length === 3`)
	p.Click("details.incident summary")
	for _, dark := range []bool{true, false} {
		p.Dark(dark)
		p.Readable(4.5)
	}
	p.Size(400, 800)
	p.Fits()
	must.Equal(t, p.Count("button.evidence"), 2, "buttons for the evidence")
	status, body, _ := asked(t, "POST", s.URL()+"api/open?violation=17", posted)
	must.Hold(t, status == 200 && strings.TrimSpace(body) == `{"book":1}`, "%d %s", status, body)
	p.Goto(s.URL() + "?book=1")
	p.Wait(`document.querySelector("#panel-answer h3")?.textContent.includes("by the certificate 000017.cert.json")`)
	must.Equal(t, p.Count(".violation-row"), 1, "violations of %s", p.Text("#panel-answer"))
	must.Equal(t, browser.Eval[string](p, `document.querySelector("#crumbs a").href`), s.URL(), "where it leads back to")
}

// TestResultsFolder: the page over the results of benchmarks is shown with its charts, and no file but those.
func TestResultsFolder(t *testing.T) {
	s := served(t, Options{Paths: []string{"../../bench/results"}, Index: bench.WriteIndex})
	for name, want := range map[string]int{"results/": 200, "results/vbox/memory-most.svg": 200,
		"results/vbox/memory.md": 200, "results/aion/none.svg": 404,
		"results/..%2f..%2fgo.mod": 404, "results/%2fetc%2fpasswd": 404} {
		if status, body, _ := asked(t, "GET", s.URL()+name, nil); status != want {
			t.Errorf("%s: %d %.100s", name, status, body)
		}
	}
	b := browser.Open(t)
	p := b.Page(t)
	p.Goto(s.URL())
	p.Wait(`location.pathname.endsWith("/results/") && document.images.length > 3 && document.images[0].naturalWidth > 0`)
}
