package workload

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"isovet/history"
)

// Append appends the key as a history has it: Name/pk, or pk if the table is unnamed.
func (k Key) Append(b []byte, tables []Table) []byte {
	if name := tables[k.Table()].Name; name != "" {
		b = append(append(b, name...), '/')
	}
	return strconv.AppendInt(b, k.PK(), 10)
}

// AppendJSON appends the key as JSON.
func (k Key) AppendJSON(b []byte, tables []Table) []byte {
	if tables[k.Table()].Name == "" {
		return k.Append(b, tables)
	}
	return append(k.Append(append(b, '"'), tables), '"')
}

// Value returns the key as a value of b.
func (k Key) Value(b *history.Builder, tables []Table) history.Value {
	if tables[k.Table()].Name == "" {
		return history.IntValue(k.PK())
	}
	return b.StringValue(k.Append(make([]byte, 0, 64), tables))
}

// RowText writes rows as a history has them: columns sorted by name, with "u" for the version.
type RowText [][]rowCell // table → cells

type rowCell struct {
	name string // as JSON
	at   int
}

// NewRowText returns the RowText of tables.
func NewRowText(tables []Table) RowText {
	x := make(RowText, len(tables))
	for i, t := range tables {
		x[i] = append(x[i], rowCell{`"u"`, 0})
		for j, c := range t.Columns {
			x[i] = append(x[i], rowCell{string(history.AppendJSONString(nil, c.Name)), 1 + j})
		}
		slices.SortFunc(x[i], func(a, b rowCell) int { return cmp.Compare(a.name, b.name) })
	}
	return x
}

// Append appends a row of a table: the version, then the columns.
func (x RowText) Append(text []byte, table int, row []int64) []byte {
	next := byte('{')
	for _, c := range x[table] {
		text = append(append(append(text, next), c.name...), ':')
		text = strconv.AppendInt(text, row[c.at], 10)
		next = ','
	}
	return append(text, '}')
}

// Condition writes ranges as a predicate of the history format. Columns are sorted by name; several ranges of one
// column become "and".
func Condition(columns []Column, where []Range) []byte {
	parts := make([]string, len(where))
	open, comma, end := "{", ",", "}"
	var b []byte
	for i, r := range where {
		b = append(history.AppendJSONString(b[:0], columns[r.Column].Name), ":{"...)
		below := r.Max != math.MaxInt64
		from := r.Min != math.MinInt64 || !below // without a bound, it would be true of rows without the column
		switch {
		case r.Max == r.Min+1:
			b = strconv.AppendInt(append(b, `"=":`...), r.Min, 10)
			from = false
		case below:
			b = strconv.AppendInt(append(b, `"<":`...), r.Max, 10)
			if from {
				b = append(b, ',')
			}
		}
		if from {
			b = strconv.AppendInt(append(b, `">=":`...), r.Min, 10)
		}
		parts[i] = string(append(b, '}'))
		if slices.ContainsFunc(where[:i], func(o Range) bool { return o.Column == r.Column }) {
			open, comma, end = `{"and":[{`, "},{", "}]}"
		}
	}
	slices.Sort(parts)
	return []byte(open + strings.Join(parts, comma) + end)
}
