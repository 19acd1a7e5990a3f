package browser

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestMisplaced: what is wrong with a figure is reported, and nothing of one that is right.
func TestMisplaced(t *testing.T) {
	p := Open(t).Page(t)
	path := filepath.Join(t.TempDir(), "p.html")
	show := func(figure string) []string {
		t.Helper()
		if err := os.WriteFile(path, []byte(`<!DOCTYPE html><svg class="timeline" width="300" height="100">`+figure+
			`</svg>`), 0o666); err != nil {
			t.Fatal(err)
		}
		p.Goto("file://" + path)
		return p.Misplaced()
	}
	const box = `<g class="bar"><rect class="txn" x="10" y="10" width="80" height="30"/><text x="14" y="24">T1</text></g>`
	if got := show(box + `<text x="120" y="24">beside</text>`); len(got) != 0 {
		t.Errorf("a good figure: %q", got)
	}
	for figure, want := range map[string]string{
		box + `<text x="100" y="24">one</text><text x="104" y="26">two</text>`: `timeline: "one" meets "two"`,
		box + `<text x="60" y="34">over</text>`:                                `timeline: "over" meets a box`,
		box + `<text x="280" y="24">too long</text>`:                           `timeline: "too long" is cut`,
		`<g class="bar"><rect class="txn" x="10" y="10" width="20" height="30"/><text x="14" y="24">T1 (aborted)</text>
			</g>`: `timeline: "T1 (aborted)" leaves its box`,
	} {
		if got := show(figure); !slices.Contains(got, want) {
			t.Errorf("%q: not %q", got, want)
		}
	}
}
