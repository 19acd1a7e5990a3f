package browser

import _ "embed"

//go:embed layout.js
var layoutJS string

// Misplaced says, of the figures (svg.timeline, .cycle, .lattice) of a page as it is shown now, which texts meet each
// other or another box, leave their own box, or are cut at the figure's border; and whether the page is wider than its
// window. A few pixels are forgiven: letters are smaller than the rectangles around them.
func (p *Page) Misplaced() []string {
	p.t.Helper()
	return Eval[[]string](p, layoutJS)
}
