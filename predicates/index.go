package predicates

import (
	"fmt"
	"slices"

	"isovet/history"
)

// Index tells which versions of a history match which of its predicates, without looking at all versions. It is
// immutable.
//
// Every different predicate is parsed once and every row decoded once. For each column that predicates use, the
// versions are sorted by its value; a comparison with constants, and all "and", "or" and "not" of comparisons of one
// column, are ranges in that order. A predicate on several columns is evaluated on the versions in the ranges of its
// most selective part. A predicate is named by its index in history.Preds, a version by its id; None is a key's initial
// value if no operation names it (history.History.InitVer). No predicate is true or unknown of absent rows, of lists,
// and of versions that only aborted transactions name.
//
// Memory: 12 bytes for each version and column.
type Index struct {
	h *history.History

	// Items are the versions, followed by those initial values that are no versions but rows: the keys of these are
	// initKey, and itemOf[key] is the item.
	initKey []uint32
	itemOf  []uint32 // key → its item at the initial value; None: there is no row
	there   []bool   // item → there is a row
	cols    []column // the first is that there is a row: it has ranks only if a predicate asks
	used    []int    // of cols, those that some predicate looks at

	pred  []uint32 // of history.Preds → different predicate
	parts []part
	spans []span
	// Different predicate d has the root part root[d]; the versions of which it is true are among those of the leaves
	// scan[scanOff[d]:scanOff[d+1]].
	root    []uint32
	scanOff []uint32
	scan    []uint32
	quick   []quick // by different predicate
}

// quick is a predicate that is true of the width places of a column from lo on, unknown of rank 0 and false of all
// others; col 0 means that the predicate has another form.
type quick struct{ col, lo, width uint32 }

// NewIndex makes the index of a history's predicates. The error is an *history.InputError that names the transaction
// and the faulty part of the predicate. Cost: decoding the rows, and a sort of the versions for each column; nothing
// for a history without predicates.
func NewIndex(h *history.History) (*Index, error) {
	x := &Index{h: h, pred: make([]uint32, len(h.Preds.Pred)), scanOff: []uint32{0}}
	most := min(len(h.Preds.Pred), h.Texts.Len())
	simple := make([]interval, 0, most)   // different predicates of the commonest form, and
	parsed := make([]*Predicate, 0, most) // the others; nil for those
	m := compiler{index: map[string]int{}}
	var cols []cells
	column := func(name string) {
		if _, ok := m.index[name]; !ok {
			cols = append(cols, cells{name: name})
			m.index[name] = len(cols) // column 0: see compiler
		}
	}
	known := make([]uint32, h.Texts.Len()) // text → 1 + different predicate
	for i, text := range h.Preds.Pred {
		id := known[text]
		if id == 0 {
			var p *Predicate
			name, s, is := scanInterval(h.Texts.Text(text))
			if is {
				var ok bool
				if s.col, ok = m.index[string(name)]; !ok {
					column(string(name))
					s.col = m.index[string(name)]
				}
			} else {
				var err error
				if p, err = Parse(h.Texts.Text(text)); err != nil {
					return nil, inputError(h, uint32(i), err)
				}
				p.root.columns(column)
			}
			simple, parsed = append(simple, s), append(parsed, p)
			id = uint32(len(parsed))
			known[text] = id
		}
		x.pred[i] = id - 1
	}
	there := x.decode(cols)
	m.cols = x.cols
	x.root, x.scanOff = make([]uint32, 0, len(parsed)), append(make([]uint32, 0, len(parsed)+1), 0)
	x.parts, x.spans, x.scan = make([]part, 0, len(parsed)), make([]span, 0, 2*len(parsed)), make([]uint32, 0,
		len(parsed))
	x.quick = make([]quick, len(parsed))
	ranks := x.ranksOf(simple, parsed)
	for i, p := range parsed {
		at := uint32(len(x.parts))
		if p == nil {
			x.quick[i] = x.putInterval(simple[i].col, ranks[i])
			x.scan = append(x.scan, at)
		} else {
			c := m.compile(&p.root, false)
			x.put(&c)
			x.scan, _ = x.cover(at, x.scan)
		}
		x.root = append(x.root, at)
		x.scanOff = append(x.scanOff, uint32(len(x.scan)))
	}
	x.noteColumns(there)
	return x, nil
}

