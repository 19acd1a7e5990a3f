package browser

import (
	_ "embed"
	"fmt"
)

//go:embed contrast.js
var contrastJS string

// Faint is a text, or a line, and its contrast.
type Faint struct {
	Text  string  `json:"text"`
	Where string  `json:"where"` // the element, and those that it is in
	Ratio float64 `json:"ratio"` // 1 to 21; 0: it stands on a picture or a gradient, of which none is computed
	Ink   string  `json:"ink"`
	Paper string  `json:"paper"`
	Line  bool    `json:"line"` // it is one, and no text
}

func (f Faint) String() string {
	return fmt.Sprintf("%.2f, %s on %s: %q in %s", f.Ratio, f.Ink, f.Paper, f.Text, f.Where)
}

// Contrasts returns how all text that is shown contrasts with what is painted behind it, as computed by the browser,
// the faintest first (WCAG 2.2, "contrast ratio"): opacity, what is translucent and shapes of SVG included. Text that
// something covers, or that is scrolled out of a box, is skipped. With strokes, a CSS selector of shapes of SVG,
// also how their lines do, where they do best: they may cross others.
func (p *Page) Contrasts(strokes string) []Faint {
	p.t.Helper()
	// What is outside the window has nothing painted behind it: the window becomes as large as the page.
	size := Eval[[4]int64](p, "[innerWidth, innerHeight, document.documentElement.scrollWidth, "+
		"Math.ceil(document.documentElement.scrollHeight)]")
	p.Size(size[0], max(size[1], min(size[3], 20_000)))
	p.Wait("(window.scrollTo(0, 0), true)")
	out := Eval[[]Faint](p, contrastJS+"("+quote(strokes)+")")
	p.Size(size[0], size[1])
	return out
}

// Readable fails for each text whose contrast is less than the least (WCAG asks for 4.5), and if there is no text.
func (p *Page) Readable(least float64) {
	p.t.Helper()
	all := p.Contrasts("")
	if len(all) == 0 {
		p.t.Error("there is no text")
	}
	for _, f := range all {
		if f.Ratio < least {
			p.t.Errorf("contrast less than %v: %v", least, f)
		}
	}
}

// Visible fails for each shape of SVG among those that match a CSS selector whose line contrasts less with what is
// behind it (WCAG asks for 3 of graphics), and if there is none.
func (p *Page) Visible(strokes string, least float64) {
	p.t.Helper()
	some := false
	for _, f := range p.Contrasts(strokes) {
		if !f.Line {
			continue
		}
		some = true
		if f.Ratio < least {
			p.t.Errorf("contrast less than %v: %v", least, f)
		}
	}
	if !some {
		p.t.Errorf("nothing matches %s", strokes)
	}
}
