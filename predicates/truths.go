package predicates

import (
	"fmt"

	"isovet/history"
)

// Truths evaluates a history's predicates on its versions. It decodes each text of a predicate once, and of each row,
// when first asked for, the columns that predicates use. It is not safe for concurrent use.
//
// Memory: 16 bytes for each version and column, of those asked for and some near them.
type Truths struct {
	h      *history.History
	parsed []*Predicate // of history.Preds, by index; nil: not asked for yet
	byText map[uint32]*Predicate
	again  node   // what was parsed last and is not kept: its room serves the next
	lists  []bool // key → it is a list, of which no predicate is true; nil without lists

	columns []string // that predicates use
	index   map[string]int
	keys    int // the column of keys among them, -1: there is none
	values  int // the column of scalar values
	ints    intRows
	shape   []rowMember // the members of the row that was read last

	// Items are the versions, followed by the keys' initial values that no operation names. The columns of item i begin
	// at index (i%pageItems)×(number of columns) of cells[i/pageItems]; state says whether they have been read.
	cells   [][]cellOf
	state   []state
	strs    []string
	strID   map[string]int64
	scratch []Scalar
}

// cellOf is a row's value in a column; a string is an index of Truths.strs.
type cellOf struct {
	n    int64
	kind history.ValueKind
}

// rowMember is a member of a row with its column, -1: no predicate uses it.
type rowMember struct {
	name string
	col  int
}

type state uint8

const (
	unread state = iota
	absent
	isThere
)

const pageItems = 1 << 8

// NewTruths parses a history's predicates. An error, of type *history.InputError, names the first operation whose
// predicate is malformed. Cost: one parse for each different text.
func NewTruths(h *history.History) (*Truths, error) {
	x := &Truths{h: h, parsed: make([]*Predicate, len(h.Preds.Pred)), index: make(map[string]int), keys: -1, values: -1,
		strID: make(map[string]int64)}
	x.byText = make(map[uint32]*Predicate)
	seen := make([]uint64, h.Texts.Len()/64+1)
	for op, k := range h.Ops.Kind {
		switch k {
		case history.Append, history.ReadList:
			if x.lists == nil {
				x.lists = make([]bool, h.NumKeys())
			}
			x.lists[h.OpKey(uint32(op))] = true
		case history.PredRead, history.PredWrite:
			q := h.Ops.Ver[op]
			text := h.Preds.Pred[q]
			if bit := uint64(1) << (text & 63); seen[text>>6]&bit == 0 {
				seen[text>>6] |= bit
				if name, _, ok := scanInterval(h.Texts.Text(text)); ok {
					if _, known := x.index[string(name)]; known {
						continue
					}
				}
				if err := x.parse(text, x.number); err != nil {
					line := h.Txns.Line[h.TxnOf(uint32(op))]
					return nil, &history.InputError{File: h.File, Line: int(line), Off: -1, Field: "ops",
						Msg: fmt.Sprintf("%s: %v", h.Texts.Text(text), err)}
				}
			}
		}
	}
	items := h.NumVersions() + h.NumKeys()
	x.state, x.cells = make([]state, items), make([][]cellOf, items/pageItems+1)
	return x, nil
}

// number numbers the columns that a predicate uses.
func (x *Truths) number(n *node) {
	for i := range n.parts {
		x.number(&n.parts[i])
	}
	if n.op == "and" || n.op == "or" || n.op == "not" {
		return
	}
	at, ok := x.index[n.column]
	if !ok {
		at = len(x.columns)
		x.columns = append(x.columns, n.column)
		x.index[n.column] = at
		switch n.column {
		case "key":
			x.keys = at
		case "":
			x.values = at
		}
	}
	n.col = at
}

// parse parses a text and calls f with the result, which f must not keep.
func (x *Truths) parse(text uint32, f func(n *node)) error {
	s := x.h.Texts.Text(text)
	if n, rest, ok := quickNode(s, x.again.parts[:0]); ok && len(rest) == 0 {
		x.again = n
		f(&n)
		return nil
	}
	p, err := Parse(s)
	if err == nil {
		f(&p.root)
	}
	return err
}

// Predicate returns predicate q of history.Preds. It is parsed when first asked for, and kept.
func (x *Truths) Predicate(q uint32) *Predicate {
	if p := x.parsed[q]; p != nil {
		return p
	}
	text := x.h.Preds.Pred[q]
	p := x.byText[text]
	if p == nil {
		var err error
		if p, err = Parse(x.h.Texts.Text(text)); err != nil {
			panic("predicates: " + err.Error()) // NewTruths has refused it
		}
		x.number(&p.root)
		x.byText[text] = p
	}
	x.parsed[q] = p
	return p
}

