package sqlstmt

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"isovet/internal/sqltext"
	"isovet/record"
)

// declaredWhy says why a statement on a declared table is not understood, by its text alone.
func declaredWhy(s *sqltext.Stmt, t *Table) string {
	sets := func(column string) bool { return indexFold(s.Sets, column) >= 0 }
	switch {
	case s.Why != "":
		return s.Why
	case s.Kind == sqltext.Select && (len(s.Rows) != 1 || !strings.EqualFold(s.Rows[0].Name, t.Name)):
		return "it does not read one declared table alone"
	case s.Kind == sqltext.Select && aggregate(s.Outer):
		return "an aggregate: select the rows, or read them before"
	case s.Writes && !strings.EqualFold(s.Target.Name, t.Name):
		return "it does not write one declared table alone"
	case s.Kind == sqltext.Insert && (indexFold(s.Columns, t.Version) < 0 || indexFold(s.Columns, t.Key) < 0 &&
		!slices.ContainsFunc(s.Outputs, func(o sqltext.Output) bool { return strings.EqualFold(o.Column, t.Key) })):
		return "an insert without the key or the version among its columns"
	case s.Kind == sqltext.Insert && s.Values == nil:
		return "an insert of a query's rows: add RETURNING with key and version"
	case s.Upsert && indexFold(s.Overwrite, t.Version) < 0:
		return "an upsert whose version is not the new row's: set it to EXCLUDED's"
	case s.Kind == sqltext.Update && sets(t.Key):
		return "an update of the key: delete and insert"
	case s.Kind == sqltext.Update && !sets(t.Version):
		return "an update that leaves the version: set it too"
	}
	return ""
}

