package view

import (
	"strings"

	"isovet/history"
	"isovet/internal/escape"
	"isovet/report"
)

// Limits of a window.
const (
	maxBoxes = 2500 // transactions that are boxes
	maxTexts = 400  // boxes up to which each shows its operations
	maxBins  = 1200
	maxRows  = 200
	maxBands = 40 // of the overview
	textOps  = 10 // operations that a box shows
)

// windowJSON is a span of time in some rows. Each box is [transaction, from, to, status, operations]; Texts, if
// present, lists the operations of each. If there are too many boxes, Bins counts for each row the transactions that
// began in each bin, and Odd those that did not commit.
type windowJSON struct {
	From  int64     `json:"from"`
	To    int64     `json:"to"`
	Row   int       `json:"row"`
	Rows  []rowJSON `json:"rows"`
	Total int       `json:"total"` // transactions in the window, of these rows
	Dense bool      `json:"dense"`
}

type rowJSON struct {
	Name  string     `json:"name"`
	Boxes [][5]int64 `json:"boxes,omitempty"`
	Names []string   `json:"names,omitempty"`
	Texts []string   `json:"texts,omitempty"`
	Bins  []int32    `json:"bins,omitempty"`
	Odd   []int32    `json:"odd,omitempty"`
}

// window returns the picture of a span of time in some rows. Cost: a search in each row, and the row's transactions in
// the window.
func (x *axis) window(from, to int64, first, n, bins int) windowJSON {
	from, to = max(from, 0), min(to, x.span)
	to = max(to, from)
	first = max(0, min(first, len(x.rows)))
	n = max(0, min(n, maxRows, len(x.rows)-first))
	bins = max(1, min(bins, maxBins))
	w := windowJSON{From: from, To: to, Row: first, Rows: make([]rowJSON, n)}
	for i := range w.Rows {
		r := &x.rows[first+i]
		lo, hi := x.within(r, from, to)
		w.Total += hi - lo
		w.Rows[i].Name = r.name
	}
	w.Dense = w.Total > maxBoxes
	for i := range w.Rows {
		r := &x.rows[first+i]
		lo, hi := x.within(r, from, to)
		if w.Dense {
			w.Rows[i].Bins, w.Rows[i].Odd = x.bins(r.txns[lo:hi], from, to, bins)
			continue
		}
		x.boxes(&w.Rows[i], r.txns[lo:hi], from, w.Total <= maxTexts)
	}
	return w
}

// binOf returns the bin of a moment, if the span from from to to is cut into n bins.
func binOf(at, from, to int64, n int) int {
	if at <= from || to <= from {
		return 0
	}
	return min(n-1, int(float64(at-from)/float64(to-from)*float64(n)))
}

func (x *axis) bins(txns []uint32, from, to int64, n int) (all, odd []int32) {
	all, odd = make([]int32, n), make([]int32, n)
	for _, t := range txns {
		if x.end[t] < from {
			continue
		}
		i := binOf(x.start[t], from, to, n)
		all[i]++
		if x.h.Txns.Status[t] != history.Committed {
			odd[i]++
		}
	}
	return all, odd
}

func (x *axis) boxes(r *rowJSON, txns []uint32, from int64, texts bool) {
	h := x.h
	for _, t := range txns {
		if x.end[t] < from {
			continue
		}
		lo, hi := h.TxnOps(t)
		r.Boxes = append(r.Boxes, [5]int64{int64(t), x.start[t], x.end[t], int64(h.Txns.Status[t]), int64(hi - lo)})
		r.Names = append(r.Names, report.TxnName(h, t))
		if texts {
			r.Texts = append(r.Texts, opsText(h, t, textOps))
		}
	}
}

// opsText lists a transaction's operations on one line.
func opsText(h *history.History, t uint32, most int) string {
	var b strings.Builder
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		if op > lo {
			b.WriteString(" · ")
		}
		if int(op-lo) == most {
			b.WriteString("…")
			break
		}
		b.WriteString(report.OpText(h, op))
	}
	return escape.XML(b.String())
}

// overviewJSON is the whole history: how many transactions began in each bin, by outcome, and the same counts for
// groups of rows.
type overviewJSON struct {
	Span      int64      `json:"span"`
	Committed []int32    `json:"committed"`
	Aborted   []int32    `json:"aborted"`
	Unknown   []int32    `json:"unknown"`
	Ops       []int32    `json:"ops"`
	Active    []int32    `json:"active"` // transactions under way at the bin's begin
	Bands     []bandJSON `json:"bands"`
}

type bandJSON struct {
	Name string  `json:"name"`
	Row  int     `json:"row"` // its first row
	Rows int     `json:"rows"`
	Bins []int32 `json:"bins"`
}

// overview counts the transactions of the whole history. Cost: linear in the transactions.
func (x *axis) overview(bins int) overviewJSON {
	bins = max(1, min(bins, maxBins))
	h := x.h
	o := overviewJSON{Span: x.span, Committed: make([]int32, bins), Aborted: make([]int32, bins),
		Unknown: make([]int32, bins), Ops: make([]int32, bins), Active: make([]int32, bins)}
	each := max(1, (len(x.rows)+maxBands-1)/maxBands)
	for first := 0; first < len(x.rows); first += each {
		n := min(each, len(x.rows)-first)
		b := bandJSON{Name: x.rows[first].name, Row: first, Rows: n, Bins: make([]int32, bins)}
		if n > 1 {
			b.Name += " to " + strings.TrimPrefix(x.rows[first+n-1].name, "session ")
		}
		for _, r := range x.rows[first : first+n] {
			for _, t := range r.txns {
				i := binOf(x.start[t], 0, x.span, bins)
				b.Bins[i]++
				switch h.Txns.Status[t] {
				case history.Committed:
					o.Committed[i]++
				case history.Aborted:
					o.Aborted[i]++
				default:
					o.Unknown[i]++
				}
				lo, hi := h.TxnOps(t)
				o.Ops[i] += int32(hi - lo)
				o.Active[i]++
				if j := binOf(x.end[t], 0, x.span, bins); j+1 < bins {
					o.Active[j+1]--
				}
			}
		}
		o.Bands = append(o.Bands, b)
	}
	for i := 1; i < bins; i++ {
		o.Active[i] += o.Active[i-1]
	}
	return o
}
