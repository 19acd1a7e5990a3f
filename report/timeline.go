package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/sorts"
)

// The sizes of a timeline's parts, in SVG units (CSS pixels).
const (
	timelineLeft = 104 // room for the sessions' names
	laneGap      = 10
	barPad       = 6
	smallBar     = 20 // height of a bar without operations
	smallGap     = 14 // between two moments
	scaleWidth   = 900
	maxGap       = 140  // for the name of an edge between two bars
	foldedShare  = 0.15 // of the whole: an idle span as long as that is marked where it is folded
)

// clock gives the begin and end of each transaction on one of three axes.
type clock struct {
	h          *history.History
	start, end func(t uint32) int64 // history.NoTime where it is not known
	// text writes a moment. fine, if set, writes it with all digits. axis names the axis.
	text  func(at int64) string
	fine  func(at int64) string
	axis  string
	scale bool // distances mean something
}

// newClock uses the database's timestamps if the verdict is about them. Otherwise it uses the clients' times or,
// without times, the order of the file.
func newClock(r *evidence.Result, drawn []uint32) *clock {
	h := r.H
	has := func(start, end func(uint32) int64) bool {
		for _, t := range drawn {
			if t != h.Init && (start(t) == history.NoTime || end(t) == history.NoTime &&
				h.Txns.Status[t] == history.Committed) {
				return false
			}
		}
		return true
	}
	switch {
	case r.Timestamps && has(h.StartTS, h.CommitTS):
		return &clock{h: h, start: h.StartTS, end: h.CommitTS, text: func(at int64) string { return fmt.Sprint(at) },
			axis: "the database's timestamps →", scale: true}
	case has(h.Start, h.End) && h.Positions:
		return &clock{h: h, start: h.Start, end: h.End, text: func(at int64) string { return fmt.Sprint(at) },
			axis: "place in the file →", scale: true}
	case has(h.Start, h.End):
		zero := begin(h)
		return &clock{h: h, start: h.Start, end: h.End, text: func(at int64) string { return sinceText(at, zero) },
			fine: func(at int64) string { return "+" + exactText(between64(zero, at)) },
			axis: "time since the history's first transaction began →", scale: true}
	}
	return &clock{h: h, start: func(t uint32) int64 { return 2 * int64(t) },
		end:  func(t uint32) int64 { return 2*int64(t) + 1 },
		text: func(int64) string { return "" }, axis: "order in the file →"}
}

// begin returns the first start of a history, history.NoTime if none is known.
func begin(h *history.History) int64 {
	first := int64(history.NoTime)
	for t, at := range h.Txns.Start {
		if at != history.NoTime && uint32(t) != h.Init && (first == history.NoTime || at < first) {
			first = at
		}
	}
	return first
}

// sinceText writes the time from zero to at. Both are in nanoseconds.
func sinceText(at, zero int64) string {
	if at < zero {
		return "−" + spanText(between64(at, zero))
	}
	return "+" + spanText(between64(zero, at))
}

// between64 returns the time between two moments. It subtracts as uint64, because a float64 cannot tell nanoseconds
// since 1970 apart and the difference of two int64 can exceed an int64.
func between64(from, to int64) float64 { return float64(uint64(to) - uint64(from)) }

// spanText writes nanoseconds in the unit that reads best.
func spanText(d float64) string {
	short := func(v float64, unit string) string {
		s := fmt.Sprintf("%.3f", v)
		return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") + " " + unit
	}
	switch {
	case d < 1e3:
		return fmt.Sprintf("%.0f ns", d)
	case d < 1e6:
		return short(d/1e3, "µs")
	case d < 1e9:
		return short(d/1e6, "ms")
	case d < 120e9:
		return short(d/1e9, "s")
	case d < 7200e9:
		return short(d/60e9, "min")
	case d < 48*3600e9:
		return short(d/3600e9, "h")
	}
	return short(d/(24*3600e9), "d")
}

