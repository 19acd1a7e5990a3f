package view

import (
	"os"
	"testing"

	"isovet/datasets"
	"isovet/history/format/native"
	"isovet/internal/test/browser"
	"isovet/internal/test/histtest"
)

// TestFirstPaint tells how long after the navigation began the browser first showed something, and when the load of the
// history stood in the page, by the browser's own clock. ISOVET_LONG looks at a million transactions.
func TestFirstPaint(t *testing.T) {
	h, err := datasets.Generate(t.Context(), datasets.Spec{Workload: "blindw", Txns: histtest.Long(2000, 1_000_000)})
	if err != nil {
		t.Fatal(err)
	}
	file := written(t, "h.ivh", func(f *os.File) error { return native.Write(f, h) })
	s := served(t, Options{Paths: []string{file}})
	p := browser.Open(t).Page(t)
	p.Goto(s.URL())
	p.Wait(`document.querySelector("#overview svg path.area") !== null`)
	drawn := browser.Eval[float64](p, `performance.now()`)
	p.Wait(`performance.getEntriesByName("first-contentful-paint").length > 0`)
	paint := browser.Eval[float64](p, `performance.getEntriesByName("first-contentful-paint")[0].startTime`)
	if paint <= 0 || drawn <= 0 {
		t.Errorf("first contentful paint after %v ms, the load after %v ms", paint, drawn)
	}
	t.Logf("%d transactions: first contentful paint after %.0f ms, the load drawn after %.0f ms", h.NumTxns(), paint,
		drawn)
}
