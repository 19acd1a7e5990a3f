// Package charts draws the figures of package bench, and writes its tidy data as Parquet. Importing it registers it
// with bench; programs that only compare checkers are smaller without it.
//
// Experimental: this package may still change.
package charts

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"isovet/bench"
	"isovet/internal/slice"
)

func init() { bench.RegisterCharts(Draw, writeParquet) }

// The sizes of a chart's parts. The names and colours of lines are to the right of the plot, where they cover nothing.
const (
	chartWidth  = 18 * vg.Centimeter
	lineHeight  = 9 * vg.Centimeter
	barHeight   = 3.4 * vg.Millimeter
	letterWidth = 5.2 // points, of the font's average letter at 10 points
	titleCut    = 78  // characters a line
	labelGap    = 11  // points between two names at the right
	upright     = 36  // characters of the label of the upright axis in a line
	rowLabel    = 34  // characters of a row's name for which a chart is wide enough; longer ones widen it
	rowLabelCut = 60
	linearBelow = 20 // times the least value: bars whose greatest is below that have a linear axis
)

// palette has colours that colour-blind people can tell apart (Okabe and Ito 2008), on a white ground.
var palette = []color.Color{rgb(0x0072B2), rgb(0xD55E00), rgb(0x009E73), rgb(0xCC79A7), rgb(0xB07C00), rgb(0x56B4E9),
	rgb(0x000000), rgb(0x7F7F7F), rgb(0x6A3D9A), rgb(0x8C564B), rgb(0x005F56), rgb(0xE7298A)}

func rgb(x uint32) color.Color {
	return color.NRGBA{uint8(x >> 16), uint8(x >> 8), uint8(x), 255}
}

// colors returns the colour of each series. The checkers in most charts have the same colour everywhere; other series
// get unused colours while there are some.
func colors(series []string) map[string]color.Color {
	out := make(map[string]color.Color)
	free := slices.Clone(palette)
	for i, s := range []string{"vbox", "cobra", "replay", "leopard", "chronos"} {
		if slices.Contains(series, s) {
			out[s] = palette[i]
			free = slices.DeleteFunc(free, func(c color.Color) bool { return c == palette[i] })
		}
	}
	for _, s := range series {
		if out[s] == nil {
			out[s], free = free[0], append(free[1:], free[0])
		}
	}
	return out
}

// Draw draws a metric as SVG: lines if the groups are numbers, otherwise bars in rows. A logarithmic axis cannot show
// zero, so that such points are left out. A run without an answer is a hollow mark, a number of the paper a cross. The
// same report gives the same bytes.
func Draw(r *bench.Report, m bench.Metric) ([]byte, error) {
	p := plot.New()
	p.Title.Text = wrappedTo(titleCut, r.Title)
	p.Title.Padding = 2 * vg.Millimeter
	series := r.Series(m.Key)
	c := &chart{r: r, m: m, plot: p, series: series, colors: colors(series), height: lineHeight}
	if r.Drawn().Numeric {
		if err := c.lines(); err != nil {
			return nil, err
		}
	} else {
		c.bars()
	}
	// under is the room for what is reported of all lines, but for the first of it, which stands beside the axis
	under := vg.Length(0)
	if n := len(c.legend()) - len(c.ends); len(c.ends) > 0 && n > 1 {
		under = vg.Points(float64(n-1) * (labelGap + 1))
		c.height += under
	}
	canvas := vgsvg.New(chartWidth+vg.Points(letterWidth*float64(max(0, c.widest-rowLabel))), c.height)
	whole := draw.New(canvas)
	part := draw.Crop(whole, 0, -c.margin(), under, 0)
	p.Draw(part)
	c.names(whole, p.DataCanvas(part))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return fitted(b.Bytes()), nil
}

// textElement matches a text in vgsvg's output.
var textElement = regexp.MustCompile(`<text ([^>]*font-size:([0-9.]+)px[^"]*")>([^<]+)</text>`)

// fitted sets the width of each text to the measured one: few machines have its font, and other fonts are wider.
func fitted(svg []byte) []byte {
	svg = bytes.ReplaceAll(svg, []byte("font-family:Liberation Serif"), []byte("font-family:Liberation Serif,Times "+
		"New Roman,serif"))
	return textElement.ReplaceAllFunc(svg, func(e []byte) []byte {
		m := textElement.FindSubmatch(e)
		size, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return e
		}
		width, _, _ := plot.DefaultTextHandler.Box(html.UnescapeString(string(m[3])), font.From(plot.DefaultFont,
			font.Length(size)))
		return fmt.Appendf(nil, `<text textLength="%.5g" lengthAdjust="spacingAndGlyphs" %s>%s</text>`, width.Points(),
			m[1], m[3])
	})
}

