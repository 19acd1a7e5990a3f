package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/sorts"
	"isovet/level"
)

// Limits of the order on a valid history's page.
const (
	maxOrder      = 2000 // transactions listed
	orderGroup    = 100
	maxOrderDrawn = 60 // transactions on the timeline
)

// pageOrder is an order that explains a valid history.
type pageOrder struct {
	Title, About string
	Timeline     markup
	Drawn, Lines string // which of them the timeline has, and what its lines are
	Shown        int    // how many of the first ones it has
	Groups       []orderGroupOf
	More         int
}

type orderGroupOf struct {
	Key      string // at linearizable: whose operations these are
	From, To int
	Rows     []orderRow
}

// orderRow is a transaction in the order. At the snapshot levels, Saw names the place of its snapshot, unless that was
// directly before its commit.
type orderRow struct {
	N                    int
	T                    uint32
	Name, Saw, Ops, Line string
}

// newPageOrder prepares the commit order of a valid history. It returns nil if the answer has none.
func newPageOrder(r *evidence.Result) *pageOrder {
	if r.Verdict != evidence.Holds || len(r.Order) == 0 {
		return nil
	}
	h := r.H
	o := &pageOrder{Title: "An order that explains every read", About: "Run the transactions one after another in " +
		"this order: every read returns the last value written before it.", Lines: "the line leads from"}
	commits := o.commits(r)
	alone := r.Level == level.Linearizable
	if alone {
		o.Title, o.About = "An order for each key", "Each key has its own order. Every operation takes effect at "+
			"one moment between its begin and its end, and every read returns the last value written before it."
		o.Lines = "each key has a line, which leads from"
		first := map[uint32]int{}
		for i, p := range commits {
			if _, ok := first[keyOf(h, p.t)]; !ok {
				first[keyOf(h, p.t)] = i
			}
		}
		sorts.Stable(commits, func(a, b placed) int { return first[keyOf(h, a.t)] - first[keyOf(h, b.t)] })
	}
	for i, p := range commits {
		if i == maxOrder {
			o.More = len(commits) - i
			break
		}
		n := len(o.Groups) - 1
		another := alone && i > 0 && keyOf(h, p.t) != keyOf(h, commits[i-1].t)
		if n < 0 || another || len(o.Groups[n].Rows) == orderGroup {
			g := orderGroupOf{From: i + 1}
			if alone && keyOf(h, p.t) != history.None {
				g.Key = Clip(KeyName(h, keyOf(h, p.t)), 60) + ": "
			}
			o.Groups = append(o.Groups, g)
			n++
		}
		g := &o.Groups[n]
		g.To = i + 1
		g.Rows = append(g.Rows, p.row(h, i+1))
	}
	s := &scene{h: h, at: map[uint32]int{}, cells: map[uint32][]uint32{}, cut: map[uint32]bool{},
		shown: map[uint32]bool{}, alone: alone}
	for _, p := range commits[:min(len(commits), maxOrderDrawn)] {
		s.at[p.t] = len(s.txns)
		s.txns = append(s.txns, p.t)
		s.path = append(s.path, p.t)
	}
	o.Shown = len(s.txns)
	if o.Drawn = fmt.Sprintf("The first %d in that order", len(s.txns)); len(s.txns) == len(commits) {
		o.Drawn = "All of them in that order"
	}
	o.Timeline = markup(timeline(r, s, nil, len(s.txns)))
	return o
}

// placed is a transaction in the order of commits.
type placed struct {
	t   uint32
	saw string // where its snapshot was taken
}

// row returns the page's line about the n-th transaction.
func (p *placed) row(h *history.History, n int) orderRow {
	row := orderRow{N: n, T: p.t, Name: txnName(h, p.t), Saw: p.saw}
	if l := h.Txns.Line[p.t]; l > 0 {
		row.Line = fmt.Sprintf("line %d", l)
	}
	var ops []string
	lo, hi := h.TxnOps(p.t)
	for op := lo; op < hi; op++ {
		if op == lo+maxCells {
			ops = append(ops, "…")
			break
		}
		ops = append(ops, OpText(h, op))
	}
	row.Ops = strings.Join(ops, "; ")
	return row
}

