package charts

import (
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"isovet/bench"
)

// The marks of lines, which differ by shape too.
const (
	circle = iota
	square
	triangle
	diamond
)

var shapes = []int{circle, square, triangle, diamond}

// mark is a filled shape, or a hollow one for a run without an answer.
type mark struct {
	shape  int
	hollow bool
}

// DrawGlyph draws the mark. All shapes have about the same area.
func (m mark) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	corners := map[int]struct {
		n           int
		first, size float64
	}{square: {4, math.Pi / 4, 1.2}, triangle: {3, math.Pi / 2, 1.4}, diamond: {4, 0, 1.3}}[m.shape]
	var p vg.Path
	if m.shape == circle {
		p.Move(vg.Point{X: at.X + style.Radius, Y: at.Y})
		p.Arc(at, style.Radius, 0, 2*math.Pi)
	}
	for i := range corners.n {
		sin, cos := math.Sincos(corners.first + 2*math.Pi*float64(i)/float64(corners.n))
		r := style.Radius * vg.Length(corners.size)
		corner := vg.Point{X: at.X + r*vg.Length(cos), Y: at.Y + r*vg.Length(sin)}
		if i == 0 {
			p.Move(corner)
		} else {
			p.Line(corner)
		}
	}
	p.Close()
	if !m.hollow {
		c.SetColor(style.Color)
		c.Fill(p)
		return
	}
	c.SetLineStyle(draw.LineStyle{Color: style.Color, Width: vg.Points(0.9)})
	c.Stroke(p)
}

// edge returns the height of a point whose run has neither an answer nor a value: the top for times and memory, the
// bottom if more is better.
func (c *chart) edge(a plot.Axis) float64 {
	if c.m.Unit == "ms" || c.m.Unit == "MB" {
		return a.Max
	}
	return a.Min
}

// unanswered adds to the legend why runs have no answer, if all have the same reason.
func (c *chart) unanswered(p *bench.Point) {
	why := "no answer"
	switch {
	case p.TimedOut:
		why = "time-out"
	case strings.Contains(p.Reason, "memory"):
		why = "no memory"
	}
	if c.none != "" && c.none != why {
		why = "no answer"
	}
	c.none = why
}

// furthest returns the greatest number.
func furthest(of []float64) float64 {
	return slices.MaxFunc(of, func(a, b float64) int {
		switch {
		case math.IsNaN(a) || a < b:
			return -1
		case math.IsNaN(b) || a > b:
			return 1
		}
		return 0
	})
}

// bars draws bars from the left edge of the plot. Unlike plotter.BarChart, which begins at zero, it also works on a
// logarithmic axis.
type bars struct {
	width float64
	color color.Color
	at    []bar
}

type bar struct {
	y, value float64
	drawn    bool
	hollow   bool    // no answer: drawn, the time-out; else without a place on the axis
	zero     bool    // which a logarithmic axis has not
	paper    float64 // 0: it says nothing

	low, high float64 // the interval; 0: there is none
}

func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	left := tx(p.X.Min)
	for _, at := range b.at {
		top, bottom := ty(at.y), ty(at.y-b.width*0.9)
		right := left
		if at.drawn {
			right = tx(at.value)
		}
		switch {
		case at.drawn && at.hollow:
			edge := vg.Points(0.4) // half the line's width, so that bars beside each other do not share one
			c.StrokeLines(draw.LineStyle{Color: b.color, Width: 2 * edge}, c.ClipLinesXY([]vg.Point{
				{X: left, Y: bottom + edge}, {X: right, Y: bottom + edge}, {X: right, Y: top - edge},
				{X: left, Y: top - edge}})...)
		case at.drawn:
			c.FillPolygon(b.color, c.ClipPolygonXY([]vg.Point{{X: left, Y: bottom}, {X: right, Y: bottom},
				{X: right, Y: top}, {X: left, Y: top}}))
		case at.hollow:
			c.DrawGlyph(draw.GlyphStyle{Color: b.color, Radius: vg.Points(2.5), Shape: mark{square, true}},
				vg.Point{X: left + vg.Points(5), Y: (top + bottom) / 2})
		}
		if at.zero && !at.drawn {
			c.FillText(text.Style{Font: font.From(plot.DefaultFont, 9), Handler: plot.DefaultTextHandler,
				Color: b.color, YAlign: draw.YCenter}, vg.Point{X: left + vg.Points(3), Y: (top + bottom) / 2}, "0")
		}
		if at.drawn && at.low > 0 {
			y := (top + bottom) / 2
			c.StrokeLines(draw.LineStyle{Color: color.Black, Width: vg.Points(0.7)}, c.ClipLinesXY([]vg.Point{
				{X: tx(at.low), Y: y}, {X: tx(at.high), Y: y}})...)
		}
		if at.paper > 0 {
			c.DrawGlyph(draw.GlyphStyle{Color: color.Black, Radius: vg.Points(3), Shape: draw.CrossGlyph{}},
				vg.Point{X: tx(at.paper), Y: (top + bottom) / 2})
		}
	}
}