// wrappedTo breaks a text into lines of at most most characters.
func wrappedTo(most int, text string) string {
	var b strings.Builder
	n := 0
	for _, word := range strings.Fields(text) {
		if w := utf8.RuneCountInString(word); n > 0 && n+1+w > most {
			b.WriteByte('\n')
			n = 0
		} else if n > 0 {
			b.WriteByte(' ')
			n++
		}
		b.WriteString(word)
		n += utf8.RuneCountInString(word)
	}
	return b.String()
}

type chart struct {
	r      *bench.Report
	m      bench.Metric
	plot   *plot.Plot
	series []string
	colors map[string]color.Color
	height vg.Length
	ends   []name // of lines: what stands where they end
	widest int    // characters of a row's name
	alone  bool   // there is one group: each series has a row
	late   bool   // there are runs that were stopped at the time-out
	none   string // why there are runs without an answer that have no place on the axis; "": there are none
	paper  bool   // there are points of the paper's
}

// name is a text on the right-hand side, at the height of a value.
type name struct {
	text  string
	y     float64
	color color.Color
}

// valueAxis sets the range and the label of the axis of values.
func (c *chart) valueAxis(a *plot.Axis) {
	low, high := math.Inf(1), 0.0
	for _, pt := range slice.Refs(c.r.Points) {
		if v, ok := c.r.Height(pt, c.m); ok {
			low, high = min(low, v), max(high, v)
		}
		if v, ok := bench.PaperValue(pt.Paper, c.m.Unit); ok && pt.Metric == c.m.Key {
			low, high = min(low, v), max(high, v)
		}
	}
	a.Label.Text = c.m.Label
	if !slices.Contains(strings.Fields(c.m.Label), c.m.Unit) { // "keys on disk" are keys
		a.Label.Text += ", " + c.m.Unit
	}
	// Lengths of bars can be compared from zero on.
	if f := c.r.Drawn(); f.Linear || !f.Numeric && high < linearBelow*low {
		a.Min, a.Max, a.Tick.Marker = 0, high*1.08, shortTicks{plot.DefaultTicks{}}
		return
	}
	a.Scale, a.Tick.Marker = plot.LogScale{}, shortTicks{plot.LogTicks{Prec: -1}}
	a.Min, a.Max = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
	if a.Max <= a.Min {
		a.Max = a.Min * 10
	}
}

// lines draws a line for each series, and stores where it ends. It returns an error if a group is no number.
func (c *chart) lines() error {
	p := c.plot
	c.valueAxis(&p.Y)
	p.Y.Label.Text = wrappedTo(upright, p.Y.Label.Text)
	p.X.Label.Text = c.r.Drawn().Axis
	var lastX []float64 // of the ends
	for i, s := range c.series {
		xy, paper, late, none, err := c.places(s)
		if err != nil {
			return err
		}
		shape := mark{shape: shapes[i%len(shapes)]}
		byX := func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) }
		if len(xy) > 0 {
			slices.SortFunc(xy, byX)
			line, dots, err := plotter.NewLinePoints(xy)
			if err != nil {
				return err
			}
			line.Color, line.Width = c.colors[s], vg.Points(1.4)
			line.Dashes = [][]vg.Length{nil, {vg.Points(6), vg.Points(2)}, {vg.Points(2), vg.Points(2)}}[i/4%3]
			dots.Color, dots.Shape, dots.Radius = c.colors[s], shape, vg.Points(2)
			p.Add(line, dots)
			if err := c.spread(s); err != nil {
				return err
			}
			c.ends = append(c.ends, name{s, xy[len(xy)-1].Y, c.colors[s]})
			lastX = append(lastX, xy[len(xy)-1].X)
		}
		hollow := mark{shape.shape, true}
		for _, m := range []struct {
			at     plotter.XYs
			shape  draw.GlyphDrawer
			radius float64
		}{{late, hollow, 3.5}, {none, hollow, 3.5}, {paper, draw.CrossGlyph{}, 4.5}} {
			if len(m.at) == 0 {
				continue
			}
			marks, err := plotter.NewScatter(m.at)
			if err != nil {
				return err
			}
			marks.Color, marks.Shape, marks.Radius = c.colors[s], m.shape, vg.Points(m.radius)
			p.Add(marks)
		}
		c.late, c.paper = c.late || len(late) > 0, c.paper || len(paper) > 0
		if len(xy) == 0 && len(late)+len(none) > 0 { // its name stands nowhere else
			marks := slices.Concat(late, none)
			c.ends = append(c.ends, name{s, marks[len(marks)-1].Y, c.colors[s]})
			lastX = append(lastX, math.NaN())
		}
	}
	for i, x := range lastX { // a name beside the plot does not say where its line stops
		switch {
		case math.IsNaN(x):
			c.ends[i].text += ", without an answer"
		case x < furthest(lastX):
			c.ends[i].text += ", up to " + strconv.FormatFloat(x, 'f', -1, 64)
		}
	}
	// The last tick's number must not be cut.
	p.X.Max += (p.X.Max - p.X.Min) * 0.02
	return nil
}