// exactText writes nanoseconds with all digits, in the unit of spanText.
func exactText(d float64) string {
	_, unit, _ := strings.Cut(spanText(d), " ")
	per := map[string]float64{"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9, "d": 86400e9}[unit]
	return strings.TrimRight(fmt.Sprintf("%.9f", d/per), "0") + " " + unit
}

// bar is a transaction on the timeline.
type bar struct {
	t        uint32
	from, to int // moments
	open     bool
	full     bool // with its operations
	box      box
	lane     int // of its session's row
	y        float64
	x, s     [2]float64 // readable and to scale
}

// timelineFigure is a timeline being drawn.
type timelineFigure struct {
	r     *evidence.Result
	s     *scene
	clock *clock
	bars  []bar
	at    map[uint32]int // transaction → bar
	// moments are the times at which a transaction begins or ends. x and scaled are their positions.
	moments   []int64
	x, scaled []float64
	rows      []uint32 // sessions
	rowY      []float64
	height    float64
	marks     []versionMark
	left      float64 // where the first bar may begin
}

// timeline draws the transactions of the evidence and some neighbours in their sessions, one row for each session. A
// bar runs from begin to end; with an unknown outcome it has no end. The axis keeps the order of all moments, leaves
// space for the bars' texts and shortens idle spans. The attributes data-s have the true scale for the page's script.
func timeline(r *evidence.Result, s *scene, ids edgeIDs, most int) string {
	if len(s.txns) == 0 {
		return ""
	}
	f := &timelineFigure{r: r, s: s, at: map[uint32]int{}}
	drawn := withContext(r.H, s.txns, 3, most)
	if f.clock = newClock(r, drawn); !f.clock.scale { // where the file's order is all there is, neighbours say little
		drawn = withContext(r.H, s.txns, 1, most)
	}
	f.place(drawn)
	f.spread()
	f.stack()
	return f.draw(ids)
}

// place makes the bars and finds their moments.
func (f *timelineFigure) place(drawn []uint32) {
	h := f.r.H
	for _, t := range drawn {
		_, full := f.s.at[t]
		b := bar{t: t, full: full, box: f.s.box(t, full)}
		if !full {
			b.box.h = smallBar
		}
		if len(f.s.path) > 0 { // its place stands beside its name
			b.box.w += placeWidth
		}
		f.bars = append(f.bars, b)
		if t != h.Init {
			f.moments = append(f.moments, f.clock.start(t))
			if end := f.clock.end(t); end != history.NoTime {
				f.moments = append(f.moments, max(end, f.clock.start(t)))
			}
		}
	}
	slices.Sort(f.moments)
	f.moments = slices.Compact(f.moments)
	for _, b := range slice.Refs(f.bars) {
		if b.t == h.Init {
			b.from, b.to = -1, -1
			continue
		}
		b.from, _ = slices.BinarySearch(f.moments, f.clock.start(b.t))
		end := f.clock.end(b.t)
		if end == history.NoTime && h.Txns.Status[b.t] == history.Aborted {
			end = f.clock.start(b.t) // nobody knows when, and it makes no difference
		}
		b.open = end == history.NoTime
		if b.to = len(f.moments); !b.open {
			b.to, _ = slices.BinarySearch(f.moments, max(end, f.clock.start(b.t)))
		}
	}
	sorts.Stable(f.bars, func(a, b bar) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.t, b.t)) })
	for i := range f.bars {
		f.at[f.bars[i].t] = i
	}
}

// spread positions the moments from left to right, leaving space for the bars that end at each.
func (f *timelineFigure) spread() {
	n := len(f.moments)
	f.x, f.scaled = make([]float64, n+1), make([]float64, n+1)
	ends := make([][]int, n+1)
	first := float64(timelineLeft)
	for i := range f.bars {
		if b := &f.bars[i]; b.from >= 0 {
			ends[b.to] = append(ends[b.to], i)
		} else {
			room := float64(smallGap)
			for _, e := range f.s.edges {
				if e.From == b.t || e.To == b.t {
					room = max(room, min(labelWidth(edgeLabel(f.r.H, e)), maxGap)+30)
				}
			}
			first = max(first, timelineLeft+b.box.w+room)
		}
	}
	gaps := f.gaps()
	right := first // of the bars that end where they begin
	for i := range f.x {
		if f.x[i] = first; i > 0 {
			f.x[i] = max(f.x[i-1]+smallGap, right)
		}
		for _, j := range ends[i] {
			if b := &f.bars[j]; b.from < i {
				f.x[i] = max(f.x[i], f.x[b.from]+b.box.w)
			}
		}
		for _, g := range gaps[i] {
			f.x[i] = max(f.x[i], f.x[g.from]+g.room)
		}
		right = f.x[i]
		for _, j := range ends[i] {
			if b := &f.bars[j]; b.from == i {
				right = max(right, f.x[i]+b.box.w+laneGap)
			}
		}
	}
	span := 1.0
	if n > 0 {
		span = max(between64(f.moments[0], f.moments[n-1]), 1)
	}
	for i := range f.scaled {
		if f.scaled[i] = first + scaleWidth; i < n {
			f.scaled[i] = first + scaleWidth*0.97*between64(f.moments[0], f.moments[i])/span
		}
	}
	for _, b := range slice.Refs(f.bars) {
		if b.from < 0 {
			b.x = [2]float64{timelineLeft, timelineLeft + b.box.w}
			b.s = b.x
			continue
		}
		b.x = [2]float64{f.x[b.from], max(f.x[b.to], f.x[b.from]+min(b.box.w, 24))}
		if b.from == b.to {
			b.x[1] = b.x[0] + b.box.w
		}
		b.s = [2]float64{f.scaled[b.from], max(f.scaled[b.to], f.scaled[b.from]+3)}
	}
}

