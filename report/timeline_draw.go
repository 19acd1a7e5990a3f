package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"isovet/history"
	"isovet/internal/slice"
)

// path returns a curve in the notation of SVG.
func (c curve) path() string {
	return fmt.Sprintf("M%.1f,%.1f C%.1f,%.1f %.1f,%.1f %.1f,%.1f", c.x1, c.y1, c.cx1, c.y1, c.cx2, c.y2, c.x2, c.y2)
}

// arrow is an edge on the timeline.
type arrow struct {
	i         int // of the scene's edges
	p, q      int // bars
	y1, y2    float64
	label     string
	x, y      float64 // the middle of the label
	unlabeled bool    // there is no room
}

// arrows finds the edges between drawn bars. It moves bars to the right if an edge around their left side needs space
// for its name.
func (f *timelineFigure) arrows() (out []arrow) {
	shift := 0.0
	for i, e := range f.s.edges {
		p, ok1 := f.at[e.From]
		q, ok2 := f.at[e.To]
		if !ok1 || !ok2 {
			continue
		}
		from, to := f.s.ends(e)
		a := arrow{i: i, p: p, q: q, y1: f.anchor(&f.bars[p], from), y2: f.anchor(&f.bars[q], to),
			label: edgeLabel(f.r.H, e)}
		out = append(out, a)
		if c := newCurve(f.bars[p].x, f.bars[q].x, a.y1, a.y2); c.cx1 < c.x1 && c.cx2 < c.x2 {
			x, _ := c.at(0.5)
			shift = max(shift, timelineLeft+labelWidth(a.label)-x)
		}
	}
	f.left = timelineLeft + shift
	for i := range f.bars {
		for j := range 2 {
			f.bars[i].x[j] += shift
			f.bars[i].s[j] += shift
		}
	}
	for i := range f.x {
		f.x[i] += shift
		f.scaled[i] += shift
	}
	return out
}

// name places the names of edges so that none touches a bar or another name. It returns their right end.
func (f *timelineFigure) name(arrows []arrow, axisY float64) (right float64) {
	taken := []area{{0, axisY - 6, math.Inf(1), math.Inf(1)}}
	for _, b := range slice.Refs(f.bars) {
		taken = append(taken, area{b.x[0] - 1, b.y - 1, b.x[1] + 1, b.y + b.box.h + 1})
	}
	for _, m := range f.marks {
		taken = append(taken, area{m.x - 6, m.y, m.x + 8 + charWidth*float64(utf8.RuneCountInString(m.text)), m.y + 18})
	}
	for _, a := range slice.Refs(arrows) {
		c := newCurve(f.bars[a.p].x, f.bars[a.q].x, a.y1, a.y2)
		x, y, at, ok := c.place(labelWidth(a.label), timelineLeft-4, taken)
		if a.x, a.y = x, y; !ok {
			a.x, a.y = c.at(0.5)
			a.unlabeled = true
			continue
		}
		taken = append(taken, at)
		right = max(right, at.x1)
	}
	return right
}

// anchor returns the height at which an edge meets a bar: the line of the operation or, without one, of the name.
func (f *timelineFigure) anchor(b *bar, op uint32) float64 {
	if i := slices.Index(b.box.ops, op); op != history.None && i >= 0 {
		return b.y + barPad + 9 + float64(i+1)*lineHeight - 4
	}
	return b.y + min(b.box.h/2, barPad+6)
}

// draw writes the figure. Edges lie below bars, so that the text in bars stays readable.
func (f *timelineFigure) draw(ids edgeIDs) string {
	h := f.r.H
	arrows := f.arrows()
	right := f.left + 60.0
	for i := range f.bars {
		right = max(right, f.bars[i].x[1])
	}
	f.markVersions()
	axisY := f.height + 6
	width, height := right+24, axisY+30
	width = max(width, f.left+float64(utf8.RuneCountInString(f.clock.axis))*charWidth+10, f.name(arrows, axisY)+4)
	for _, m := range f.marks {
		width = max(width, m.x+16+float64(utf8.RuneCountInString(m.text))*charWidth)
	}
	var ticks strings.Builder
	width = max(width, f.drawTicks(&ticks, axisY))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="timeline" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" `+
		`data-scale="%t" data-left="%.1f" data-axis="%.1f"><title>The transactions by session, in the order of time</title>`,
		width, height, width, height, f.clock.scale, f.left, axisY)
	for _, y := range f.rowY {
		fmt.Fprintf(&b, `<line class="row wide" x1="0" y1="%.1f" x2="%.1f" y2="%.1f"/>`, y-laneGap/2, width, y-laneGap/2)
	}
	b.WriteString(ticks.String())
	for _, a := range arrows {
		e := f.s.edges[a.i]
		fmt.Fprintf(&b, `<g class="edge d-%s" data-e="%s" data-b="%d %d" data-y="%.1f %.1f"><title>%s</title>`, e.Dep,
			ids[e], a.p, a.q, a.y1, a.y2, esc(arrowTitle(h, e)))
		fmt.Fprintf(&b, `<path class="line" d="%s" marker-end="url(#head-%s)"/></g>`,
			newCurve(f.bars[a.p].x, f.bars[a.q].x, a.y1, a.y2).path(), e.Dep)
	}
	for _, a := range arrows { // above all lines
		class := ""
		if a.unlabeled {
			class = " crowded"
		}
		fmt.Fprintf(&b, `<text class="label name d-%s%s" text-anchor="middle" x="%.1f" y="%.1f">%s</text>`,
			f.s.edges[a.i].Dep, class, a.x, a.y+4, esc(a.label))
	}
	for i := range f.bars {
		f.drawBar(&b, &f.bars[i])
	}
	f.drawMarks(&b)
	f.drawPath(&b)
	fmt.Fprintf(&b, `<rect class="paper side" x="0" y="0" width="%d" height="%.1f"/>`, timelineLeft-6, axisY)
	for row, g := range f.rows {
		fmt.Fprintf(&b, `<text class="sess" x="4" y="%.1f">%s</text>`, f.rowY[row]+14, esc(Clip(SessionName(h, g), 14)))
	}
	f.drawMarkNames(&b)
	fmt.Fprintf(&b, `<text class="axis" x="%.1f" y="%.1f">%s</text></svg>`, f.left, axisY+26, esc(f.clock.axis))
	return b.String()
}

