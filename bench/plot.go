package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const chartWidth, chartHeight = 18 * vg.Centimeter, 9 * vg.Centimeter

// charted reports whether a metric has anything to draw.
func (r *Report) charted(m Metric) bool {
	return slices.ContainsFunc(r.Points, func(p Point) bool {
		return p.Metric == m.Key && (p.Decided() && p.Value > 0 ||
			p.TimedOut)
	})
}

// chart draws a metric as SVG: lines where the groups are numbers, bars beside each other else. On a logarithmic axis
// nothing can be drawn at zero, so such points are left out. The same report gives the same bytes.
func (r *Report) chart(m Metric) ([]byte, error) {
	p, err := r.plot(m)
	if err != nil {
		return nil, err
	}
	c := vgsvg.New(chartWidth, chartHeight)
	p.Draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	// Few machines have the font that the text was measured with.
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Serif"), []byte("font-family:Liberation "+
		"Serif,Times New Roman,serif")), nil
}

func (r *Report) plot(m Metric) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = r.Title
	p.Title.Padding = 2 * vg.Millimeter
	p.X.Label.Text = r.fig.Axis
	p.Y.Label.Text = m.Label + ", " + m.Unit
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding = vg.Millimeter
	low, high := math.Inf(1), 0.0
	for i := range r.Points {
		if v, ok := r.height(&r.Points[i], m); ok {
			low, high = min(low, v), max(high, v)
		}
	}
	if r.fig.Linear {
		p.Y.Min, p.Y.Max = 0, high*1.35
	} else {
		// Room above for the legend; a whole decade below, so that the smallest bar is seen.
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		p.Y.Min, p.Y.Max = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high))+1)
	}
	add := r.addBars
	if r.fig.Numeric {
		add = r.addLines
	}
	return p, add(p, m)
}

// height is where a point is drawn: one that ran out of time at the time-out, if the metric is a time.
func (r *Report) height(p *Point, m Metric) (float64, bool) {
	switch {
	case p.Metric != m.Key:
		return 0, false
	case p.Decided():
		return p.Value, p.Value > 0
	case p.TimedOut && m.Unit == "ms":
		return float64(r.timeout.Milliseconds()), true
	}
	return 0, false
}

func (r *Report) addLines(p *plot.Plot, m Metric) error {
	for i, s := range r.Series(m.Key) {
		var xy plotter.XYs
		for k := range r.Points {
			pt := &r.Points[k]
			if v, ok := r.height(pt, m); ok && pt.Series == s && pt.Decided() {
				x, err := strconv.ParseFloat(pt.Group, 64)
				if err != nil {
					return fmt.Errorf("%s: group %q is no number", r.Figure, pt.Group)
				}
				xy = append(xy, plotter.XY{X: x, Y: v})
			}
		}
		if len(xy) == 0 {
			continue
		}
		slices.SortFunc(xy, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
		line, dots, err := plotter.NewLinePoints(xy)
		if err != nil {
			return err
		}
		line.Color, line.Width, line.Dashes = plotutil.Color(i), vg.Points(1.2), plotutil.Dashes(i)
		dots.Color, dots.Shape = plotutil.Color(i), plotutil.Shape(i)
		p.Add(line, dots)
		p.Legend.Add(s, line, dots)
	}
	return nil
}

func (r *Report) addBars(p *plot.Plot, m Metric) error {
	groups, series := r.Groups(m.Key), r.Series(m.Key)
	width := 0.8 / float64(len(series))
	pale := false
	for j, s := range series {
		b := &bars{width: width, color: plotutil.Color(j)}
		for k := range r.Points {
			pt := &r.Points[k]
			if v, ok := r.height(pt, m); ok && pt.Series == s {
				x := float64(slices.Index(groups, pt.Group)) - 0.4 + width*float64(j)
				b.at = append(b.at, bar{x, v, !pt.Decided()})
				pale = pale || !pt.Decided()
			}
		}
		p.Add(b)
		p.Legend.Add(s, b)
	}
	if pale {
		p.Legend.Add("pale: stopped at the time-out")
	}
	p.X.Min, p.X.Max = -0.5, float64(len(groups))-0.5
	p.NominalX(groups...)
	if len(groups) > 7 {
		p.X.Tick.Label.Rotation = math.Pi / 5
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YTop
	}
	p.X.Min, p.X.Max = -0.5, float64(len(groups))-0.5
	return nil
}

// bars draws bars from the bottom of the plot, which works on a logarithmic axis too (plotter.BarChart begins at zero).
type bars struct {
	width float64
	color color.Color
	at    []bar
}

type bar struct {
	x, y float64
	pale bool
}

func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	bottom := ty(p.Y.Min)
	for _, at := range b.at {
		l, r, top := tx(at.x), tx(at.x+b.width*0.92), ty(at.y)
		fill := b.color
		if at.pale {
			r, g, bl, _ := b.color.RGBA()
			fill = color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(bl >> 8), 70}
		}
		box := []vg.Point{{X: l, Y: bottom}, {X: r, Y: bottom}, {X: r, Y: top}, {X: l, Y: top}}
		c.FillPolygon(fill, c.ClipPolygonXY(box))
	}
}

// Thumbnail is its mark in the legend.
func (b *bars) Thumbnail(c *draw.Canvas) {
	box := []vg.Point{{X: c.Min.X, Y: c.Min.Y}, {X: c.Max.X, Y: c.Min.Y}, {X: c.Max.X, Y: c.Max.Y},
		{X: c.Min.X, Y: c.Max.Y}}
	c.FillPolygon(b.color, c.ClipPolygonXY(box))
}