// commits returns the transactions in the answer's order, and sets the titles that describe the order.
func (o *pageOrder) commits(r *evidence.Result) (commits []placed) {
	h := r.H
	if r.Level.Snapshot() || r.Level.IsMixed() {
		o.About = "The transactions commit in this order. Every read returns the last value committed before its " +
			"transaction's snapshot. Of two transactions that write the same row, one commits before the other's " +
			"snapshot."
		taken := map[uint32]int{}
		for _, e := range r.Order {
			t := e >> 1
			if e&1 == 0 {
				taken[t] = len(commits)
				continue
			}
			p := placed{t: t}
			switch at := taken[t]; {
			case at == len(commits):
			case at == 0:
				p.saw = "snapshot of the initial state"
			default:
				p.saw = "snapshot after " + txnName(h, commits[at-1].t)
			}
			delete(taken, t)
			commits = append(commits, p)
		}
	} else {
		if !r.Level.Serial() {
			o.Title, o.About = "A commit order", "With the commits in this order, the level allows every read."
		}
		for _, t := range r.Order {
			commits = append(commits, placed{t: t})
		}
	}
	return commits
}

// keyOf returns the key of a transaction's operations, which all have one key, or None if it has no operations.
func keyOf(h *history.History, t uint32) uint32 {
	lo, hi := h.TxnOps(t)
	if lo == hi {
		return history.None
	}
	return h.OpKey(lo)
}

// pathMargin and pathInset keep the path inside a bar: pathMargin from its end, pathInset from its begin with the name.
const pathMargin, pathInset = 9, 38

// placeWidth is the smallest distance between two numbers on the path. Numbers that would be closer are left out.
const placeWidth = 17

// drawPath draws the commit order of a valid history as a line from transaction to transaction. It meets each at a
// moment while it ran, and never turns left while the order follows time. If each key has its own order, each gets a
// line. The page's script has the same function.
func (f *timelineFigure) drawPath(b *strings.Builder) {
	if len(f.s.path) < 2 {
		return
	}
	var d, which, places strings.Builder
	last, before := 0.0, history.None
	var shown [][2]float64
	for i, t := range f.s.path {
		j, ok := f.at[t]
		if !ok {
			continue
		}
		op, end := "L", " "
		if k := keyOf(f.s.h, t); d.Len() == 0 || f.s.alone && k != before {
			op, end = "M", ",0 " // the script's mark of a line's begin
			last, before = 0, k
		}
		bar := &f.bars[j]
		inset := max(pathInset, barPad+float64(utf8.RuneCountInString(bar.box.head))*charWidth+placeWidth/2+2)
		last = min(max(last+pathMargin, bar.x[0]+inset), bar.x[1]-pathMargin)
		y := bar.y + bar.box.h/2
		fmt.Fprintf(&d, "%s%.1f,%.1f ", op, last, y)
		fmt.Fprintf(&which, "%d,%.1f,%.0f%s", j, y, inset, end)
		class := "place"
		if slices.ContainsFunc(shown, func(o [2]float64) bool {
			return math.Abs(o[0]-last) < placeWidth && math.Abs(o[1]-y) < placeWidth
		}) {
			class = "place crowded"
		} else {
			shown = append(shown, [2]float64{last, y})
		}
		fmt.Fprintf(&places, `<g class="%s" transform="translate(%.1f,%.1f)"><circle r="8"/>`+
			`<text text-anchor="middle" y="4">%d</text></g>`, class, last, y, i+1)
	}
	fmt.Fprintf(b, `<path class="order" d="%s" data-path="%s"/>%s`, strings.TrimSpace(d.String()),
		strings.TrimSpace(which.String()), places.String())
}

// pageMechanisms shows the findings of a checker that knows the database's profile.
type pageMechanisms struct {
	Profile    string
	Found      []pair
	Violations []pageMechanism
	More       int
}

type pageMechanism struct {
	Title, Text, Assumes string
	Proved               bool
	Timeline             markup
}

// newPageMechanisms prepares the failed mechanisms. It returns nil if the checker did not examine mechanisms.
func newPageMechanisms(r *evidence.Result) *pageMechanisms {
	m := r.Mechanisms
	if m == nil {
		return nil
	}
	h := r.H
	out := &pageMechanisms{Profile: m.Profile}
	out.Found = slice.Map(sortedKeys(m.Found), func(k string) pair { return pair{k, fmt.Sprint(m.Found[k])} })
	wanted := map[int64]uint32{}
	shown := m.Violations[:min(len(m.Violations), maxAnomalies)]
	for i := range shown {
		for _, id := range shown[i].Txns {
			wanted[id] = history.None
		}
	}
	for t, id := range h.Txns.ID {
		if _, ok := wanted[id]; ok {
			wanted[id] = uint32(t)
		}
	}
	for i := range shown {
		v, a := &shown[i], evidence.Anomaly{}
		for _, id := range v.Txns {
			if t := wanted[id]; t != history.None {
				a.Txns = append(a.Txns, t)
			}
		}
		s := newScene(h, []evidence.Anomaly{a})
		s.cellsOfKey(string(v.Key))
		out.Violations = append(out.Violations, pageMechanism{Title: v.Mechanism + ": " + v.Kind, Text: v.Text,
			Assumes: v.Assumes, Proved: v.Proved, Timeline: markup(timeline(r, s, nil, MaxNodes))})
	}
	out.More = m.Total() - len(out.Violations)
	return out
}

