package seen

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"isovet/history"
)

// figure is a timeline: sessions as rows, transactions as boxes from begin to end, with their reads and writes. The
// axis keeps the order of moments, not their distances, so that microseconds and minutes can both be seen.
type figure struct {
	Width, Height int
	Rows          []figureRow
	Boxes         []box
	Ticks         []tick
	Arcs          []arc
	Axis          string
	Left          int // of more transactions than are drawn
}

type figureRow struct {
	Name         string
	Y, Mid, High int
}

type box struct {
	Name, Class, Says  string
	X, Y, Width, High  int
	Session            string
	Began, Ended, Fate string
	Lines              []boxLine
	t                  uint32
}

type boxLine struct {
	Text, Class string
	Y           int
	Full        string
	Wrong       bool
}

type tick struct {
	X, To int
	Text  string
}

type arc struct {
	Path, Text, Says       string
	X, Y, Wide, EndX, EndY int
	Tip                    int // degrees that the arrow's tip is turned by, from downwards
}

// drawn says what a timeline is to show.
type drawn struct {
	h     *history.History
	chief []int64 // transactions that the violation names
	key   string  // that it is about, as JSON; "": any
	txn   *int64  // whose read is wrong
	op    *uint32 // which one, in the transaction as it was sent
	// wrong are the operations that a certificate names, each a transaction and a place in it as the history has it.
	wrong [][2]int64
	ts    bool // by the database's timestamps, where there are some
	edges []edge
}

// edge is one of a certificate's cycle.
type edge struct {
	From  int64           `json:"from"`
	To    int64           `json:"to"`
	Dep   string          `json:"dep"`
	Key   json.RawMessage `json:"key"`
	Value json.RawMessage `json:"value"`
}

// Sizes of a timeline, in pixels.
const (
	leftEdge, topEdge   = 108, 8
	charWide, lineHigh  = 7.3, 15
	boxHead, boxFoot    = 19, 5
	rowGap, arcGap      = 14, 44
	slotLeast, slotMost = 56, 190
	maxBoxes, maxLines  = 40, 10
	maxChars            = 24
)

// moments of a transaction: the axis that it stands on.
func (d *drawn) times(t uint32) (from, to int64) {
	if d.ts {
		return d.h.StartTS(t), d.h.CommitTS(t)
	}
	return d.h.Start(t), d.h.End(t)
}

// draw lays a timeline out; nil: there is nothing to draw.
func (d *drawn) draw() *figure {
	h := d.h
	f := &figure{}
	var txns []uint32
	for t := range uint32(h.NumTxns()) {
		txns = append(txns, t)
	}
	rank := func(t uint32) int {
		if i := slices.Index(d.chief, h.Txns.ID[t]); i >= 0 && t != h.Init {
			return i
		}
		return len(d.chief)
	}
	slices.SortStableFunc(txns, func(a, b uint32) int { return cmp.Compare(rank(a), rank(b)) })
	if len(txns) > maxBoxes {
		f.Left = len(txns) - maxBoxes
		txns = txns[:maxBoxes]
	}
	if len(txns) == 0 {
		return nil
	}
	timed := d.axis(txns)
	from, to, moments := d.slots(txns, timed)
	boxes := make([]box, len(txns))
	unit := float64(slotLeast)
	for i, t := range txns {
		boxes[i] = d.box(t, timed)
		widest := utf8.RuneCountInString(boxes[i].Name)
		for _, l := range boxes[i].Lines {
			widest = max(widest, utf8.RuneCountInString(l.Text))
		}
		need := (charWide*float64(widest) + 22) / float64(to[i]-from[i]+1)
		unit = max(unit, min(need, slotMost))
	}
	d.rows(f, boxes, txns, from, to, unit)
	last := slices.Max(to) + 1
	f.Width = max(leftEdge+int(unit*float64(last))+72, 580)
	for i, m := range moments {
		x := leftEdge + int(unit*float64(i+d.shift(timed)))
		f.Ticks = append(f.Ticks, tick{X: x, To: f.Height, Text: d.moment(m, moments[0])})
	}
	f.Ticks = spaced(f.Ticks)
	switch {
	case !timed:
		f.Axis = "order in the file →"
	case d.ts:
		f.Axis = "the database’s timestamps → (in order, distances not to scale)"
	default:
		f.Axis = "clients’ time → (in order, distances not to scale)"
	}
	f.Height += 40
	d.arcs(f, boxes)
	slices.SortStableFunc(boxes, func(a, b box) int { return cmp.Compare(a.X, b.X) })
	f.Boxes = boxes
	return f
}

