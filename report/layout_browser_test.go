package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/browser"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
)

// layoutHistory is a random history of one of the kinds that pages differ by.
func layoutHistory(seed uint64) (*history.History, string) {
	o := random.Options{Aborted: seed%3 == 0, Unknown: seed%5 == 0, Deletes: seed%7 == 0, NoTimes: seed%4 == 1}
	switch seed % 6 {
	case 0:
		o.Lists = true
	case 1:
		o.Predicates = true
	case 2:
		o.Mini = true
	case 3:
		return random.Stamped(seed, random.StampedOptions{}), "chronos"
	case 4:
		o.Single = true
	case 5:
		return random.Medium(seed, random.Options{Txns: 40, Keys: 5, Sessions: 6, NoTimes: o.NoTimes}), ""
	}
	return random.Tiny(seed, o), ""
}

// layoutPage answers for a random history at some level, all of them at times, and returns its page; nil where no
// checker answers.
func layoutPage(t *testing.T, seed uint64) []byte {
	t.Helper()
	h, name := layoutHistory(seed)
	var b bytes.Buffer
	if seed%17 == 0 {
		l, err := check.RunLattice(t.Context(), h, check.Options{}, nil)
		if err == nil {
			err = LatticeHTML(&b, "h.jsonl", l.Results, l.Holding, l.Failing)
		}
		must.OK(t, err)
		return b.Bytes()
	}
	all := level.All()
	l := all[int(seed/6)%len(all)]
	c, ok := check.Auto(h, l)
	if name != "" {
		c = must.Get(check.ByName(name))(t)
		l, ok = level.SnapshotIsolation, true
	}
	if !ok {
		return nil
	}
	r, err := check.Run(t.Context(), c, h, check.Options{Level: l})
	if err != nil || r.Verdict == evidence.Unknown && seed%10 != 0 {
		return nil
	}
	must.OK(t, HTML(&b, fmt.Sprintf("h%d.jsonl", seed), r))
	return b.Bytes()
}

// TestLayout: on pages of random histories, valid and violating, at all levels, no text of a figure meets another one,
// a box of another transaction or the figure's border: as drawn, fitted to the window, to scale, at the next case.
// Every complaint of the browser fails it. The long form has 1,000 pages.
func TestLayout(t *testing.T) {
	b := browser.Open(t)
	p := b.Page(t)
	n, step := uint64(1000), uint64(1)
	if os.Getenv("ISOVET_LONG") == "" {
		n, step = 1200, 71
	}
	path := filepath.Join(t.TempDir(), "page.html")
	pages, wrong := 0, 0
	for seed := uint64(0); seed < n && wrong < 20; seed += step {
		text := layoutPage(t, seed)
		if text == nil {
			continue
		}
		pages++
		must.OK(t, os.WriteFile(path, text, 0o666))
		p.Size([]int64{1180, 420}[pages%2], 800)
		p.Goto("file://" + path)
		told := func(view string) {
			for _, m := range p.Misplaced() {
				wrong++
				t.Errorf("seed %d, %s: %s", seed, view, m)
			}
		}
		told("as drawn")
		for _, press := range []string{"The next case", "Fit the timeline to the page",
			"Draw the time to scale, idle spans too"} {
			if p.Count(`button[aria-label="`+press+`"]`) > 0 {
				browser.Eval[bool](p, `(document.querySelector('button[aria-label="`+press+`"]').click(),
					true)`)
				told(press)
			}
		}
	}
	must.Be(t, pages >= 12, "%d pages", pages)
	t.Logf("%d pages", pages)
}

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
	must.Hold(t, browser.Eval[bool](p, keepsSaved) && bars != 0 && edges != 0, "%d bars, %d edges", bars, edges)
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
	must.OK(t, os.WriteFile(path, []byte(browser.Eval[string](p, `saved[0].blob.text()`)), 0o666))
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
		must.Be(t, slices.Contains(said, want), "nothing says %q %q", want.Role, want.Name)
	}
	for _, s := range said {
		switch s.Role {
		case "button", "link", "heading", "image", "region", "DisclosureTriangle":
			must.Be(t, s.Name != "", "a %s has no name", s.Role)
		}
	}
	if t.Failed() {
		t.Logf("%q", said)
	}
}
