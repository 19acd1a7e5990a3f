package datasets

import (
	"slices"
	"strconv"

	"isovet/datasets/store"
	"isovet/datasets/workload"
	"isovet/history"
)

// value returns a version of a row in the form of the file.
func (c *convert) value(r uint32, version int64) history.Value {
	if version == store.Absent {
		return history.Value{}
	}
	table := c.log.Rows[r].Table()
	if c.log.Tables[table].Columns == nil {
		if c.values > 0 && version != store.Initial {
			version = workload.FewValue(version, c.values)
		}
		return history.IntValue(version)
	}
	known := new(uint32)
	if c.batch == 0 {
		if c.rows == nil {
			c.rows = make([]uint32, len(c.log.Cells)/2+1)
		}
		known = &c.rows[version/2]
	}
	if *known != 0 {
		return history.Value{Kind: history.Row, N: int64(*known - 1)}
	}
	c.text = c.cells.Append(c.text[:0], table, c.log.Cells[version:])
	v := c.b.NewRow(c.text)
	*known = uint32(v.N) + 1
	return v
}

func (c *convert) op(op *store.LogOp) {
	switch op.Kind {
	case store.PredRead, store.PredWrite:
		c.predicate(op)
		return
	case store.ScriptRead, store.ScriptWrite:
		c.scriptPredicate(op)
		return
	case store.Append:
		c.b.Append(c.keyOf(op.Row), history.IntValue(c.log.Elems[op.Value].ID))
		return
	}
	if op.Kind == store.Read && op.Value != store.Absent && c.log.Tables[c.log.Rows[op.Row].Table()].List {
		c.elems = c.elems[:0]
		for e := op.Value; e != store.Absent; e = c.log.Elems[e].Before {
			c.elems = append(c.elems, history.IntValue(c.log.Elems[e].ID))
		}
		slices.Reverse(c.elems)
		c.b.ReadList(c.keyOf(op.Row), c.elems)
		return
	}
	v := c.value(op.Row, op.Value)
	if op.Kind == store.Write {
		c.b.Write(c.keyOf(op.Row), v)
	} else {
		c.b.Read(c.keyOf(op.Row), v)
	}
}

// predicate adds an operation with a condition. Its rows are sorted by key.
func (c *convert) predicate(op *store.LogOp) {
	p := &c.log.Preds[op.Value]
	kind := history.PredRead
	unknown := false
	if op.Kind == store.PredWrite {
		kind = history.PredWrite
		unknown = c.spec.UnknownOld > 0 && c.rng.Float64() < c.spec.UnknownOld
	}
	c.matched = c.matched[:0]
	for _, m := range c.log.Matched[p.Off : p.Off+int(p.N)] {
		row := history.PredRow{Key: c.keyOf(m.Row), OldUnknown: unknown}
		if !unknown {
			row.Old = c.value(m.Row, m.Old)
		}
		if kind == history.PredWrite {
			row.New = c.value(m.Row, m.New)
		}
		c.matched = append(c.matched, row)
	}
	c.b.Predicate(kind, workload.Condition(c.log.Tables[p.Table].Columns, p.Where), c.matched)
}

// scriptPredicate adds a predicate operation of a script. Its condition is true for a few listed versions.
func (c *convert) scriptPredicate(op *store.LogOp) {
	p := &c.log.Scripts[op.Value]
	var of []versionText
	column := ""
	for _, m := range p.Of {
		v := strconv.FormatInt(m.Version, 10)
		if c.log.Tables[c.log.Rows[m.Row].Table()].Columns != nil {
			// The unique id, which every row has as a column.
			column, v = "u", strconv.FormatInt(c.log.Cells[m.Version], 10)
		}
		of = append(of, versionText{string(c.log.Rows[m.Row].AppendJSON(nil, c.log.Tables)), v, m.Not})
	}
	c.matched = c.matched[:0]
	for _, m := range p.Matched {
		c.matched = append(c.matched, history.PredRow{Key: c.keyOf(m.Row), Old: c.value(m.Row, m.Old),
			New: c.value(m.Row, m.New)})
	}
	kind := history.PredRead
	if op.Kind == store.ScriptWrite {
		kind = history.PredWrite
	}
	c.b.Predicate(kind, versionPredicate(c.text[:0], column, of), c.matched)
}

// versionText is a version as JSON. With not it means all other versions of its key.
type versionText struct {
	key, val string
	not      bool
}

// versionPredicate appends a predicate that is true for the given versions only. They are identified by a column (""
// for the value itself).
func versionPredicate(text []byte, column string, of []versionText) []byte {
	one := func(v versionText) {
		is := `"="`
		if v.not {
			is = `"!="`
		}
		text = append(text, '{')
		if column == "" {
			text = append(text, `"":{`+is+`:`+v.val+`},"key":{"=":`+v.key+`}`...)
		} else {
			text = append(text, `"key":{"=":`+v.key+`},"`+column+`":{`+is+`:`+v.val+`}`...)
		}
		text = append(text, '}')
	}
	if len(of) == 1 {
		one(of[0])
		return text
	}
	text = append(text, `{"or":[`...)
	for i, v := range of {
		if i > 0 {
			text = append(text, ',')
		}
		one(v)
	}
	return append(text, `]}`...)
}