// places returns the positions of a series' points: points with an answer, the paper's numbers, points after the
// time-out and, at the edge, points without an answer.
func (c *chart) places(s string) (xy, paper, late, none plotter.XYs, err error) {
	for _, pt := range slice.Refs(c.r.Points) {
		if pt.Metric != c.m.Key || pt.Series != s {
			continue
		}
		x, err := strconv.ParseFloat(pt.Group, 64)
		if err != nil {
			return nil, nil, nil, nil, fmt.Errorf("%s: group %q is not a number", c.r.Figure, pt.Group)
		}
		switch v, ok := c.r.Height(pt, c.m); {
		case ok && pt.Decided():
			xy = append(xy, plotter.XY{X: x, Y: v})
		case ok:
			late = append(late, plotter.XY{X: x, Y: v})
		case !pt.Decided():
			none = append(none, plotter.XY{X: x, Y: c.edge(c.plot.Y)})
			c.unanswered(pt)
		}
		if v, ok := bench.PaperValue(pt.Paper, c.m.Unit); ok {
			paper = append(paper, plotter.XY{X: x, Y: v})
		}
	}
	return xy, paper, late, none, nil
}

// errorBars has positions with their intervals.
type errorBars struct {
	plotter.XYs
	plotter.YErrors
}

// spread draws the intervals of points with several runs.
func (c *chart) spread(s string) error {
	var bars errorBars
	for _, pt := range slice.Refs(c.r.Points) {
		low, high, ok := pt.Interval()
		x, err := strconv.ParseFloat(pt.Group, 64)
		if ok && err == nil && low > 0 && pt.Metric == c.m.Key && pt.Series == s {
			bars.XYs = append(bars.XYs, plotter.XY{X: x, Y: pt.Value})
			bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{low - pt.Value, high - pt.Value})
		}
	}
	if len(bars.XYs) == 0 {
		return nil
	}
	b, err := plotter.NewYErrorBars(bars)
	if err != nil {
		return err
	}
	b.Color, b.CapWidth = c.colors[s], vg.Points(4)
	c.plot.Add(b)
	return nil
}

// shortTicks labels large numbers in thousands and millions, and writes no zeros after the decimal point.
type shortTicks struct{ plot.Ticker }

func (s shortTicks) Ticks(low, high float64) []plot.Tick {
	ticks := s.Ticker.Ticks(low, high)
	for i := range ticks {
		if t := &ticks[i]; t.Label != "" {
			switch v := t.Value; {
			case v >= 1e6:
				t.Label = strconv.FormatFloat(v/1e6, 'g', 6, 64) + "M"
			case v >= 1e4:
				t.Label = strconv.FormatFloat(v/1e3, 'g', 6, 64) + "k"
			default:
				t.Label = strconv.FormatFloat(v, 'g', 6, 64)
			}
		}
	}
	return ticks
}

// numbered matches a number at the begin or end of a group's name, which is the value of its parameter.
var numbered = regexp.MustCompile(`^[0-9.,]+[KkM]?\b|\b[0-9.,]+[KkM]?$`)

// rows returns the positions of the groups: the bars of a group are together, and groups of different parameters have
// a gap between them.
func (c *chart) rows() (at map[string]float64, ticks []plot.Tick, n float64) {
	at = make(map[string]float64)
	last := ""
	for _, g := range c.r.Groups(c.m.Key) {
		parameter := strings.TrimSpace(numbered.ReplaceAllString(g, ""))
		if n > 0 && parameter != last && parameter != g {
			n += 0.6
		}
		last = parameter
		at[g] = n
		ticks = append(ticks, plot.Tick{Value: -n, Label: clipped(g, rowLabelCut)})
		c.widest = max(c.widest, utf8.RuneCountInString(clipped(g, rowLabelCut)))
		n += 1.2
	}
	return at, ticks, n
}