// noteColumns collects the columns that the predicates use.
func (x *Index) noteColumns(there []bool) {
	looked := make([]bool, len(x.cols))
	asked := false
	for i := range x.parts {
		p := &x.parts[i]
		if p.kind == leaf {
			looked[p.col] = true
		}
		asked = asked || p.col == 0 // of "and" and "or" too
	}
	if asked {
		x.cols[0].present(there)
	}
	x.there = there
	for i, is := range looked {
		if is {
			x.used = append(x.used, i)
		}
	}
}

// columns calls f for each column that a predicate uses.
func (n *node) columns(f func(name string)) {
	for i := range n.parts {
		n.parts[i].columns(f)
	}
	if len(n.parts) == 0 && n.op != "and" && n.op != "or" {
		f(n.column)
	}
}

func inputError(h *history.History, p uint32, err error) error {
	e := &history.InputError{File: h.File, Off: -1, Field: "ops", Msg: err.Error()}
	for op, k := range h.Ops.Kind {
		if (k == history.PredRead || k == history.PredWrite) && h.Ops.Ver[op] == p {
			t := h.TxnOf(uint32(op))
			e.Line = int(h.Txns.Line[t])
			e.Msg = fmt.Sprintf("transaction %d: %s", h.Txns.ID[t], e.Msg)
		}
	}
	return e
}

// named returns the versions that are initial, or named by an operation of a transaction that may have committed, as a
// bit set.
func named(h *history.History) []uint64 {
	seen := make([]uint64, h.NumVersions()/64+1)
	mark := func(v uint32) {
		if v != history.None {
			seen[v>>6] |= 1 << (v & 63)
		}
	}
	for _, v := range h.InitVer {
		mark(v)
	}
	for t := range uint32(h.NumTxns()) {
		if h.Txns.Status[t] == history.Aborted {
			continue
		}
		for op := range h.EachOp(t) {
			switch at := h.Ops.Ver[op]; h.Ops.Kind[op] {
			case history.Read, history.Write:
				mark(at)
			case history.PredRead, history.PredWrite:
				for r := h.Preds.Off[at]; r < h.Preds.Off[at+1]; r++ {
					mark(h.Preds.Old[r])
					mark(h.Preds.New[r])
				}
			}
		}
	}
	return seen
}

func (x *Index) key(item uint32) uint32 {
	if n := uint32(len(x.h.VerKey)); item >= n {
		return x.initKey[item-n]
	}
	return x.h.VerKey[item]
}

// item returns the item of a version of a key, or None.
func (x *Index) item(key, ver uint32) uint32 {
	if ver == history.None {
		return x.itemOf[key]
	}
	return ver
}

// version returns an item's version, None if it is an initial value that no operation names.
func (x *Index) version(item uint32) uint32 {
	if item >= uint32(len(x.h.VerKey)) {
		return history.None
	}
	return item
}

// Truth returns the truth of predicate p for a version of key; for an absent row it is False. Cost: the predicate's
// size.
func (x *Index) Truth(p, key, ver uint32) Truth {
	item := x.item(key, ver)
	if item == history.None {
		return False
	}
	d := x.pred[p]
	q := x.quick[d]
	if q.col == 0 {
		return x.eval(x.root[d], item)
	}
	c := &x.cols[q.col]
	switch at := c.pos[item]; {
	case at-q.lo < q.width: // never None: ranges lie far below
		return True
	case at < c.start[1]:
		return Unknown
	}
	return False
}