func indexFold(names []string, name string) int {
	return slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

// aggregate reports whether some function is one that makes one row of many, in SQLite, MySQL or MariaDB.
func aggregate(calls []string) bool {
	return slices.ContainsFunc(calls, func(f string) bool {
		switch strings.ToLower(f) {
		case "count", "sum", "avg", "min", "max", "total", "group_concat", "string_agg", "array_agg", "json_agg",
			"jsonb_agg", "bit_and", "bit_or", "bit_xor", "bool_and", "bool_or", "every", "std", "stddev", "stddev_pop",
			"stddev_samp", "variance", "var_pop", "var_samp", "json_arrayagg", "json_objectagg", "json_group_array",
			"json_group_object", "any_value":
			return true
		}
		return false
	})
}

// effect is a statement on a declared table, with its result.
type effect struct {
	l            *Log
	r            *Run
	s            *sqltext.Stmt
	t            *Table
	res          *Result
	key, version int   // places in the rows; -1: not there
	keys         []any // of the condition on the key, or of the rows to be inserted
	known        bool  // keys are all that the condition can meet
	exact        bool  // and nothing but the key keeps one away
}

// declared records what a statement on a declared table did.
func (l *Log) declared(r *Run, res *Result) (why string) {
	x := &effect{l: l, r: r, s: &r.p.stmts[0], t: r.p.declared, res: res, key: -1, version: -1}
	x.places()
	if why := x.find(); why != "" {
		return why
	}
	if x.s.Kind == sqltext.Select {
		if l.isDeaf(x.t.Name) {
			return "a read behind a write of its table that was not understood"
		}
		return x.read()
	}
	return x.write()
}

// places finds the key and the version among what is returned.
func (x *effect) places() {
	var names []string
	for _, o := range x.s.Outputs {
		if o.Star {
			names = x.res.Columns
			break
		}
		names = append(names, o.Column)
	}
	if len(x.s.Outputs) > 0 {
		x.key, x.version = indexFold(names, x.t.Key), indexFold(names, x.t.Version)
	}
}

// find finds the keys that the statement names.
func (x *effect) find() string {
	s := x.s
	if s.Kind == sqltext.Insert {
		at := indexFold(s.Columns, x.t.Key)
		for _, row := range s.Values {
			if at < 0 {
				break
			}
			if at >= len(row) {
				return "an insert of rows of several lengths"
			}
			v, ok := operand(row[at], x.r.args, x.r.p.names)
			if !ok && x.key < 0 {
				return "an insert whose key is computed: add RETURNING"
			} else if ok {
				x.keys = append(x.keys, normal(v))
			}
		}
		return ""
	}
	others := 0
	for _, c := range s.Where {
		if !strings.EqualFold(c.Column, x.t.Key) || c.Op != "=" && c.Op != "in" || x.known {
			others++
			continue
		}
		x.known = true
		for _, o := range c.With {
			v, ok := operand(o, x.r.args, x.r.p.names)
			if !ok {
				return "an argument is not there"
			}
			if k := normal(v); !slices.Contains(x.keys, k) {
				x.keys = append(x.keys, k)
			}
		}
	}
	x.exact = x.known && others == 0 && s.Plain && !s.Cut && !(s.Limited && len(x.keys) > 1)
	for _, k := range x.keys { // the database may say that texts are equal which are not
		if _, ok := k.(int64); !ok {
			x.exact = false
		}
	}
	return ""
}

var whole = regexp.MustCompile(`^(0|-?[1-9]\d*)(?:\.0+)?$`)

// normal makes one of what one value is in columns of several types: integers, as numbers, as texts, as decimals.
func normal(v any) any {
	v = scalar(v)
	switch x := v.(type) {
	case string:
		if m := whole.FindStringSubmatch(x); m != nil {
			if n, err := strconv.ParseInt(m[1], 10, 64); err == nil {
				return n
			}
		}
	case float64:
		if n := int64(x); float64(n) == x {
			return n
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	case time.Time:
		return x.UTC().Format(time.RFC3339Nano)
	case nil, int64, bool:
	default:
		return fmt.Sprint(v)
	}
	return v
}

// name is a row's key in the history.
func (x *effect) name(key any) string { return x.t.Name + "/" + fmt.Sprint(key) }

// value is a row's version in the history.
func (x *effect) value(key, version any) valueOf {
	return func(int64) any {
		if !x.t.Ranges || version == nil {
			return version
		}
		return map[string]any{"table": x.t.Name, x.t.Key: key, x.t.Version: version}
	}
}

// wrote notes a version of a row, nil: it is deleted.
func (x *effect) wrote(key, version any) any {
	name := x.name(key)
	x.l.versions.touch(name)
	return x.r.wrote(name, version, x.value(key, version))
}

// write1 records the write of one row, nil: it is deleted.
func (x *effect) write1(key, version any) {
	_ = x.r.t.Write(x.name(key), x.wrote(key, version)) // the recorder keeps what goes wrong
}

const (
	unseen  = "its rows are not all seen"
	foreign = "a version that nobody wrote in the recording: a trigger, another program, or the column rounds it"
)

// rowKey is the key of a returned row.
func (x *effect) rowKey(row []any) (any, string) {
	switch {
	case x.key >= 0 && x.key < len(row):
		return normal(row[x.key]), ""
	case len(x.keys) == 1 && x.known:
		return x.keys[0], ""
	}
	return nil, "the key is not returned: select it too"
}

func (x *effect) read() (why string) {
	res := x.res
	switch {
	case res.Unseen:
		return unseen
	case x.version < 0:
		return "the version is not returned: select it too"
	}
	var rows []record.Row
	seen := map[any]bool{}
	for _, row := range res.Rows {
		key, no := x.rowKey(row)
		if no != "" {
			return no
		}
		seen[key] = true
		if row[x.version] == nil {
			why = "a version that is NULL"
			continue
		}
		id := normal(row[x.version])
		name := x.name(key)
		v, by := x.l.versions.read(x.l.Rec, name, id, x.value(key, id), x.l.versions.quiet(name, x.t.Name))
		if by != recorded {
			why = map[origin]string{unrecorded: foreign, forgotten: longAgo}[by]
			continue
		}
		rows = append(rows, record.Row{Key: name, Old: v})
	}
	if x.t.Ranges && x.ranged() && !x.exact && res.All && why == "" {
		if c, ok := x.condition(); ok {
			_ = x.r.t.Predicate(c, rows...)
			return ""
		}
	}
	for _, row := range rows {
		_ = x.r.t.Read(row.Key, row.Old)
	}
	for _, key := range x.keys {
		if x.exact && res.All && !seen[key] {
			_ = x.r.t.Read(x.name(key), nil)
		}
	}
	return why
}

// ranged reports whether the condition is one on key and version alone, and gives all rows that meet it.
func (x *effect) ranged() bool {
	return x.s.Plain && !x.s.Cut && !x.s.Limited && !slices.ContainsFunc(x.s.Where, func(c sqltext.Condition) bool {
		return !strings.EqualFold(c.Column, x.t.Key) && !strings.EqualFold(c.Column, x.t.Version)
	})
}

// condition is WHERE as a predicate of the history's.
func (x *effect) condition() (any, bool) {
	parts := []any{map[string]any{"table": map[string]any{"=": x.t.Name}}}
	for _, c := range x.s.Where {
		var with []any
		for _, o := range c.With {
			v, ok := operand(o, x.r.args, x.r.p.names)
			if _, number := normal(v).(int64); !ok || !number {
				return nil, false // how the database orders texts, and which are equal, is not known
			}
			with = append(with, normal(v))
		}
		column := x.t.Key
		if strings.EqualFold(c.Column, x.t.Version) {
			column = x.t.Version
		}
		var value any = with
		if c.Op != "in" {
			value = with[0]
		}
		parts = append(parts, map[string]any{column: map[string]any{c.Op: value}})
	}
	return map[string]any{"and": parts}, true
}

// versionOf is the version that a write gives row i of its rows.
func (x *effect) versionOf(i int) (any, bool) {
	s := x.s
	if s.Kind == sqltext.Delete {
		return nil, true
	}
	from := s.Assigned
	at := indexFold(s.Sets, x.t.Version)
	if s.Kind == sqltext.Insert {
		if i >= len(s.Values) {
			return nil, false
		}
		from, at = s.Values[i], indexFold(s.Columns, x.t.Version)
	}
	if at < 0 || at >= len(from) {
		return nil, false
	}
	v, ok := operand(from[at], x.r.args, x.r.p.names)
	return normal(v), ok
}

// write records the rows that a write changed. What cannot be told makes the table deaf.
func (x *effect) write() string {
	s, res := x.s, x.res
	if x.key >= 0 && !res.Unseen && !res.Unclear && (x.version >= 0 || s.Kind == sqltext.Delete) {
		return x.returned()
	}
	n := int64(len(x.keys))
	affected := res.Affected
	if len(s.Outputs) > 0 && !res.Unseen && (res.All || len(res.Rows) > 0) {
		affected = int64(len(res.Rows))
	}
	switch {
	case affected == 0 && !res.Unclear:
		return ""
	case s.Kind == sqltext.Insert && n == 0 && x.key >= 0 && len(s.Values) == 1 && len(res.Rows) == 1:
		if v, ok := x.versionOf(0); ok { // the database made the key
			x.write1(normal(res.Rows[0][x.key]), v)
			return ""
		}
		return "the version is computed: add it to RETURNING"
	case n == 0 || s.Kind != sqltext.Insert && !x.known:
		return "rows are written that it does not name: add RETURNING with key and version"
	case s.Kind == sqltext.Update && n == 1 && x.version >= 0 && len(res.Rows) == 1:
		x.write1(x.keys[0], normal(res.Rows[0][x.version]))
		return ""
	case s.Kind != sqltext.Insert && affected < n && !(affected < 0 && n == 1) && !res.Unclear,
		s.OnlyNew && affected != n && n > 1:
		return "some of several rows are written: add RETURNING with key and version"
	case s.Kind != sqltext.Insert && n > 1 && (res.Unclear || affected < 0):
		return "some of several rows may be written"
	}
	for i, key := range x.keys {
		v, ok := x.versionOf(i)
		if !ok {
			return "the new version is computed: add RETURNING with key and version"
		}
		x.write1(key, v)
	}
	return ""
}

// returned records the rows that a write returned.
func (x *effect) returned() string {
	if !x.res.All && !(x.exact && len(x.keys) == 1 && len(x.res.Rows) == 1) && !(x.s.Kind == sqltext.Insert &&
		len(x.res.Rows) == len(x.s.Values)) {
		return "rows of RETURNING were not read to the end"
	}
	var rows []record.Row
	for _, row := range x.res.Rows {
		key := normal(row[x.key])
		if x.s.Kind == sqltext.Delete {
			rows = append(rows, record.Row{Key: x.name(key), Old: record.Unread})
			if !x.t.Ranges {
				x.write1(key, nil)
			}
			continue
		}
		id := normal(row[x.version])
		rows = append(rows, record.Row{Key: x.name(key), Old: record.Unread, New: x.wrote(key, id)})
	}
	if x.t.Ranges && x.s.Kind != sqltext.Insert && x.ranged() && !x.exact {
		if c, ok := x.condition(); ok {
			_ = x.r.t.PredicateWrite(c, rows...)
			return ""
		}
	}
	for _, r := range rows {
		if x.t.Ranges || x.s.Kind != sqltext.Delete {
			_ = x.r.t.Write(r.Key, r.New)
		}
	}
	return ""
}
