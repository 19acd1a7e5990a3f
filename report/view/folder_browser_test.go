package view

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"isovet/bench"
	"isovet/check"
	"isovet/evidence"
	"isovet/history/format/jsonl"
	"isovet/internal/test/browser"
	"isovet/level"
)

// watched makes the folder of a watch with an incident, whose evidence is a history with its certificate, and one that
// names a file outside.
func watched(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "evidence"), 0o777); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(skewed(t, 100))
	if err != nil {
		t.Fatal(err)
	}
	h, err := jsonl.Read(data, "x")
	if err != nil {
		t.Fatal(err)
	}
	c, _ := check.Auto(h, level.Serializable)
	r, err := check.Run(t.Context(), c, h, check.Options{Level: level.Serializable})
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, write func(w io.Writer) error) {
		f, err := os.Create(filepath.Join(dir, name))
		if err == nil {
			err = write(f)
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
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
	if len(w.Incidents) != 3 || w.Incidents[0].What != "EXT: before" || w.Incidents[2].What != "LATE" {
		t.Fatalf("%+v", w.Incidents)
	}
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
	if p.Count("button.evidence") != 2 {
		t.Error("there are no buttons for the evidence")
	}
	status, body, _ := asked(t, "POST", s.URL()+"api/open?violation=17", posted)
	if status != 200 || strings.TrimSpace(body) != `{"book":1}` {
		t.Fatalf("%d %s", status, body)
	}
	p.Goto(s.URL() + "?book=1")
	p.Wait(`document.querySelector("#panel-answer h3")?.textContent.includes("by the certificate 000017.cert.json")`)
	if p.Count(".violation-row") != 1 {
		t.Error(p.Text("#panel-answer"))
	}
	if got := browser.Eval[string](p, `document.querySelector("#crumbs a").href`); got != s.URL() {
		t.Errorf("it leads back to %s", got)
	}
}

// TestResultsFolder: the page over the results of benchmarks is shown with its charts, and no file but those.
func TestResultsFolder(t *testing.T) {
	s := served(t, Options{Paths: []string{"../../bench/results"}, Index: bench.WriteIndex})
	for name, want := range map[string]int{"results/": 200, "results/aion/fig12-rate.svg": 200,
		"results/aion/fig12.md": 200, "results/aion/none.svg": 404,
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