func clipped(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// bars draws a row for each group, and in it a bar for each series.
func (c *chart) bars() {
	p := c.plot
	c.valueAxis(&p.X)
	at, ticks, n := c.rows()
	width := 1 / float64(len(c.series))
	if c.alone = len(ticks) == 1 && len(c.series) > 1; c.alone {
		ticks, n, width = nil, 1.2*float64(len(c.series)), 1
		for j, s := range c.series {
			ticks = append(ticks, plot.Tick{Value: -1.2 * float64(j), Label: clipped(s, rowLabelCut)})
			c.widest = max(c.widest, utf8.RuneCountInString(s))
		}
	}
	for j, s := range c.series {
		b := &bars{width: width, color: c.colors[s]}
		for _, pt := range slice.Refs(c.r.Points) {
			if pt.Metric != c.m.Key || pt.Series != s {
				continue
			}
			y := -(at[pt.Group] - 0.5 + width*float64(j))
			if c.alone {
				y = -(1.2*float64(j) - 0.5)
			}
			v, ok := c.r.Height(pt, c.m)
			paper, has := bench.PaperValue(pt.Paper, c.m.Unit)
			low, high, _ := pt.Interval()
			b.at = append(b.at, bar{y: y, value: v, drawn: ok, zero: pt.Decided() && pt.Value == 0,
				hollow: !pt.Decided(), paper: paper, low: low, high: high})
			c.late, c.paper = c.late || ok && !pt.Decided(), c.paper || has
			if !ok && !pt.Decided() {
				c.unanswered(pt)
			}
		}
		p.Add(b)
	}
	p.Y.Min, p.Y.Max = -n+0.55, 0.65
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Tick.Length, p.Y.Label.Text = 0, ""
	if !c.alone && len(ticks) > 0 {
		if _, err := strconv.ParseFloat(ticks[0].Label, 64); err == nil {
			p.Y.Label.Text = c.r.Drawn().Axis // which the numbers alone do not say
		}
	}
	perRow := max(1, float64(len(c.series))*0.75)
	if c.alone {
		perRow = 1
	}
	c.height = max(5*vg.Centimeter, 3*vg.Centimeter+vg.Length(n*perRow)*barHeight*1.3)
}

// margin returns the width that the right-hand side needs.
func (c *chart) margin() vg.Length {
	longest := 0
	for _, s := range c.legend() {
		longest = max(longest, utf8.RuneCountInString(s.text))
	}
	return vg.Points(min(12+letterWidth*float64(longest), 190))
}

// legend lists the texts on the right-hand side.
func (c *chart) legend() []name {
	out := slices.Clone(c.ends)
	if !c.r.Drawn().Numeric && len(c.series) > 1 && !c.alone {
		out = append(out, slice.Map(c.series, func(s string) name { return name{text: s, color: c.colors[s]} })...)
	}
	for _, x := range []struct {
		there bool
		text  string
	}{{c.late, "hollow: stopped at the time-out"}, {c.none != "", "hollow at the edge: " + c.none},
		{c.paper, "cross: the paper"}} {
		if x.there {
			out = append(out, name{text: x.text, color: color.Black})
		}
	}
	return out
}

// names writes the names: those of lines where the lines end, moved apart if they would overlap, and those of bars
// from the top down.
func (c *chart) names(whole, data draw.Canvas) {
	style := text.Style{Font: font.From(plot.DefaultFont, 10), Handler: plot.DefaultTextHandler, YAlign: draw.YCenter}
	_, ty := c.plot.Transforms(&data)
	x := data.Max.X + vg.Points(7)
	all := c.legend()
	type placed struct {
		name
		y vg.Length
	}
	var list []placed
	top := data.Max.Y - vg.Points(4)
	for i, n := range all {
		if i < len(c.ends) {
			list = append(list, placed{n, ty(n.y)})
		}
	}
	slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(b.y, a.y) })
	for i := range list {
		if i > 0 {
			list[i].y = min(list[i].y, list[i-1].y-vg.Points(labelGap))
		}
	}
	for i := len(list) - 1; i >= 0; i-- { // none below the plot
		low := data.Min.Y
		if i+1 < len(list) {
			low = list[i+1].y + vg.Points(labelGap)
		}
		list[i].y = max(list[i].y, low)
	}
	rest := all[len(c.ends):]
	at := top
	if len(list) > 0 { // what is reported of all lines stands under the axis
		at = data.Min.Y - vg.Points(28)
	}
	for _, n := range rest {
		list = append(list, placed{n, at})
		at -= vg.Points(labelGap + 1)
	}
	for _, n := range list {
		style.Color = n.color
		whole.FillText(style, vg.Point{X: x, Y: n.y}, clipped(n.text, 34))
	}
}
