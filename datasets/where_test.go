package datasets

import (
	"fmt"

	"isovet/history"
	"isovet/predicates"
)

// rows evaluates the predicates of a history, by definition, on every key.
type rows struct {
	h       *history.History
	row     []predicates.Row // by version; nil: not yet decoded
	present []bool
	pred    map[uint32]*predicates.Predicate // by its text
}

func newRows(h *history.History) *rows {
	return &rows{h, make([]predicates.Row, h.NumVersions()), make([]bool, h.NumVersions()),
		map[uint32]*predicates.Predicate{}}
}

// listState is what the lists of a run hold, by key.
type listState map[uint32][]uint32

// matches reports whether the predicate of an operation is true of a version; None: there is no row.
func (x *rows) matches(op, ver uint32) bool {
	if ver == history.None {
		return false
	}
	if x.row[ver] == nil {
		x.row[ver], x.present[ver] = predicates.RowOfValue(x.h, x.h.VerKey[ver], x.h.VerValue(ver))
		if x.row[ver] == nil {
			x.row[ver] = predicates.Row{}
		}
	}
	text := x.h.Preds.Pred[x.h.Ops.Ver[op]]
	p := x.pred[text]
	if p == nil {
		var err error
		if p, err = predicates.Parse(x.h.Texts.Text(text)); err != nil {
			panic(err)
		}
		x.pred[text] = p
	}
	return x.present[ver] && p.Eval(x.row[ver]) == predicates.True
}

// explains returns an error unless the predicate is true, in a state (key → version), of the rows that the operation
// found.
func (x *rows) explains(op uint32, state []uint32) error {
	h, i := x.h, x.h.Ops.Ver[op]
	found := map[uint32]uint32{}
	for j := h.Preds.Off[i]; j < h.Preds.Off[i+1]; j++ {
		v := h.Preds.Old[j]
		if v == history.None {
			v = state[h.VerKey[h.Preds.New[j]]]
			found[h.VerKey[h.Preds.New[j]]] = v
			continue
		}
		found[h.VerKey[v]] = v
	}
	for k, v := range state {
		f, ok := found[uint32(k)]
		if is := x.matches(op, v); is != ok || ok && f != v {
			return fmt.Errorf("predicate %s finds key %s: %v; expected %v, version %s", h.Texts.Text(h.Preds.Pred[i]),
				h.KeyString(uint32(k)), ok, is, verString(h, v))
		}
	}
	return nil
}

func verString(h *history.History, v uint32) string {
	if v == history.None {
		return "none"
	}
	return h.ValueString(v)
}