// drawTicks writes the begins and ends of the evidence's transactions, and the idle spans. It returns the rightmost
// point of what it wrote.
func (f *timelineFigure) drawTicks(b *strings.Builder, y float64) (last float64) {
	if !f.clock.scale {
		return 0
	}
	told := map[int]bool{}
	for i := range f.bars {
		if r := &f.bars[i]; r.full && r.from >= 0 {
			told[r.from] = true
			told[r.to] = !r.open || told[r.to]
		}
	}
	before := ""
	for i, at := range f.moments {
		if !told[i] {
			continue
		}
		text := f.clock.text(at)
		if text == before && f.clock.fine != nil {
			text = f.clock.fine(at)
		} else {
			before = text
		}
		class := "tick"
		if f.x[i] < last {
			class = "tick crowded"
		} else {
			last = f.x[i] + float64(utf8.RuneCountInString(text))*charWidth + 10
		}
		fmt.Fprintf(b, `<g class="%s" data-x="%.1f" data-s="%.1f" transform="translate(%.1f,%.1f)">`+
			`<line y1="-4" y2="2"/><text class="axis" y="12">%s</text></g>`, class, f.x[i], f.scaled[i], f.x[i], y, esc(text))
	}
	if len(f.moments) < 2 {
		return last
	}
	span := between64(f.moments[0], f.moments[len(f.moments)-1])
	open := make([]int, len(f.moments)+1)
	for i := range f.bars {
		if r := &f.bars[i]; r.from >= 0 {
			open[r.from]++
			open[r.to]--
		}
	}
	active := 0
	for i := range f.moments[:len(f.moments)-1] {
		active += open[i]
		if d := between64(f.moments[i], f.moments[i+1]); active == 0 && d > foldedShare*span {
			x := f.x[i+1] - smallGap/3 // right of the boxes that end where they begin
			fmt.Fprintf(b, `<g class="fold"><title>%s in which none of these transactions was under way, not drawn</title>`+
				`<line x1="%.1f" y1="4" x2="%.1f" y2="%.1f"/></g>`, esc(f.spanText(d)), x, x, y-6)
		}
	}
	return last
}

func (f *timelineFigure) spanText(d float64) string {
	if f.r.Timestamps || f.r.H.Positions {
		return fmt.Sprintf("%.0f", d)
	}
	return spanText(d)
}

func (f *timelineFigure) drawBar(b *strings.Builder, r *bar) {
	h := f.r.H
	class := "bar context"
	if r.full {
		class = "bar"
	}
	if f.s.witness[r.t] {
		class += " witness"
	}
	if h.Txns.Status[r.t] != history.Committed {
		class += " " + h.Txns.Status[r.t].String()
	}
	if r.open {
		class += " open"
	}
	w := r.x[1] - r.x[0]
	fmt.Fprintf(b, `<g class="%s" data-t="%d" data-x="%.1f %.1f" data-s="%.1f %.1f" data-y="%.1f" data-w="%.0f" `+
		`transform="translate(%.1f,%.1f)"><title>%s</title>`, class, r.t, r.x[0], r.x[1], r.s[0], r.s[1], r.y, r.box.w,
		r.x[0], r.y, esc(barTip(h, r.t)))
	if r.open {
		fmt.Fprintf(b, `<path class="txn" d="M%.1f,0 H4 Q0,0 0,4 V%.1f Q0,%.1f 4,%.1f H%.1f"/>`, w, r.box.h-4, r.box.h,
			r.box.h, w)
	} else {
		fmt.Fprintf(b, `<rect class="txn" width="%.1f" height="%.1f" rx="4"/>`, w, r.box.h)
	}
	if name := r.box.head; w >= float64(utf8.RuneCountInString(name))*charWidth+4 || r.full {
		fmt.Fprintf(b, `<text class="head" x="%d" y="%d">%s</text>`, barPad, barPad+8, esc(name))
	}
	for i, l := range r.box.lines {
		class := "op"
		if op := r.box.ops[i]; op != history.None && f.s.shown[op] {
			class = "op shown"
		}
		fmt.Fprintf(b, `<text class="%s" x="%d" y="%.1f">%s</text>`, class, barPad, barPad+9+float64(i+1)*lineHeight,
			esc(l))
	}
	b.WriteString(`</g>`)
}