// axis reports whether the transactions have times, and chooses which.
func (d *drawn) axis(txns []uint32) bool {
	whole := func(ts bool) bool {
		d.ts = ts
		for _, t := range txns {
			from, to := d.times(t)
			if t != d.h.Init && (from == history.NoTime || to == history.NoTime &&
				d.h.Txns.Status[t] == history.Committed) {
				return false
			}
		}
		return true
	}
	want := d.ts
	return whole(want) || whole(!want)
}

func (d *drawn) shift(timed bool) int {
	if timed && d.h.Init != history.None {
		return 1
	}
	return 0
}

// slots gives each transaction the places from which and to which it stands on the axis.
func (d *drawn) slots(txns []uint32, timed bool) (from, to []int, moments []int64) {
	from, to = make([]int, len(txns)), make([]int, len(txns))
	if !timed {
		order := slices.Sorted(slices.Values(txns))
		for i, t := range txns {
			at := slices.Index(order, t)
			if d.h.Init != history.None {
				switch {
				case t == d.h.Init:
					at = 0
				case t < d.h.Init:
					at++
				}
			}
			from[i], to[i] = at, at
		}
		return from, to, nil
	}
	for _, t := range txns {
		if t == d.h.Init {
			continue
		}
		a, z := d.times(t)
		moments = append(moments, a)
		if z != history.NoTime {
			moments = append(moments, z)
		}
	}
	slices.Sort(moments)
	moments = slices.Compact(moments)
	for i, t := range txns {
		if t == d.h.Init {
			continue // before all others
		}
		a, z := d.times(t)
		x, _ := slices.BinarySearch(moments, a)
		y := len(moments) // it may have ended at any time
		if z != history.NoTime {
			y, _ = slices.BinarySearch(moments, z)
		}
		from[i], to[i] = x+d.shift(timed), max(x, y-1)+d.shift(timed)
	}
	return from, to, moments
}

// rows puts boxes under one another: a row a session, and more than one where transactions of it overlap.
func (d *drawn) rows(f *figure, boxes []box, txns []uint32, from, to []int, unit float64) {
	type lane struct {
		session uint32
		until   int
		high    int
		of      []int
	}
	order := make([]int, len(txns))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := d.sessionRank(txns[a]), d.sessionRank(txns[b])
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(d.h.Txns.Sess[txns[a]], d.h.Txns.Sess[txns[b]]),
			cmp.Compare(from[a], from[b]))
	})
	var lanes []lane
	for _, i := range order {
		s := d.h.Txns.Sess[txns[i]]
		at := slices.IndexFunc(lanes, func(l lane) bool { return l.session == s && l.until < from[i] })
		if at < 0 {
			at = len(lanes)
			lanes = append(lanes, lane{session: s})
		}
		l := &lanes[at]
		l.until = to[i]
		l.of = append(l.of, i)
		l.high = max(l.high, boxes[i].High)
	}
	y := topEdge
	for _, l := range lanes {
		for _, i := range l.of {
			b := &boxes[i]
			b.X, b.Y = leftEdge+int(unit*float64(from[i]))+2, y
			b.Width = max(int(unit*float64(to[i]-from[i]+1))-4, 20)
		}
		f.Rows = append(f.Rows, figureRow{Name: boxes[l.of[0]].Session, Y: y, Mid: y + 14, High: l.high})
		y += l.high + rowGap
		if len(d.edges) > 0 {
			y += arcGap - rowGap
		}
	}
	f.Height = y
}

func (d *drawn) sessionRank(t uint32) int64 {
	if t == d.h.Init {
		return -1 << 62
	}
	return d.h.SessName[d.h.Txns.Sess[t]]
}