// cellsOfKey shows the operations on a key, given as JSON. A transaction that has none shows its first operations.
func (s *scene) cellsOfKey(key string) {
	for _, t := range s.txns {
		lo, hi := s.h.TxnOps(t)
		s.cells[t], s.cut[t] = nil, false
		for op := lo; op < hi; op++ {
			k := s.h.OpKey(op)
			wanted := key == "" || k == history.None || s.h.KeyString(k) == key
			if wanted && len(s.cells[t]) < maxCells {
				s.cells[t] = append(s.cells[t], op)
			} else {
				s.cut[t] = true
			}
		}
	}
}

// pageList is a list of an anomaly: the elements that each reader saw, in the order of the list.
type pageList struct {
	Key  string
	Rows []listRow
	More int
}

type listRow struct {
	Who   string
	Elems []listElem
}

type listElem struct {
	Text, About string
	Odd         bool // stands where the longest read has another one, or was never committed
}

// Limits of a table of lists.
const (
	maxListRows  = 20
	maxListElems = 40
)

// listsOf prepares the lists that an anomaly's transactions read.
func listsOf(r *evidence.Result, s *scene) (out []pageList) {
	h := r.H
	var keys []uint32
	reads := map[uint32][]uint32{}
	by := map[uint32]string{} // element, a version → its appender
	elems := func(op uint32) []uint32 { return h.Elems(h.Ops.Ver[op]) }
	for _, t := range s.txns {
		for _, op := range s.cells[t] {
			if h.Ops.Kind[op] == history.ReadList {
				k := h.OpKey(op)
				if len(reads[k]) == 0 {
					keys = append(keys, k)
				}
				reads[k] = append(reads[k], op)
				for _, v := range elems(op) {
					by[v] = ""
				}
			}
		}
	}
	aborted := appenders(h, by)
	for _, k := range keys {
		longest := elems(slices.MaxFunc(reads[k], func(a, b uint32) int { return len(elems(a)) - len(elems(b)) }))
		p := pageList{Key: Clip(KeyName(h, k), 60)}
		for i, op := range reads[k] {
			if i == maxListRows {
				p.More = len(reads[k]) - i
				break
			}
			row := listRow{Who: txnName(h, h.TxnOf(op))}
			all := elems(op)
			for j, v := range all {
				if len(all) > maxListElems && j >= maxListElems/2 && j < len(all)-maxListElems/2 {
					if j == maxListElems/2 {
						row.Elems = append(row.Elems, listElem{Text: "…", About: fmt.Sprintf("%d more",
							len(all)-maxListElems)})
					}
					continue
				}
				row.Elems = append(row.Elems, listElem{Text: Clip(h.ValueString(v), 20), About: by[v],
					Odd: longest[j] != v || aborted[v]})
			}
			if !slices.ContainsFunc(p.Rows, func(o listRow) bool { // it may have read the same twice
				return o.Who == row.Who && slices.Equal(o.Elems, row.Elems)
			}) {
				p.Rows = append(p.Rows, row)
			}
		}
		out = append(out, p)
	}
	return out
}

// appenders sets the value of each list element in by to the name of its appender. It returns the elements that
// aborted transactions appended: no committed order installs them.
func appenders(h *history.History, by map[uint32]string) (aborted map[uint32]bool) {
	aborted = map[uint32]bool{}
	for op, kind := range h.Ops.Kind {
		if kind == history.Append && len(by) > 0 {
			if _, ok := by[h.Ops.Ver[op]]; ok {
				t := h.TxnOf(uint32(op))
				by[h.Ops.Ver[op]] = "appended by " + txnName(h, t) + statusMark(h, t)
				aborted[h.Ops.Ver[op]] = h.Txns.Status[t] == history.Aborted
			}
		}
	}
	return aborted
}
