package report

import (
	"fmt"
	"html"
	"math"
	"strings"
	"unicode/utf8"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
)

// The sizes of a circle's parts, in SVG units (CSS pixels).
const (
	charWidth  = 6.7 // of the 11 px monospace font
	lineHeight = 15
	boxPad     = 8
)

// box is a transaction in a figure.
type box struct {
	t     uint32
	head  string
	lines []string // its operations
	ops   []uint32 // the operation of a line; None for "…"
	x, y  float64  // centre
	w, h  float64
}

// circle draws a cycle: transactions stand on a circle, and each edge shows its dependency and key. A cycle of more
// than most transactions is cut, and the figure says so. The page's sentences refer to the edges by their ids.
func circle(h *history.History, cycle []evidence.Edge, name string, most int) string {
	cut := max(0, len(cycle)-most)
	cycle = cycle[:len(cycle)-cut]
	s := newScene(h, []evidence.Anomaly{{Cycle: cycle}})
	boxes := slice.Map(cycle, func(e evidence.Edge) box { return s.box(e.From, len(cycle) <= 12) })
	if cut > 0 {
		boxes = append(boxes, box{t: history.None, head: fmt.Sprintf("%d more", cut), w: 80, h: lineHeight + 2*boxPad})
	}
	room, title := 0.0, ""
	for i, e := range cycle {
		room = max(room, labelWidth(edgeLabel(h, e)))
		if i == 0 {
			title = txnName(h, e.From)
		}
		title += fmt.Sprintf(" —%s→ %s", edgeLabel(h, e), txnName(h, e.To))
	}
	width, height := layOut(boxes, room)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="cycle" viewBox="0 0 %.0f %.0f" width="%.0f" role="img">`, width, height, width)
	fmt.Fprintf(&b, `<title>%s</title>`, esc(title))
	for i, e := range cycle {
		from, to := &boxes[i], &boxes[(i+1)%len(boxes)]
		drawEdge(&b, h, e, fmt.Sprintf("%se%d", name, i), from, to, len(boxes))
	}
	for i := range boxes {
		boxes[i].draw(&b, h, s.shown)
	}
	b.WriteString("</svg>")
	return b.String()
}

// box makes the box of a transaction. If full is set, it contains the operations.
func (s *scene) box(t uint32, full bool) box {
	b := box{t: t, head: txnName(s.h, t) + statusMark(s.h, t)}
	if full {
		for _, op := range s.cells[t] {
			b.lines = append(b.lines, OpText(s.h, op))
			b.ops = append(b.ops, op)
		}
		if s.cut[t] {
			b.lines = append(b.lines, "…")
			b.ops = append(b.ops, history.None)
		}
	}
	n := utf8.RuneCountInString(b.head) + 1
	for _, l := range b.lines {
		n = max(n, utf8.RuneCountInString(l))
	}
	b.w = max(56, float64(n)*charWidth+2*boxPad)
	b.h = float64(1+len(b.lines))*lineHeight + 2*boxPad - 2
	return b
}

// layOut places boxes on an ellipse so large that neither neighbours nor the labels between them touch. label is the
// width of the widest label.
func layOut(boxes []box, label float64) (width, height float64) {
	n := float64(len(boxes))
	w, hh := 0.0, 0.0
	for _, b := range boxes {
		w, hh = max(w, b.w), max(hh, b.h)
	}
	var rx, ry float64
	switch len(boxes) {
	case 1:
	case 2:
		rx, ry = (w+label+110)/2, 0
	default:
		step := 2 * math.Sin(math.Pi/n)
		rx = max((w+label+60)/step, w*0.75)
		ry = max((hh+115)/step, hh*0.75)
		rx, ry = max(rx, ry*0.8), max(ry, rx*0.45)
	}
	const margin = 46
	width, height = 2*rx+w+2*margin, 2*ry+hh+2*margin
	for i := range boxes {
		angle := -math.Pi/2 + 2*math.Pi*float64(i)/n
		if len(boxes) == 2 {
			angle = math.Pi + math.Pi*float64(i)
		}
		boxes[i].x = width/2 + rx*math.Cos(angle)
		boxes[i].y = height/2 + ry*math.Sin(angle)
	}
	return width, height
}

// clipTo returns the point a little outside the box where a ray from its centre towards (x, y) leaves it.
func (b *box) clipTo(x, y float64) (float64, float64) {
	dx, dy := x-b.x, y-b.y
	if dx == 0 && dy == 0 {
		return b.x, b.y - b.h/2
	}
	k := math.Inf(1)
	if dx != 0 {
		k = min(k, (b.w/2+3)/math.Abs(dx))
	}
	if dy != 0 {
		k = min(k, (b.h/2+3)/math.Abs(dy))
	}
	return b.x + k*dx, b.y + k*dy
}

// drawEdge draws an edge as a curve that bends away from the middle of the figure.
func drawEdge(b *strings.Builder, h *history.History, e evidence.Edge, id string, from, to *box, n int) {
	cx, cy := (from.x+to.x)/2, (from.y+to.y)/2
	dx, dy := to.x-from.x, to.y-from.y
	length := math.Hypot(dx, dy)
	bend := length * 0.12
	if n == 2 {
		bend = max(from.h, to.h)*0.35 + 18
	}
	// Clockwise round the circle the left-hand normal points outwards.
	ox, oy := dy/max(length, 1)*bend, -dx/max(length, 1)*bend
	qx, qy := cx+2*ox, cy+2*oy
	x1, y1 := from.clipTo(qx, qy)
	x2, y2 := to.clipTo(qx, qy)
	lx, ly := 0.25*x1+0.5*qx+0.25*x2, 0.25*y1+0.5*qy+0.25*y2
	label := edgeLabel(h, e)
	lw := labelWidth(label)
	fmt.Fprintf(b, `<g class="edge d-%s" data-e="%s"><title>%s</title>`, e.Dep, id, esc(arrowTitle(h, e)))
	fmt.Fprintf(b, `<path class="line" d="%s" marker-end="url(#head-%s)"/>`,
		fmt.Sprintf("M%.1f,%.1f Q%.1f,%.1f %.1f,%.1f", x1, y1, qx, qy, x2, y2), e.Dep)
	fmt.Fprintf(b, `<rect class="paper" x="%.1f" y="%.1f" width="%.1f" height="17" rx="3"/>`, lx-lw/2, ly-8.5, lw)
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle" class="label">%s</text></g>`, lx, ly+4, esc(label))
}

