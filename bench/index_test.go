package bench

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"isovet/internal/test/browser"
	"isovet/internal/test/must"
)

// TestIndex: the page over all results has every figure that has some, each claim, and charts that are there; a folder
// without results is an error.
func TestIndex(t *testing.T) {
	dir := drawn(t)
	var b bytes.Buffer
	must.OK(t, WriteIndex(&b, dir))
	page := b.String()
	claims := 0
	for _, x := range must.Get(results())(t) {
		r := x.r
		claims += len(r.Claims)
		if !strings.Contains(page, `id="`+path.Join(r.folder(), r.Figure)+`"`) {
			t.Errorf("%s is not on the page", r.Figure)
		}
	}
	must.Equal(t, len(regexp.MustCompile(`<td class="(yes|no|open)">`).FindAllString(page, -1)), claims,
		"claims on the page")
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"#]+)"`).FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat(filepath.Join(dir, m[1])); err != nil {
			t.Error(err)
		}
	}
	if err := SaveIndex(t.TempDir()); err == nil {
		t.Error("an empty folder has a page")
	}
}

// drawn is a folder of the results with what make figures makes of them.
func drawn(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must.OK(t, os.CopyFS(dir, os.DirFS("results")))
	for _, x := range must.Get(results())(t) {
		for name, b := range x.files {
			must.OK(t, os.WriteFile(filepath.Join(dir, strings.TrimPrefix(name, "results/")), b, 0o644))
		}
	}
	return dir
}

// TestIndexInABrowser: the page shows its charts, can be read in light and dark, and fits a narrow screen.
func TestIndexInABrowser(t *testing.T) {
	c := browser.Open(t)
	dir := drawn(t)
	must.OK(t, SaveIndex(dir))
	p := c.Page(t)
	p.Goto("file://" + filepath.Join(dir, IndexName))
	p.Wait(`Array.from(document.images).every(i => i.complete)`)
	if n := browser.Eval[int](p, `Array.from(document.images).filter(i => !i.naturalWidth).length`); n > 0 {
		t.Errorf("%d charts are not shown", n)
	}
	for _, dark := range []bool{false, true} {
		p.Dark(dark)
		p.Readable(4.5)
	}
	p.Size(400, 800)
	p.Fits()
}
