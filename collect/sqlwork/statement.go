package sqlwork

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// verb is what a statement does with the rows of its table.
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
	// key and version are the parameters of the row that the statement is about, and of what it writes; "": none.
	key, version string
	// exact: the row of that key and no other, whatever else it holds; an answer without rows says that it is absent.
	exact bool
	// returns: the answer's rows are those that were changed.
	returns bool
	// replaces: an insert that may overwrite the row that is there.
	replaces bool
	parts    []part

	toks  []token
	names []string // what the text calls the table
}

// part is a piece of the statement's text, or a parameter.
type part struct{ text, parameter string }

// parameters lists those of the text, and those that key and version name.
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

// split takes the parameters out of a text.
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

// Text writes the statement out with its values. backslash: the database takes a backslash in a text for an escape.
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

// Uniques lists the statement's unique parameters, which want a new value each time.
func (w *Workload) Uniques(s *Step) []string {
	var names []string
	for _, n := range s.what.parameters() {
		if p := w.Parameters[n]; p != nil && p.Unique && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// Effect is what an answer says of one row. Value is the version that was read or written; nil: the row is absent, or
// deleted.
type Effect struct {
	Write bool
	Key   string
	Value any
}

// Answer is what a statement gave.
type Answer struct {
	Columns  []string
	Rows     [][]any
	Affected int64
}

// Writes reports whether a statement's intent is a write: if its answer is lost, it may have taken effect.
func (s *Step) Writes() bool { return s.what.table != nil && s.what.verb != sel }

// Intended is the write that a statement was about to make where its answer was lost; false where that is not known.
func (s *Step) Intended(values map[string]any) (Effect, bool) {
	if !s.Writes() || s.what.key == "" {
		return Effect{}, false
	}
	return s.effect(values), true
}

// effect is the write of the row that the parameters name.
func (s *Step) effect(values map[string]any) Effect {
	st := &s.what
	e := Effect{Write: true, Key: st.table.keyName(values[st.key])}
	if st.verb != del {
		e.Value = values[st.version]
	}
	return e
}

func (t *Table) keyName(key any) string { return t.label + "/" + fmt.Sprint(plain(key)) }

// Row is how the history calls a row of the table, and its version.
func (t *Table) Row(key, version any) (string, any) { return t.keyName(key), plain(version) }

// integral are the texts that say an integer, as a column of decimals or texts gives one back.
var integral = regexp.MustCompile(`^(0|-?[1-9]\d*)(?:\.0+)?$`)

// plain makes one value of what one value is in columns of several types: an integer that was written is read from a
// column of texts as "7", and from one of decimals as "7.00".
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

// Effects tells what an answer says that was read and written.
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
	case st.exact && st.verb != insert: // there is no such row
		return []Effect{{Key: st.table.keyName(values[st.key])}}, nil
	}
	return nil, nil
}

// column finds the one column of an answer that has a name.
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
		if hasKey && row[key] == nil { // of an outer join or a sum of nothing
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

// KeepFrom enters what the step keeps of an answer; without a row, null.
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
