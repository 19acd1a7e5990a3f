package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"isovet/history"
)

// edgeCurve is an edge's line between two bars, given by where they begin and end. The page's script has the same.
func edgeCurve(a, b [2]float64, y1, y2 float64) string {
	var x1, x2, d1, d2 float64
	const reach = 36
	switch {
	case b[0] >= a[1]: // to the right
		x1, x2, d1, d2 = a[1], b[0], 1, -1
	case b[1] <= a[0]: // to the left
		x1, x2, d1, d2 = a[0], b[1], -1, 1
	case y1 <= y2: // they overlap: round the right-hand side downwards, round the left-hand side upwards
		x1, x2, d1, d2 = a[1], b[1], 1, 1
	default:
		x1, x2, d1, d2 = a[0], b[0], -1, -1
	}
	return fmt.Sprintf("M%.1f,%.1f C%.1f,%.1f %.1f,%.1f %.1f,%.1f", x1, y1, x1+d1*reach, y1, x2+d2*reach, y2, x2+d2, y2)
}

// curveLabel is where an edge's name stands, the middle of edgeCurve, and which of its ends stands there.
func curveLabel(a, b [2]float64, y1, y2 float64) (x, y float64, anchor string) {
	const reach = 36 * 0.75
	y = (y1+y2)/2 + 4
	switch {
	case b[0] >= a[1]:
		return (a[1] + b[0]) / 2, y, "middle"
	case b[1] <= a[0]:
		return (a[0] + b[1]) / 2, y, "middle"
	case y1 <= y2:
		return (a[1]+b[1])/2 + reach, y, "start"
	}
	return (a[0]+b[0])/2 - reach, y, "end"
}

// anchor is the height at which an edge meets a bar: that of the operation, or of the name.
func (f *timelineFigure) anchor(b *bar, op uint32) float64 {
	if i := slices.Index(b.box.ops, op); op != history.None && i >= 0 {
		return b.y + barPad + 9 + float64(i+1)*lineHeight - 4
	}
	return b.y + min(b.box.h/2, barPad+6)
}

// draw writes the figure.
func (f *timelineFigure) draw(ids edgeIDs) string {
	h := f.r.H
	right := timelineLeft + 60.0
	for i := range f.bars {
		right = max(right, f.bars[i].x[1])
	}
	f.markVersions()
	axisY := f.height + 6
	width, height := right+56, axisY+30
	width = max(width, timelineLeft+float64(utf8.RuneCountInString(f.clock.axis))*charWidth+10)
	for _, e := range f.s.edges { // the names of those that go round the right-hand side
		i, ok1 := f.at[e.From]
		j, ok2 := f.at[e.To]
		if !ok1 || !ok2 {
			continue
		}
		if x, _, side := curveLabel(f.bars[i].x, f.bars[j].x, f.bars[i].y, f.bars[j].y); side == "start" {
			width = max(width, x+labelWidth(edgeLabel(h, e)))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="timeline" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" `+
		`data-scale="%t"><title>The transactions by session, in the order of time</title>`, width, height, width, height,
		f.clock.scale)
	for _, y := range f.rowY {
		fmt.Fprintf(&b, `<line class="row wide" x1="0" y1="%.1f" x2="%.1f" y2="%.1f"/>`, y-laneGap/2, width, y-laneGap/2)
	}
	f.drawTicks(&b, axisY)
	for i := range f.bars {
		f.drawBar(&b, &f.bars[i])
	}
	f.drawMarks(&b)
	f.drawPath(&b)
	for _, e := range f.s.edges {
		i, ok1 := f.at[e.From]
		j, ok2 := f.at[e.To]
		if !ok1 || !ok2 {
			continue
		}
		from, to := f.s.ends(e)
		p, q := &f.bars[i], &f.bars[j]
		y1, y2 := f.anchor(p, from), f.anchor(q, to)
		lx, ly, anchor := curveLabel(p.x, q.x, y1, y2)
		fmt.Fprintf(&b, `<g class="edge d-%s" data-e="%s" data-b="%d %d" data-y="%.1f %.1f"><title>%s</title>`, e.Dep,
			ids[e], i, j, y1, y2, esc(why(h, e)))
		fmt.Fprintf(&b, `<path class="hit" d="%[1]s"/><path class="line" d="%[1]s" marker-end="url(#head-%[2]s)"/>`,
			edgeCurve(p.x, q.x, y1, y2), e.Dep)
		fmt.Fprintf(&b, `<text class="label" text-anchor="%s" x="%.1f" y="%.1f">%s</text></g>`, anchor, lx, ly,
			esc(edgeLabel(h, e)))
	}
	for row, g := range f.rows {
		fmt.Fprintf(&b, `<text class="sess" x="4" y="%.1f">%s</text>`, f.rowY[row]+14, esc(clip(sessionName(h, g), 14)))
	}
	fmt.Fprintf(&b, `<text class="axis" x="%d" y="%.1f">%s</text></svg>`, timelineLeft, axisY+26, esc(f.clock.axis))
	return b.String()
}

// drawTicks writes the moments at which a transaction of the evidence begins or ends, and the idle spans.
func (f *timelineFigure) drawTicks(b *strings.Builder, y float64) {
	if !f.clock.scale {
		return
	}
	told := map[int]bool{}
	for i := range f.bars {
		if r := &f.bars[i]; r.full && r.from >= 0 {
			told[r.from] = true
			told[r.to] = !r.open || told[r.to]
		}
	}
	last := 0.0
	for i, at := range f.moments {
		if !told[i] {
			continue
		}
		text := f.clock.text(at)
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
		return
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
		d := between64(f.moments[i], f.moments[i+1])
		if active == 0 && d > foldedShare*span {
			x := f.x[i+1] - smallGap/3 // right of the boxes that end where they begin
			fmt.Fprintf(b, `<g class="fold"><title>%s in which none of these transactions was under way, not drawn</title>`+
				`<line x1="%.1f" y1="4" x2="%.1f" y2="%.1f"/></g>`, esc(f.spanText(d)), x, x, y-6)
		}
	}
}

func (f *timelineFigure) spanText(d float64) string {
	if f.r.Timestamps || f.r.H.Positions {
		return fmt.Sprintf("%.0f", d)
	}
	return spanText(d)
}

// drawBar writes a transaction.
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
		`transform="translate(%.1f,%.1f)"><title>%s</title>`, class, r.t, r.x[0], r.x[1], r.s[0], r.s[1], r.y, r.width(),
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
