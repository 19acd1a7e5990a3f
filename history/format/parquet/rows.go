package parquet

import "isovet/history"

func (r *reader) operations(i, j int) error {
	kinds, place := &r.view[cKind], &r.view[cOp]
	for ; i < j; i++ {
		kind, ok := kinds.get(i)
		if !ok {
			if err := r.none(i); err != nil {
				return err
			}
			continue
		}
		if r.empty {
			return r.wrong(i, cKind, "an operation behind a row without one; expected such a row alone in its "+
				"transaction")
		}
		if op, ok := place.get(i); ok && op != r.ops {
			return r.wrong(i, cOp, "operation %d of transaction %d; expected %d: the rows of a transaction one after "+
				"the other, in the order of op, from 0", op, r.head.ID, r.ops)
		}
		r.ops++
		var err error
		if k := history.OpKind(kind); k >= history.PredRead {
			err = r.predicate(i, k)
		} else {
			err = r.item(i, k)
		}
		if err != nil {
			return err
		}
		if r.view[cOpStart].on || r.view[cOpEnd].on {
			if err := r.times(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// none checks row i of a transaction without operations.
func (r *reader) none(i int) error {
	for id := cKey; id <= cOpEnd; id++ {
		if _, ok := r.view[id].get(i); ok {
			return r.wrong(i, cKind, "missing, while %s is given; expected the operation's kind", table[id].name)
		}
	}
	if r.ops > 0 || r.empty {
		return r.wrong(i, cKind, "missing; expected the operation's kind, unless the row is the only one of its "+
			"transaction")
	}
	r.empty = true
	return nil
}

// times adds the times of row i's operation.
func (r *reader) times(i int) error {
	start, end := int64(history.NoTime), int64(history.NoTime)
	for _, t := range [...]struct {
		id int
		to *int64
	}{{cOpStart, &start}, {cOpEnd, &end}} {
		if v, ok := r.view[t.id].get(i); ok {
			if *t.to = v; v == history.NoTime {
				return r.wrong(i, t.id, "integer %d is out of range; expected more than that", v)
			}
		}
	}
	if start == history.NoTime && end == history.NoTime {
		return nil
	}
	if start != history.NoTime && end != history.NoTime && end < start {
		return r.wrong(i, cOpEnd, "the operation ends at %d, before its start at %d", end, start)
	}
	r.b.OpTimes(start, end)
	return nil
}

// item adds the read, write or append of row i.
func (r *reader) item(i int, kind history.OpKind) error {
	key, err := r.key(i)
	if err != nil {
		return err
	}
	for _, id := range [...]int{cPredicate, cRows} {
		if _, ok := r.view[id].get(i); ok {
			return r.wrong(i, id, "given for an operation on one key; expected none")
		}
	}
	if _, ok := r.view[cValueJSON].get(i); ok {
		return r.itemJSON(i, kind, key)
	}
	var val history.Value
	if v, ok := r.view[cValue].get(i); ok {
		switch r.cur[cValue].c.form {
		case fText:
			val = history.Value{Kind: history.String, N: v}
		case fBool:
			val = history.BoolValue(v != 0)
		default:
			val = history.IntValue(v)
		}
	}
	if v, ok := r.view[cValueText].get(i); ok {
		if val.Kind != history.Null {
			return r.wrong(i, cValueText, "given beside value; expected one of them")
		}
		val = history.Value{Kind: history.String, N: v}
	}
	r.b.Item(kind, key, val)
	return nil
}

func (r *reader) key(i int) (uint32, error) {
	v, ok := r.view[cKey].get(i)
	t, isText := r.view[cKeyText].get(i)
	switch {
	case ok && isText:
		return 0, r.wrong(i, cKeyText, "given beside key; expected one of them")
	case isText:
		return uint32(t), nil
	case !ok:
		return 0, r.wrong(i, cKey, "missing; expected a key, here or in key_text")
	case r.keyed:
		return uint32(v), nil
	}
	return r.b.Key(history.IntValue(v)), nil
}

// itemJSON is item for a value in JSON: a boolean, a row, a list, or any other.
func (r *reader) itemJSON(i int, kind history.OpKind, key uint32) error {
	for _, id := range [...]int{cValue, cValueText} {
		if _, ok := r.view[id].get(i); ok {
			return r.wrong(i, cValueJSON, "given beside %s; expected one of them", table[id].name)
		}
	}
	at, _ := r.view[cValueJSON].get(i)
	val, elems, list, err := r.parts.Value(table[cValueJSON].name, r.cur[cValueJSON].text(at))
	switch {
	case err != nil:
		return r.located(err, r.row+int64(i)+1)
	case list && kind != history.Read:
		return r.wrong(i, cValueJSON, "an array; expected null, an integer, a string, a boolean or a row (an object)")
	case val.Kind == history.Row && kind == history.Append:
		return r.wrong(i, cValueJSON, "an object; expected an element: null, an integer, a string, a boolean")
	case list:
		r.b.ReadList(key, elems)
	default:
		r.b.Item(kind, key, val)
	}
	return nil
}

// predicate adds the predicate read or write of row i.
func (r *reader) predicate(i int, kind history.OpKind) error {
	for id := cKey; id <= cValueJSON; id++ {
		if _, ok := r.view[id].get(i); ok {
			return r.wrong(i, id, "given for an operation on a predicate; expected predicate and rows alone")
		}
	}
	pred, ok := r.view[cPredicate].get(i)
	if !ok {
		return r.wrong(i, cPredicate, "missing; expected a condition, an object in JSON")
	}
	rows, ok := r.view[cRows].get(i)
	if !ok {
		return r.wrong(i, cRows, "missing; expected what the predicate matched, an array in JSON")
	}
	if err := r.parts.Predicate(kind, r.cur[cPredicate].text(pred), r.cur[cRows].text(rows)); err != nil {
		return r.located(err, r.row+int64(i)+1)
	}
	return nil
}
