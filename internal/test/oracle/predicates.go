package oracle

import (
	"fmt"

	"isovet/history"
	"isovet/predicates"
)

// preds are a history's predicates, parsed, and what they are of values.
type preds struct {
	parsed []*predicates.Predicate // of history.Preds, by index
	truth  map[[3]uint32]predicates.Truth
	isList []bool // key → it is a list, of which no predicate is true
}

func (p *preds) parse(h *history.History) error {
	p.truth = map[[3]uint32]predicates.Truth{}
	p.isList = make([]bool, h.NumKeys())
	for op, k := range h.Ops.Kind {
		if k == history.Append || k == history.ReadList {
			p.isList[h.OpKey(uint32(op))] = true
		}
	}
	for _, text := range h.Preds.Pred {
		q, err := predicates.Parse(h.Texts.Text(text))
		if err != nil {
			return fmt.Errorf("%s: %w", h.Texts.Text(text), err)
		}
		p.parsed = append(p.parsed, q)
	}
	return nil
}

// of returns predicate i's truth of key k at version v; None is the header's initial value, which no operation names.
// It is False of an absent row.
func (p *preds) of(h *history.History, i, k, v uint32) predicates.Truth {
	at := [3]uint32{i, k, v}
	t, done := p.truth[at]
	if done {
		return t
	}
	value := h.Initial
	if v != history.None {
		value = h.VerValue(v)
	}
	t = predicates.False
	if row, present := predicates.RowOfValue(h, k, value); present && !p.isList[k] {
		t = p.parsed[i].Eval(row)
	}
	p.truth[at] = t
	return t
}

// predRow is a row that a predicate operation matched.
type predRow struct{ key, before, after uint32 }

func predRows(h *history.History, op uint32) []predRow {
	i := h.Ops.Ver[op]
	var rows []predRow
	for j := h.Preds.Off[i]; j < h.Preds.Off[i+1]; j++ {
		r := predRow{before: h.Preds.Old[j], after: h.Preds.New[j]}
		if r.before != history.None {
			r.key = h.VerKey[r.before]
		} else {
			r.key = h.VerKey[r.after]
		}
		rows = append(rows, r)
	}
	return rows
}

// sees reports whether a predicate operation on s matches what the history says: every row that it matched has the
// version that it was matched on, or any where the client does not know, and the predicate may be true of it; of every
// other key the predicate may be not true. Where the truth is unknown both may be (errata V5, V16).
func (w *world) sees(s state, op uint32) bool {
	i := w.h.Ops.Ver[op]
	matched := map[uint32]bool{}
	for _, r := range predRows(w.h, op) {
		matched[r.key] = true
		if r.before != history.None && r.before != s.reg[r.key] {
			return false
		}
		if w.of(w.h, i, r.key, s.reg[r.key]) == predicates.False {
			return false
		}
	}
	for k, v := range s.reg {
		if !matched[uint32(k)] && w.of(w.h, i, uint32(k), v) == predicates.True {
			return false
		}
	}
	return true
}

// update installs what a predicate write wrote; a predicate read writes nothing.
func (s state) update(h *history.History, op uint32) {
	for _, r := range predRows(h, op) {
		if r.after != history.None {
			s.reg[r.key] = r.after
		}
	}
}
