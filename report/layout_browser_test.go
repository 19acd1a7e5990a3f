package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/browser"
	"isovet/internal/test/histtest/random"
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
		if err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	all := level.All()
	l := all[int(seed/6)%len(all)]
	c, ok := check.Auto(h, l)
	if name != "" {
		var err error
		if c, err = check.ByName(name); err != nil {
			t.Fatal(err)
		}
		l, ok = level.SnapshotIsolation, true
	}
	if !ok {
		return nil
	}
	r, err := check.Run(t.Context(), c, h, check.Options{Level: l})
	if err != nil || r.Verdict == evidence.Unknown && seed%10 != 0 {
		return nil
	}
	if err := HTML(&b, fmt.Sprintf("h%d.jsonl", seed), r); err != nil {
		t.Fatal(err)
	}
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
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
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
	if pages < 12 {
		t.Errorf("%d pages", pages)
	}
	t.Logf("%d pages", pages)
}