// box is what a transaction's says.
func (d *drawn) box(t uint32, timed bool) box {
	h := d.h
	b := box{t: t, Name: "T" + strconv.FormatInt(h.Txns.ID[t], 10), Class: "txn", Fate: "committed",
		Session: "–"}
	if n := h.SessName[h.Txns.Sess[t]]; n != history.NoTime {
		b.Session = "session " + strconv.FormatInt(n, 10)
	}
	switch {
	case t == h.Init:
		b.Name, b.Session, b.Class, b.Fate = "initial", "initial", "txn faint", "what keys held at first"
	case h.Txns.Status[t] == history.Aborted:
		b.Fate, b.Class = "aborted", "txn aborted"
	case h.Txns.Status[t] == history.Unknown:
		b.Fate, b.Class = "outcome not known", "txn aborted"
	}
	if len(d.chief) > 0 && !slices.Contains(d.chief, h.Txns.ID[t]) {
		b.Class += " faint"
	}
	if timed && t != h.Init {
		from, to := d.times(t)
		first := d.first()
		b.Began = d.moment(from, first)
		if to != history.NoTime {
			b.Ended = d.moment(to, first)
		}
	}
	lo, hi := h.TxnOps(t)
	type cand struct {
		op   uint32
		rank int
	}
	var ops []cand
	for op := lo; op < hi; op++ {
		c := cand{op, 2}
		if k := h.OpKey(op); d.key != "" && k != history.None && h.KeyString(k) == d.key {
			c.rank = 1
		}
		if t != h.Init && d.isWrong(t, op, lo) {
			c.rank = 0
		}
		ops = append(ops, c)
	}
	most := maxLines
	if len(ops) > most {
		slices.SortStableFunc(ops, func(a, b cand) int { return cmp.Compare(a.rank, b.rank) })
		ops = ops[:most]
		slices.SortFunc(ops, func(a, b cand) int { return cmp.Compare(a.op, b.op) })
	}
	y := boxHead + 10
	for _, c := range ops {
		text, full := d.opText(c.op)
		l := boxLine{Text: text, Full: full, Y: y, Class: "op"}
		switch {
		case c.rank == 0:
			l.Class, l.Text, l.Wrong = "op wrong", "✗ "+text, true
		case c.rank == 1:
			l.Class = "op about"
		}
		b.Lines = append(b.Lines, l)
		y += lineHigh
	}
	if more := int(hi-lo) - len(ops); more > 0 {
		b.Lines = append(b.Lines, boxLine{Text: fmt.Sprintf("… %d more", more), Y: y, Class: "op",
			Full: fmt.Sprintf("… %d more", more)})
		y += lineHigh
	}
	b.High = y - 10 + boxFoot
	b.Says = b.Name + ", " + b.Fate
	if b.Session != "–" {
		b.Says = b.Name + ", " + b.Session + ", " + b.Fate
	}
	return b
}

// isWrong reports whether an operation is the one that the violation is about. A history may have left out others
// before it; then the certificate says which it is.
func (d *drawn) isWrong(t, op, lo uint32) bool {
	h := d.h
	if d.wrong != nil {
		return slices.Contains(d.wrong, [2]int64{h.Txns.ID[t], int64(op - lo)})
	}
	if d.txn == nil || d.op == nil || h.Txns.ID[t] != *d.txn || op != lo+*d.op {
		return false
	}
	k := h.OpKey(op)
	return d.key == "" || k != history.None && h.KeyString(k) == d.key
}

// opText writes an operation, cut to fit and in full.
func (d *drawn) opText(op uint32) (text, full string) {
	h := d.h
	v, kind := h.Ops.Ver[op], h.Ops.Kind[op]
	switch kind {
	case history.ReadList:
		var elems []string
		for _, e := range h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]] {
			elems = append(elems, h.ValueString(e))
		}
		l := "[" + strings.Join(elems, " ") + "]"
		key := json.RawMessage(h.KeyString(h.OpKey(op)))
		return "r " + plain(key, 10) + " " + shown(l, maxChars-12), "r " + plain(key, keyRunes) + " " + shown(l, 200)
	case history.PredRead, history.PredWrite:
		p := string(h.Texts.Text(h.Preds.Pred[v]))
		return fmt.Sprintf("%s %s", kind, shown(p, maxChars)), fmt.Sprintf("%s %s", kind, shown(p, 200))
	}
	key, value := json.RawMessage(h.KeyString(h.OpKey(op))), json.RawMessage(h.ValueString(v))
	k := plain(key, maxChars/2)
	return fmt.Sprintf("%s %s %s", kind, k, plain(value, maxChars-2-utf8.RuneCountInString(k))),
		fmt.Sprintf("%s %s %s", kind, plain(key, keyRunes), plain(value, keyRunes))
}