// gap is the space between two moments that the name of an edge needs.
type gap struct {
	from int
	room float64
}

// gaps returns, for each moment, the gaps that end there. Only edges between bars that do not overlap have one.
func (f *timelineFigure) gaps() [][]gap {
	out := make([][]gap, len(f.moments)+1)
	for _, e := range f.s.edges {
		i, ok1 := f.at[e.From]
		j, ok2 := f.at[e.To]
		if !ok1 || !ok2 {
			continue
		}
		first, then := &f.bars[i], &f.bars[j]
		if first.from > then.from {
			first, then = then, first
		}
		if first.from >= 0 && first.to < then.from {
			out[then.from] = append(out[then.from], gap{first.to, min(labelWidth(edgeLabel(f.r.H, e)), maxGap) + 30})
		}
	}
	return out
}

// session returns a transaction's row. All transactions without a session share one row.
func (f *timelineFigure) session(t uint32) uint32 {
	h := f.r.H
	if g := h.Txns.Sess[t]; t == h.Init || h.SessName[g] != history.NoTime {
		return g
	}
	for i := range f.bars {
		if u := f.bars[i].t; u != h.Init && h.SessName[h.Txns.Sess[u]] == history.NoTime {
			return h.Txns.Sess[u]
		}
	}
	return h.Txns.Sess[t]
}

// stack gives each session a row. Bars of one session that overlap get separate lanes in it.
func (f *timelineFigure) stack() {
	h := f.r.H
	for i := range f.bars {
		if g := f.session(f.bars[i].t); !slices.Contains(f.rows, g) {
			f.rows = append(f.rows, g)
		}
	}
	initial := func(g uint32) int {
		if h.Init != history.None && g == h.Txns.Sess[h.Init] {
			return 0
		}
		return 1
	}
	sorts.Func(f.rows, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(initial(a), initial(b)), cmp.Compare(h.SessName[a], h.SessName[b]), cmp.Compare(a, b))
	})
	y := 10.0
	for _, g := range f.rows {
		f.rowY = append(f.rowY, y)
		var until, tall []float64 // of the lanes
		for _, b := range slice.Refs(f.bars) {
			if f.session(b.t) != g {
				continue
			}
			for b.lane = 0; b.lane < len(until) && until[b.lane] > b.x[0]; b.lane++ {
			}
			if b.full && h.SessName[g] == history.NoTime { // one below the other, so that arrows between them are seen
				b.lane = len(until)
			}
			if b.lane == len(until) {
				until, tall = append(until, 0), append(tall, 0)
			}
			until[b.lane] = max(b.x[1], b.x[0]+1)
			tall[b.lane] = max(tall[b.lane], b.box.h)
		}
		for i := range f.bars {
			if b := &f.bars[i]; f.session(b.t) == g {
				b.y = y
				for _, t := range tall[:b.lane] {
					b.y += t + 4
				}
			}
		}
		for _, t := range tall {
			y += t + 4
		}
		y += laneGap
	}
	f.height = y
}

// withContext adds neighbours to the transactions of the evidence: at most near before and near after each in its
// session, and at most most transactions in all.
func withContext(h *history.History, txns []uint32, near, most int) []uint32 {
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
	for d := 1; d <= near; d++ {
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

// SessionName returns the name of a session, from its number in the file.
func SessionName(h *history.History, g uint32) string {
	if h.Init != history.None && h.Txns.Sess[h.Init] == g {
		return "initial"
	}
	if n := h.SessName[g]; n != history.NoTime {
		return fmt.Sprintf("session %d", n)
	}
	return "no session"
}

// barTip returns the tooltip of a transaction: the file's data about it and its operations.
func barTip(h *history.History, t uint32) string {
	var b strings.Builder
	b.WriteString(txnTip(h, t))
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		if op == lo+maxCells {
			fmt.Fprintf(&b, "\n… %d more", hi-op)
			break
		}
		b.WriteString("\n" + OpText(h, op))
	}
	return b.String()
}
