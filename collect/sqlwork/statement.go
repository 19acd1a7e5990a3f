package sqlwork

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// verb is the kind of access that a statement makes to its table.
type verb uint8

const (
	other verb = iota
	sel
	insert
	update
	del
)

// statement is a step, understood.
type statement struct {
	verb  verb
	table *Table // nil: not recorded
	// key and version are the parameters of the accessed row's key and of the version written; "": none.
	key, version string
	// exact says that the statement accesses exactly the row of that key, without further conditions: an answer
	// without rows then shows that it is absent.
	exact bool
	// returns says that the answer has the changed rows.
	returns bool
	// replaces says that an insert may overwrite an existing row.
	replaces bool
	parts    []part

	toks  []token
	names []string // the table's names in the text
}

// part is a piece of the statement's text, or a parameter.
type part struct{ text, parameter string }

// parameters lists the parameters of the text, and those that key and version name.
func (st *statement) parameters() []string {
	var names []string
	for _, p := range st.parts {
		if p.parameter != "" {
			names = append(names, p.parameter)
		}
	}
	for _, n := range []string{st.key, st.version} {
		if n != "" {
			names = append(names, n)
		}
	}
	return names
}

// split splits a text at its parameters.
func split(sql string, toks []token) []part {
	var parts []part
	last := 0
	for _, t := range toks {
		if t.kind == parameter {
			parts = append(parts, part{text: sql[last:t.start]}, part{parameter: t.text})
			last = t.end
		}
	}
	return append(parts, part{text: sql[last:]})
}

// Text returns the statement with its values. backslash says that the database takes a backslash in a text for an
// escape.
func (s *Step) Text(values map[string]any, backslash bool) string {
	var b strings.Builder
	for _, p := range s.what.parts {
		if p.parameter == "" {
			b.WriteString(p.text)
			continue
		}
		b.WriteString(literal(values[p.parameter], backslash))
	}
	return b.String()
}

func literal(v any, backslash bool) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case int64:
		return strconv.FormatInt(v, 10)
	}
	text := strings.ReplaceAll(fmt.Sprint(v), "'", "''")
	if backslash {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return "'" + text + "'"
}

// Uniques lists the statement's unique parameters, which need a new value each time.
func (w *Workload) Uniques(s *Step) []string {
	var names []string
	for _, n := range s.what.parameters() {
		if p := w.Parameters[n]; p != nil && p.Unique && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// Effect is a read or write of one row that an answer shows. Value is the version; nil: the row is absent, or deleted.
type Effect struct {
	Write bool
	Key   string
	Value any
}

// Answer is the answer to a statement.
type Answer struct {
	Columns  []string
	Rows     [][]any
	Affected int64
}

// Writes reports whether a statement's intent is a write: if its answer is lost, it may have taken effect.
func (s *Step) Writes() bool { return s.what.table != nil && s.what.verb != sel }

// Intended returns the write of a statement whose answer was lost; false if it is unknown.
func (s *Step) Intended(values map[string]any) (Effect, bool) {
	if !s.Writes() || s.what.key == "" {
		return Effect{}, false
	}
	return s.effect(values), true
}

// effect returns the write of the row that the parameters name.
func (s *Step) effect(values map[string]any) Effect {
	st := &s.what
	e := Effect{Write: true, Key: st.table.keyName(values[st.key])}
	if st.verb != del {
		e.Value = values[st.version]
	}
	return e
}

func (t *Table) keyName(key any) string { return t.label + "/" + fmt.Sprint(plain(key)) }

// Row returns the history's name of a row of the table, and its version.
func (t *Table) Row(key, version any) (string, any) { return t.keyName(key), plain(version) }

// integral matches texts of integers, as columns of decimals or texts return them.
var integral = regexp.MustCompile(`^(0|-?[1-9]\d*)(?:\.0+)?$`)

// plain normalises a value across column types: a written integer 7 is read as "7" from a column of texts, and as
// "7.00" from one of decimals.
func plain(v any) any {
	if s, ok := v.(string); ok {
		if m := integral.FindStringSubmatch(s); m != nil {
			if n, err := strconv.ParseInt(m[1], 10, 64); err == nil {
				return n
			}
		}
	}
	return v
}

// Effects returns the reads and writes that an answer shows.
func (s *Step) Effects(values map[string]any, a Answer) ([]Effect, error) {
	st := &s.what
	switch {
	case st.table == nil:
		return nil, nil
	case st.verb == sel:
		return st.reads(s, values, a)
	case st.returns:
		return st.returned(s, values, a)
	case a.Affected > 1 && !(st.replaces && a.Affected == 2): // MySQL counts a row that is replaced twice
		return nil, fmt.Errorf("%q changed %d rows, and the answer does not say which; expected returning %s", s.SQL,
			a.Affected, st.table.Key)
	case a.Affected > 0:
		return []Effect{s.effect(values)}, nil
	case st.exact && st.verb != insert: // the row does not exist
		return []Effect{{Key: st.table.keyName(values[st.key])}}, nil
	}
	return nil, nil
}

// column finds the only column of an answer with a name.
func (a *Answer) column(name string) (int, bool) {
	is := func(c string) bool { return strings.EqualFold(c, name) }
	i := slices.IndexFunc(a.Columns, is)
	return i, i >= 0 && !slices.ContainsFunc(a.Columns[i+1:], is)
}

func (st *statement) reads(s *Step, values map[string]any, a Answer) ([]Effect, error) {
	if len(a.Rows) == 0 {
		if st.exact {
			return []Effect{{Key: st.table.keyName(values[st.key])}}, nil
		}
		return nil, nil
	}
	version, ok := a.column(st.table.version)
	key, hasKey := a.column(st.table.key)
	if !ok || !hasKey && !st.exact {
		return nil, fmt.Errorf("%q: the answer has the columns %v; expected %s and %s, each once", s.SQL, a.Columns,
			st.table.Key, st.table.Version)
	}
	var out []Effect
	for _, row := range a.Rows {
		if hasKey && row[key] == nil { // a row of an outer join, or an empty sum
			continue
		}
		e := Effect{Value: plain(row[version])}
		if hasKey {
			e.Key = st.table.keyName(row[key])
		} else {
			e.Key = st.table.keyName(values[st.key])
		}
		out = append(out, e)
	}
	return out, nil
}

func (st *statement) returned(s *Step, values map[string]any, a Answer) ([]Effect, error) {
	if len(a.Rows) == 0 {
		if st.exact && st.verb != insert {
			return []Effect{{Key: st.table.keyName(values[st.key])}}, nil
		}
		return nil, nil
	}
	key, ok := a.column(st.table.key)
	if !ok {
		return nil, fmt.Errorf("%q returns %v; expected %s among them", s.SQL, a.Columns, st.table.Key)
	}
	var out []Effect
	for _, row := range a.Rows {
		e := Effect{Write: true, Key: st.table.keyName(row[key])}
		if st.verb != del {
			e.Value = values[st.version]
		}
		out = append(out, e)
	}
	return out, nil
}

// KeepFrom sets the values that the step keeps from an answer; null if it has no row.
func (s *Step) KeepFrom(values map[string]any, a Answer) error {
	for name, column := range s.Keep {
		i, ok := a.column(column)
		if !ok {
			return fmt.Errorf("%q: the answer has the columns %v; expected %s, which is to be kept", s.SQL, a.Columns,
				column)
		}
		values[name] = nil
		if len(a.Rows) > 0 {
			values[name] = a.Rows[0][i]
		}
	}
	return nil
}
