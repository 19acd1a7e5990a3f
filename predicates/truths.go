package predicates

import (
	"fmt"

	"isovet/history"
)

// Truths evaluates a history's predicates on its versions, each predicate's text and each row decoded once, when first
// asked for.
type Truths struct {
	h      *history.History
	parsed []*Predicate // of history.Preds, by index
	lists  []bool       // key → it is a list, of which no predicate is true; nil without lists
	rows   map[place]row
}

// place is a key with one of its versions, history.None for an initial value that no operation names.
type place struct{ key, ver uint32 }

type row struct {
	Row
	present bool
}

// NewTruths parses a history's predicates. An error, of type *history.InputError, names the first operation whose
// predicate is not one. Cost: one parse for each different text.
func NewTruths(h *history.History) (*Truths, error) {
	x := &Truths{h: h, parsed: make([]*Predicate, len(h.Preds.Pred)), rows: make(map[place]row)}
	of := make(map[uint32]*Predicate)
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
			p, ok := of[text]
			if !ok {
				var err error
				if p, err = Parse(h.Texts.Text(text)); err != nil {
					line := h.Txns.Line[h.TxnOf(uint32(op))]
					return nil, &history.InputError{File: h.File, Line: int(line), Off: -1, Field: "ops",
						Msg: fmt.Sprintf("%s: %v", h.Texts.Text(text), err)}
				}
				of[text] = p
			}
			x.parsed[q] = p
		}
	}
	return x, nil
}

// Predicate returns predicate q of history.Preds.
func (x *Truths) Predicate(q uint32) *Predicate { return x.parsed[q] }

// Of returns the truth of predicate q, an index of history.Preds, of a key's version; history.None is an initial value
// that no operation names. It is False of an absent row.
func (x *Truths) Of(q, key, ver uint32) Truth {
	if x.lists != nil && x.lists[key] {
		return False
	}
	at := place{key, ver}
	r, ok := x.rows[at]
	if !ok {
		v := x.h.Initial
		if ver != history.None {
			v = x.h.VerValue(ver)
		}
		r.Row, r.present = RowOfValue(x.h, key, v)
		x.rows[at] = r
	}
	if !r.present {
		return False
	}
	return x.parsed[q].Eval(r.Row)
}
