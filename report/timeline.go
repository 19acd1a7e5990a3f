package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"isovet/evidence"
	"isovet/history"
)

// timeline draws the transactions that the evidence speaks of, and some others of the same sessions around them, a row
// for each session. With times a bar runs from start to end; the axis keeps the order of all these moments but not
// their distances, so that microseconds and minutes are both visible. Without times, the file's order is the axis.
func timeline(h *history.History, s *scene, most int) string {
	if len(s.txns) == 0 {
		return ""
	}
	drawn := withContext(h, s.txns, most)
	timed := true
	for _, t := range drawn {
		if t != h.Init && (h.Start(t) == history.NoTime || h.End(t) == history.NoTime &&
			h.Txns.Status[t] == history.Committed) {
			timed = false
		}
	}
	bars := place(h, drawn, timed)

	// Rows: the initial transaction, then sessions by the file's name.
	var sessions []uint32
	for _, t := range drawn {
		if g := h.Txns.Sess[t]; !slices.Contains(sessions, g) {
			sessions = append(sessions, g)
		}
	}
	slices.SortFunc(sessions, func(a, b uint32) int {
		if h.Init != history.None && a != b {
			if a == h.Txns.Sess[h.Init] {
				return -1
			}
			if b == h.Txns.Sess[h.Init] {
				return 1
			}
		}
		return cmp.Or(cmp.Compare(h.SessName[a], h.SessName[b]), cmp.Compare(a, b))
	})
	row := map[uint32]int{}
	for i, g := range sessions {
		row[g] = i
	}

	slots := 0
	widest := 0
	for _, b := range bars {
		slots = max(slots, b.to+1)
		widest = max(widest, utf8.RuneCountInString(txnName(h, b.t)))
	}
	const left, rowHeight, barHeight, top = 92, 40, 22, 12
	unit := float64(widest)*charWidth + 16
	if !timed {
		unit = max(unit, 64)
	} else {
		unit = min(unit, 900/float64(slots))
		unit = max(unit, 14)
	}
	width := max(left+unit*float64(slots)+20, 420)
	height := float64(top + rowHeight*len(sessions) + 26)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %.0f %.0f" style="width:%.0fpx;min-width:%.0fpx;max-width:100%%" role="img"><title>Transactions by session</title>`, width, height, width, min(width, 700))
	mid := func(t uint32) float64 {
		return float64(top + rowHeight*row[h.Txns.Sess[t]] + rowHeight/2)
	}
	for i, g := range sessions {
		y := float64(top + rowHeight*i + rowHeight/2)
		fmt.Fprintf(&b, `<line class="row" x1="%d" y1="%.1f" x2="%.1f" y2="%.1f"/><text class="sess" x="4" y="%.1f">%s</text>`, left-6, y, width-10, y, y+4, esc(sessionName(h, g)))
	}
	span := map[uint32][2]float64{}
	for _, r := range bars {
		x1 := left + unit*float64(r.from) + 2
		x2 := left + unit*float64(r.to+1) - 2
		span[r.t] = [2]float64{x1, x2}
		class := "txn context"
		if _, ok := s.at[r.t]; ok {
			class = "txn"
		}
		if h.Txns.Status[r.t] != history.Committed {
			class += " aborted"
		}
		y := mid(r.t)
		fmt.Fprintf(&b, `<g><title>%s</title><rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%d" rx="4"/>`,
			esc(barTip(h, r.t)), class, x1, y-barHeight/2, x2-x1, barHeight)
		if name := txnName(h, r.t); float64(utf8.RuneCountInString(name))*charWidth <= x2-x1 {
			fmt.Fprintf(&b, `<text class="head" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, (x1+x2)/2, y+4,
				esc(name))
		}
		b.WriteString(`</g>`)
	}
	for _, e := range s.edges {
		from, ok1 := span[e.From]
		to, ok2 := span[e.To]
		if !ok1 || !ok2 {
			continue
		}
		arc(&b, h, e, (from[0]+from[1])/2, mid(e.From), (to[0]+to[1])/2, mid(e.To), barHeight/2)
	}
	axis := "order in the file →"
	if timed {
		axis = "time → (moments in order, distances not to scale)"
	}
	fmt.Fprintf(&b, `<text class="axis" x="%d" y="%.1f">%s</text></svg>`, left, height-6, axis)
	return b.String()
}

// arc draws an edge between two bars.
func arc(b *strings.Builder, h *history.History, e evidence.Edge, x1, y1, x2, y2, half float64) {
	var qx, qy float64
	if y1 == y2 {
		qx, qy = (x1+x2)/2, y1-half-26
		y1, y2 = y1-half, y2-half
	} else {
		// Edges of a cycle that go back and forth between two bars must not lie on each other: those that go up bend
		// left.
		side := 14.0
		if y2 < y1 {
			side = -14
		}
		qx, qy = (x1+x2)/2+side, (y1+y2)/2
		x1, x2 = x1+side/2, x2+side/2
		if y2 > y1 {
			y1, y2 = y1+half, y2-half
		} else {
			y1, y2 = y1-half, y2+half
		}
	}
	fmt.Fprintf(b, `<g class="edge %s"><title>%s</title><path d="M%.1f,%.1f Q%.1f,%.1f %.1f,%.1f" stroke-width="1.5"/>`,
		depClass(e.Dep), esc(why(h, e)), x1, y1, qx, qy, x2, y2)
	arrowHead(b, qx, qy, x2, y2)
	b.WriteString(`</g>`)
}

// bar is where a transaction stands on the axis: slots from through to.
type bar struct {
	t        uint32
	from, to int
}

// place gives every transaction its slots.
func place(h *history.History, txns []uint32, timed bool) []bar {
	bars := make([]bar, len(txns))
	if !timed {
		order := slices.Clone(txns)
		slices.SortFunc(order, func(a, b uint32) int {
			if a == h.Init || b == h.Init {
				if a == b {
					return 0
				}
				if a == h.Init {
					return -1
				}
				return 1
			}
			return cmp.Compare(a, b)
		})
		for i, t := range order {
			bars[i] = bar{t, i, i}
		}
		return bars
	}
	var moments []int64
	end := func(t uint32) int64 {
		if e := h.End(t); e != history.NoTime {
			return e
		}
		return h.Start(t)
	}
	for _, t := range txns {
		if t != h.Init {
			moments = append(moments, h.Start(t), end(t))
		}
	}
	slices.Sort(moments)
	moments = slices.Compact(moments)
	shift := 0
	if slices.Contains(txns, h.Init) {
		shift = 2
	}
	for i, t := range txns {
		if t == h.Init {
			bars[i] = bar{t, 0, 1}
			continue
		}
		from, _ := slices.BinarySearch(moments, h.Start(t))
		to, _ := slices.BinarySearch(moments, end(t))
		bars[i] = bar{t, shift + from, shift + to}
	}
	return bars
}

// withContext adds to the transactions of the evidence the nearest others of their sessions, up to most in all.
func withContext(h *history.History, txns []uint32, most int) []uint32 {
	in := map[uint32]bool{}
	out := []uint32{}
	add := func(t uint32) {
		if !in[t] && len(out) < most {
			in[t] = true
			out = append(out, t)
		}
	}
	for _, t := range txns {
		add(t)
	}
	target := min(most, 3*len(out)+4)
	for d := 1; d <= 3; d++ {
		for _, t := range txns {
			g := h.Txns.Sess[t]
			peers := h.SessTxn[h.SessOff[g]:h.SessOff[g+1]]
			i := slices.Index(peers, t)
			for _, j := range [2]int{i - d, i + d} {
				if j >= 0 && j < len(peers) && len(out) < target {
					add(peers[j])
				}
			}
		}
	}
	return out
}

func sessionName(h *history.History, g uint32) string {
	if h.Init != history.None && h.Txns.Sess[h.Init] == g {
		return "initial"
	}
	if n := h.SessName[g]; n != history.NoTime {
		return fmt.Sprintf("session %d", n)
	}
	return "no session"
}

// barTip is the tooltip of a transaction: what the file says of it and its operations.
func barTip(h *history.History, t uint32) string {
	var b strings.Builder
	b.WriteString(txnTip(h, t))
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		if op == lo+maxCells {
			fmt.Fprintf(&b, "\n… %d more", hi-op)
			break
		}
		b.WriteString("\n" + opText(h, op))
	}
	return b.String()
}