// Places returns, for a predicate that is one range of a column, the range and the place of each version in the
// column's order: the predicate is true of v iff places[v]-lo < width. ok is false for other predicates.
func (x *Index) Places(p uint32) (places []uint32, lo, width uint32, ok bool) {
	q := x.quick[x.pred[p]]
	if q.col == 0 {
		return nil, 0, 0, false
	}
	return x.cols[q.col].pos, q.lo, q.width, true
}

func (x *Index) eval(i, item uint32) Truth {
	p := &x.parts[i]
	r := x.cols[p.col].rank[item]
	if r == history.None {
		return False
	}
	switch p.kind {
	case leaf:
		return x.truth(p, r)
	case allOf:
		t := True
		for q := i + 1; q < p.end && t > False; q = x.parts[q].end {
			t = min(t, x.eval(q, item))
		}
		return t
	}
	t := False
	for q := i + 1; q < p.end && t < True; q = x.parts[q].end {
		t = max(t, x.eval(q, item))
	}
	return t
}

// truth returns the truth of a leaf for a rank.
func (x *Index) truth(p *part, r uint32) Truth {
	switch {
	case spans(x.spans[p.yes:p.maybe]).has(r):
		return True
	case spans(x.spans[p.maybe:p.no]).has(r):
		return Unknown
	}
	return False
}

// ranges returns the ranks of which a leaf is true.
func (x *Index) ranges(p *part) []span { return x.spans[p.yes:p.maybe] }

// simple reports whether different predicate d is a single leaf.
func (x *Index) simple(d uint32) bool { return x.parts[x.root[d]].kind == leaf }

// flat reports whether different predicate d is "and" of leaves.
func (x *Index) flat(d uint32) bool {
	p := &x.parts[x.root[d]]
	other := func(q part) bool { return q.kind != leaf }
	return p.kind == allOf && !slices.ContainsFunc(x.parts[x.root[d]+1:p.end], other)
}

// form says what must still be evaluated for the items that scan's leaves offer.
type form uint8

const (
	general form = iota
	exact        // nothing: they are the answer
	others       // whether the other leaves hold too
)

func (x *Index) form(d uint32) form {
	switch {
	case x.simple(d):
		return exact
	case x.flat(d):
		return others
	}
	return general
}

// counts reports whether different predicate d is true of an item that leaf i of scan offered, and no earlier leaf of d
// offered the item too.
func (x *Index) counts(f form, d, i, item uint32) bool {
	switch f {
	case exact:
		return true
	case others:
		for q := x.root[d] + 1; q < x.parts[x.root[d]].end; q++ {
			if p := &x.parts[q]; q != x.scan[i] && !spans(x.ranges(p)).has(x.cols[p.col].rank[item]) {
				return false
			}
		}
		return true
	}
	for _, before := range x.scan[x.scanOff[d]:i] {
		if p := &x.parts[before]; spans(x.ranges(p)).has(x.cols[p.col].rank[item]) {
			return false
		}
	}
	return x.eval(x.root[d], item) == True
}

// Each calls f for every version of which predicate p is true, in no particular order; ver is None for an initial value
// that no operation names. Cost: linear in the calls for a predicate on one column; otherwise linear in the versions of
// which the most selective part of its "and"s is true. It allocates nothing.
func (x *Index) Each(p uint32, f func(key, ver uint32)) {
	d := x.pred[p]
	how := x.form(d)
	for i := x.scanOff[d]; i < x.scanOff[d+1]; i++ {
		l := &x.parts[x.scan[i]]
		c := &x.cols[l.col]
		for _, s := range x.ranges(l) {
			for _, item := range c.order[c.start[s.lo]:c.start[s.hi]] {
				if x.counts(how, d, i, item) {
					f(x.key(item), x.version(item))
				}
			}
		}
	}
}

// Cost returns the number of versions that Each looks at for predicate p.
func (x *Index) Cost(p uint32) int {
	_, n := x.cover(x.root[x.pred[p]], nil)
	return n
}
