package report

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"isovet/internal/browser"
)

var picture = flag.String("picture", "", "write pictures of pages to this folder")

// TestPagesInBrowser opens a page of each named anomaly, and of a history without one: nothing is wrong with it, all
// text and all edges can be seen in light and in dark, and it fits a narrow screen.
func TestPagesInBrowser(t *testing.T) {
	chrome := browser.Open(t)
	pages := map[string][]byte{}
	had := map[string]bool{}
	var names []string
	for _, r := range verdicts(t) {
		kind := r.Verdict.String()
		if len(r.Anomalies) > 0 {
			kind = fmt.Sprint(r.Anomalies[0].Kind, len(cyclesOf(&r.Anomalies[0])) > 1)
		}
		if had[kind] {
			continue
		}
		had[kind] = true
		var b bytes.Buffer
		if err := HTML(&b, r.H.Meta.Name, r); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("/%d", len(names))
		names = append(names, name)
		pages[name] = b.Bytes()
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/favicon.ico" {
			w.WriteHeader(http.StatusNoContent)
		}
		_, _ = w.Write(pages[r.URL.Path])
	}))
	defer s.Close()
	p := chrome.Page(t)
	for _, name := range names {
		p.Size(1200, 900)
		p.Goto(s.URL + name)
		for _, dark := range []bool{false, true} {
			p.Dark(dark)
			for _, f := range p.Contrasts(".edge path:not(.tip)") {
				if least := map[bool]float64{false: 4.5, true: 3}[f.Line]; f.Ratio < least {
					t.Errorf("%s, dark %v: contrast less than %v: %v", name, dark, least, f)
				}
			}
			if *picture != "" {
				file := filepath.Join(*picture, fmt.Sprintf("report%s-%v.png", name[1:2], dark))
				if err := os.WriteFile(file, p.Screenshot(true), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		p.Size(360, 700)
		p.Fits()
	}
	if len(names) < 6 {
		t.Errorf("%d pages", len(names))
	}
}
