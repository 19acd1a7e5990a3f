package report

import (
	"math"
	"slices"
)

// area is a part of a figure that is occupied.
type area struct{ x0, y0, x1, y1 float64 }

func (a area) meets(b area) bool { return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1 }

// labelHeight is the height of an edge's name.
const labelHeight = 13

// curve is a cubic Bézier curve: the line of an edge between two bars.
type curve struct{ x1, y1, cx1, cx2, x2, y2 float64 }

// newCurve returns the line of an edge between two bars, each given by its begin and end. The page's script has the
// same function.
func newCurve(a, b [2]float64, y1, y2 float64) curve {
	const reach = 36
	switch {
	case b[0] >= a[1]: // to the right
		return curve{x1: a[1], y1: y1, cx1: a[1] + reach, cx2: b[0] - reach, x2: b[0] - 1, y2: y2}
	case b[1] <= a[0]: // to the left
		return curve{x1: a[0], y1: y1, cx1: a[0] - reach, cx2: b[1] + reach, x2: b[1] + 1, y2: y2}
	case y1 <= y2: // they overlap: round the right-hand side of both downwards, round their left-hand side upwards
		far := max(a[1], b[1]) + reach
		return curve{x1: a[1], y1: y1, cx1: far, cx2: far, x2: b[1] + 1, y2: y2}
	}
	far := min(a[0], b[0]) - reach
	return curve{x1: a[0], y1: y1, cx1: far, cx2: far, x2: b[0] - 1, y2: y2}
}

// at returns the point of a curve at t, from 0 to 1.
func (c curve) at(t float64) (x, y float64) {
	u := 1 - t
	b0, b1, b2, b3 := u*u*u, 3*u*u*t, 3*u*t*t, t*t*t
	return b0*c.x1 + b1*c.cx1 + b2*c.cx2 + b3*c.x2, (b0+b1)*c.y1 + (b2+b3)*c.y2
}

// along lists the points of a curve where place tries to put a name.
var along = [...]float64{0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8}

// place finds a free place for a name of width w, right of left: on the curve, beside it, or near its middle. It
// returns the name's middle and area; ok is false if there is no such place. The page's script has the same function.
func (c curve) place(w, left float64, taken []area) (x, y float64, at area, ok bool) {
	try := func(px, py float64) bool {
		at = area{px - w/2, py - labelHeight/2, px + w/2, py + labelHeight/2}
		if at.x0 < left || at.y0 < 2 || slices.ContainsFunc(taken, at.meets) {
			return false
		}
		x, y = px, py
		return true
	}
	for _, side := range [...]float64{0, 1, -1} {
		for _, t := range along {
			if px, py := c.at(t); try(px+side*(w/2+5), py) {
				return x, y, at, true
			}
		}
	}
	mx, my := c.at(0.5)
	for r := 1.0; r <= 12; r++ { // rings around the middle
		for k := range 16 {
			if sin, cos := math.Sincos(2 * math.Pi * float64(k) / 16); try(mx+20*r*cos, my+13*r*sin) {
				return x, y, at, true
			}
		}
	}
	return 0, 0, at, false
}