func labelWidth(label string) float64 { return float64(utf8.RuneCountInString(label))*charWidth + 8 }

// heads returns the arrow heads of all dependencies. Edges refer to them; their class gives the colour.
func heads() string {
	var b strings.Builder
	b.WriteString(`<svg class="heads" width="0" height="0" aria-hidden="true"><defs>`)
	for d := evidence.SO; d <= evidence.TS; d++ {
		fmt.Fprintf(&b, `<marker id="head-%[1]s" class="d-%[1]s" viewBox="0 0 9 8" refX="8" refY="4" markerWidth="9" `+
			`markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path class="head" d="M0,0 L9,4 L0,8 Z"/></marker>`, d)
	}
	b.WriteString(`</defs></svg>`)
	return b.String()
}

func (b *box) draw(w *strings.Builder, h *history.History, shown map[uint32]bool) {
	x, y := b.x-b.w/2, b.y-b.h/2
	if b.t == history.None {
		w.WriteString(`<g class="bar">`)
	} else {
		fmt.Fprintf(w, `<g class="bar" data-t="%d"><title>%s</title>`, b.t, esc(txnTip(h, b.t)))
	}
	fmt.Fprintf(w, `<rect class="txn" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="5"/>`, x, y, b.w, b.h)
	fmt.Fprintf(w, `<text class="head" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, b.x, y+boxPad+9, esc(b.head))
	for i, l := range b.lines {
		class := "op"
		if b.ops[i] != history.None && shown[b.ops[i]] {
			class = "op shown"
		}
		fmt.Fprintf(w, `<text class="%s" x="%.1f" y="%.1f">%s</text>`, class, x+boxPad, y+boxPad+9+
			float64(i+1)*lineHeight, esc(l))
	}
	w.WriteString(`</g>`)
}

func esc(s string) string { return html.EscapeString(s) }