// first is the earliest moment.
func (d *drawn) first() int64 {
	least := int64(history.NoTime)
	for t := range uint32(d.h.NumTxns()) {
		if from, _ := d.times(t); t != d.h.Init && from != history.NoTime && (least == history.NoTime || from < least) {
			least = from
		}
	}
	return least
}

// moment writes a time: since the first, or a timestamp as it is where that is short.
func (d *drawn) moment(m, first int64) string {
	if d.ts {
		if m < 1_000_000 && first > -1_000_000 {
			return strconv.FormatInt(m, 10)
		}
		return "+" + grouped(m-first)
	}
	return "+" + time.Duration(m-first).Round(10*time.Nanosecond).String()
}

// spaced leaves texts of ticks out that would lie on each other.
func spaced(ticks []tick) []tick {
	free := 0
	for i := range ticks {
		if ticks[i].X < free {
			ticks[i].Text = ""
			continue
		}
		free = ticks[i].X + int(charWide*float64(utf8.RuneCountInString(ticks[i].Text))) + 10
	}
	return ticks
}

// arcs draws the edges of a cycle between boxes, each in a lane of its own.
func (d *drawn) arcs(f *figure, boxes []box) {
	at := map[int64]*box{}
	for i := range boxes {
		if boxes[i].t != d.h.Init {
			at[d.h.Txns.ID[boxes[i].t]] = &boxes[i]
		}
	}
	leaves := map[*box]int{} // how many edges have an end at a box
	port := func(b *box) int {
		n := leaves[b]
		leaves[b]++
		const apart = 34
		x := b.Width/2 + []int{-1, 1, -3, 3}[n%4]*min(apart, b.Width/8)
		return b.X + x
	}
	for i, e := range d.edges {
		a, b := at[e.From], at[e.To]
		if a == nil || b == nil || a == b {
			continue
		}
		ax, bx := port(a), port(b)
		c := arc{Text: shown(e.Dep, 8), Says: e.says(), EndX: bx}
		if a.Y == b.Y { // of one row: below both
			down := max(a.Y+a.High, b.Y+b.High)
			low := down + 30
			c.Path = fmt.Sprintf("M%d,%d C%d,%d %d,%d %d,%d", ax, a.Y+a.High, ax, low, bx, low, bx, b.Y+b.High)
			c.X, c.Y, c.EndY, c.Tip = (ax+bx)/2, down+22, b.Y+b.High, 180
		} else {
			from, to := a.Y+a.High, b.Y
			if c.Tip = 0; a.Y > b.Y { // upwards
				from, to = a.Y, b.Y+b.High
				c.Tip = 180
			}
			mid := (from + to) / 2
			c.Path = fmt.Sprintf("M%d,%d C%d,%d %d,%d %d,%d", ax, from, ax, mid, bx, mid, bx, to)
			// beside its own end, so that the names of two that cross do not lie on each other
			c.X, c.Y, c.EndY = (ax+3*bx)/4, mid+4+(to-from)/8, to
			if i%2 == 1 && ax == bx {
				c.X += 24
			}
		}
		c.Wide = int(charWide*float64(utf8.RuneCountInString(c.Text))) + 4
		c.X -= c.Wide / 2
		f.Arcs = append(f.Arcs, c)
	}
}

// says is an edge in words.
func (e *edge) says() string {
	s := fmt.Sprintf("T%d → T%d: %s", e.From, e.To, depends(e.Dep))
	if len(e.Key) > 0 {
		s += ", key " + plain(e.Key, keyRunes)
	}
	return s
}

// dependencies in words, of the second transaction.
var dependencies = map[string]string{"wr": "reads what it wrote (wr)", "ww": "overwrites what it wrote (ww)",
	"rw": "overwrites what it had read (rw)", "so": "comes after it in its session (so)",
	"rt": "began after it had ended (rt)", "ts": "comes after it by timestamps (ts)",
	"pwr": "its predicate shows what it wrote (pwr)", "prw": "changes what its predicate had shown (prw)"}

func depends(dep string) string { return cmp.Or(dependencies[dep], shown(dep, 20)) }
