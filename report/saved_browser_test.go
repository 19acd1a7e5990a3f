package report

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"isovet/internal/test/browser"
)

// keepsSaved has a page keep what it would give to be saved.
const keepsSaved = `(() => {
	window.saved = [];
	const make = URL.createObjectURL;
	let last;
	URL.createObjectURL = b => { last = b; return make.call(URL, b); };
	HTMLAnchorElement.prototype.click = function () { window.saved.push({name: this.download, blob: last}); };
	return true;
})()`

// TestSaved: the timeline as SVG stands by itself, with its colours and arrows, and as PNG it has something in it.
func TestSaved(t *testing.T) {
	p := browser.Open(t).Page(t)
	p.Goto(write(t, "cycle", chiefPages(t)["cycle"]))
	bars, edges := p.Count("svg.timeline .bar"), p.Count("svg.timeline .edge .line")
	const drawn = `[...document.querySelectorAll(".timeline .txn, .timeline text, .timeline .edge .line")].map(e =>
		(s => e.tagName + s.fill + s.stroke + s.strokeDasharray + (e.tagName === "text" ? s.font : ""))(
		getComputedStyle(e)))`
	lines := browser.Eval[[]string](p, drawn)
	if !browser.Eval[bool](p, keepsSaved) || bars == 0 || edges == 0 {
		t.Fatalf("%d bars, %d edges", bars, edges)
	}
	p.Click(`button[aria-label="Save the timeline as SVG"]`)
	p.Wait(`saved.length === 1`)
	p.Click(`button[aria-label="Save the timeline as PNG"]`)
	p.Wait(`saved.length === 2`)
	if got := browser.Eval[[]string](p, `saved.map(s => s.name + " " + s.blob.type)`); !slices.Equal(got,
		[]string{"timeline.svg image/svg+xml", "timeline.png image/png"}) {
		t.Errorf("saved: %q", got)
	}
	colours := browser.Eval[int](p, `createImageBitmap(saved[1].blob).then(b => {
		const c = document.createElement("canvas").getContext("2d"), seen = new Set();
		c.canvas.width = b.width;
		c.canvas.height = b.height;
		c.drawImage(b, 0, 0);
		new Uint32Array(c.getImageData(0, 0, b.width, b.height).data.buffer).forEach(x => seen.add(x));
		return seen.size;
	})`)
	if colours < 20 { // of letters alone there are more, by their edges
		t.Errorf("the PNG has %d colours", colours)
	}
	path := filepath.Join(t.TempDir(), "timeline.svg")
	if err := os.WriteFile(path, []byte(browser.Eval[string](p, `saved[0].blob.text()`)), 0o666); err != nil {
		t.Fatal(err)
	}
	p.Goto("file://" + path)
	if p.Count("svg .bar") != bars || p.Count(".edge .line") != edges {
		t.Errorf("the SVG has %d bars and %d edges of %d and %d", p.Count("svg .bar"), p.Count(".edge .line"), bars,
			edges)
	}
	if got := browser.Eval[[]string](p, drawn); !slices.Equal(got, lines) {
		t.Errorf("the SVG's figure is drawn in %q, the page's in %q", got, lines)
	}
	if missing := browser.Eval[[]string](p, `[...document.querySelectorAll("[marker-end]")].map(e =>
		e.getAttribute("marker-end").slice(5, -1)).filter(id => !document.getElementById(id))`); len(missing) > 0 {
		t.Errorf("the SVG has no heads %q", missing)
	}
}

// TestSpoken: a screen reader is told what is on the page by roles and names.
func TestSpoken(t *testing.T) {
	p := browser.Open(t).Page(t)
	p.Goto(write(t, "many", manyCases(t, 3)))
	said := p.Spoken()
	for _, want := range []browser.Spoken{
		{Role: "heading", Name: "many.jsonl"},
		{Role: "region", Name: "Timeline of the transactions by session"},
		{Role: "button", Name: "Zoom in"},
		{Role: "button", Name: "Save the timeline as PNG"},
		{Role: "button", Name: "The next case"},
		{Role: "status"},
		{Role: "DisclosureTriangle", Name: "The argument as text"},
	} {
		if !slices.Contains(said, want) {
			t.Errorf("nothing says %q %q", want.Role, want.Name)
		}
	}
	for _, s := range said {
		switch s.Role {
		case "button", "link", "heading", "image", "region", "DisclosureTriangle":
			if s.Name == "" {
				t.Errorf("a %s has no name", s.Role)
			}
		}
	}
	if t.Failed() {
		t.Logf("%q", said)
	}
}