// Of returns the truth of predicate q, an index of history.Preds, for a version of a key; history.None is an initial
// value that no operation names. For an absent row it is False. Cost: the predicate's size.
func (x *Truths) Of(q, key, ver uint32) Truth {
	if x.lists != nil && x.lists[key] {
		return False
	}
	item := ver
	if ver == history.None {
		item = uint32(x.h.NumVersions()) + key
	}
	if x.state[item] == unread {
		x.read(item, key, ver)
	}
	if x.state[item] == absent {
		return False
	}
	at := int(item%pageItems) * len(x.columns)
	return x.eval(&x.Predicate(q).root, x.cells[item/pageItems][at:at+len(x.columns)])
}

func (x *Truths) eval(n *node, row []cellOf) Truth {
	switch n.op {
	case "and":
		t := True
		for i := range n.parts {
			if t = min(t, x.eval(&n.parts[i], row)); t == False {
				break
			}
		}
		return t
	case "or":
		t := False
		for i := range n.parts {
			if t = max(t, x.eval(&n.parts[i], row)); t == True {
				break
			}
		}
		return t
	case "not":
		return -x.eval(&n.parts[0], row)
	}
	c := row[n.col]
	v := Scalar{Kind: c.kind, N: c.n}
	switch c.kind {
	case history.Null:
		return Unknown
	case history.String:
		v.N, v.S = 0, x.strs[c.n]
	}
	if n.op == "in" {
		t := False
		for i := range n.values {
			t = max(t, compare("=", v, n.values[i]))
		}
		return t
	}
	return compare(n.op, v, n.values[0])
}

// read decodes the columns of an item into its cells.
func (x *Truths) read(item, key, ver uint32) {
	n := len(x.columns)
	if x.scratch == nil {
		x.scratch = make([]Scalar, n)
	}
	x.state[item] = absent
	if !x.readRow(key, ver, x.scratch) {
		return
	}
	x.state[item] = isThere
	page := &x.cells[item/pageItems]
	if *page == nil {
		*page = make([]cellOf, pageItems*n)
	}
	at := int(item%pageItems) * n
	for i, v := range x.scratch {
		if v.Kind == history.String {
			id, ok := x.strID[v.S]
			if !ok {
				id = int64(len(x.strs))
				x.strs = append(x.strs, v.S)
				x.strID[v.S] = id
			}
			v.N = id
		}
		(*page)[at+i] = cellOf{v.N, v.Kind}
	}
}

// readRow decodes into row the columns that predicates use of a version of a key, and reports whether there is a row;
// history.None is an initial value that no operation names. It keeps nothing.
func (x *Truths) readRow(key, ver uint32, row []Scalar) bool {
	if x.lists != nil && x.lists[key] {
		return false
	}
	h := x.h
	v := h.Initial
	if ver != history.None {
		v = h.VerValue(ver)
	}
	if v.Kind == history.Null {
		return false
	}
	clear(row)
	switch {
	case v.Kind != history.Row:
		if x.values >= 0 {
			row[x.values] = interned(h, v)
		}
	case !x.intRow(uint32(v.N), row) && !x.scan(h.Texts.Text(uint32(v.N)), row):
		all, _ := RowOfValue(h, key, v)
		for i, name := range x.columns {
			row[i] = all[name]
		}
	}
	if x.keys >= 0 {
		row[x.keys] = interned(h, h.Keys[key])
	}
	return true
}

// intRow decodes a packed row of integers; false: the row is not packed.
func (x *Truths) intRow(text uint32, row []Scalar) bool {
	cols, cells := x.ints.read(x.h.Texts, text, func(name string) int { return x.member([]byte(name)).col })
	for i, at := range cols {
		if at >= 0 {
			row[at] = Scalar{Kind: history.Int, N: cells[i]}
		}
	}
	return cells != nil
}

// scan decodes a row of plain values, as nearly all are; false: it is not one. RowOfValue is the general way.
func (x *Truths) scan(s []byte, row []Scalar) bool {
	if len(s) < 2 || s[0] != '{' {
		return false
	}
	if s[1] == '}' {
		return len(s) == 2
	}
	for m := 0; ; m++ {
		name, rest, ok := plain(s[1:])
		if !ok || len(rest) < 2 || rest[0] != ':' {
			return false
		}
		if m == len(x.shape) {
			x.shape = append(x.shape, rowMember{"", -1})
			x.shape[m] = x.member(name)
		} else if x.shape[m].name != string(name) {
			x.shape[m] = x.member(name)
		}
		v, text, rest, ok := rawScalar(rest[1:])
		if !ok || len(rest) == 0 {
			return false
		}
		if at := x.shape[m].col; at >= 0 {
			if v.Kind == history.String {
				v.S = string(text)
			}
			row[at] = v
		}
		switch s = rest; {
		case s[0] == '}':
			return len(s) == 1
		case s[0] != ',':
			return false
		}
	}
}

func (x *Truths) member(name []byte) rowMember {
	if at, ok := x.index[string(name)]; ok {
		return rowMember{string(name), at}
	}
	return rowMember{string(name), -1}
}
