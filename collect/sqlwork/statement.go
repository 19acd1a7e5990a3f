package sqlwork

import (
	"errors"
	"fmt"
	"maps"
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
	parts   []part
}

// part is a piece of the statement's text, or a parameter.
type part struct{ text, parameter string }

var (
	verbText   = regexp.MustCompile(`(?is)^\s*(\w+)\b`)
	fromText   = regexp.MustCompile(`(?is)\bfrom\s+([\w.]+)`)
	intoText   = regexp.MustCompile(`(?is)\binto\s+([\w.]+)\s*\(([^)]*)\)\s*values\s*\(([^)]*)\)`)
	updateText = regexp.MustCompile(`(?is)^\s*update\s+([\w.]+)`)
	whereText  = regexp.MustCompile(`(?is)\bwhere\b(.*?)(?:\breturning\b.*|\bfor\s+(?:update|share|no\s+key).*|\blimit\b.*|;\s*)?$`)
)

// parse understands a step's text.
func (w *Workload) parse(s *Step) (statement, error) {
	st := statement{parts: split(s.SQL)}
	if strings.TrimSpace(s.SQL) == "" {
		return st, errors.New("a step without sql")
	}
	if s.Unrecorded {
		return st, nil
	}
	m := verbText.FindStringSubmatch(s.SQL)
	name := ""
	if m != nil {
		switch strings.ToLower(m[1]) {
		case "select", "with":
			st.verb, name = sel, submatch(fromText, s.SQL)
		case "insert", "replace":
			st.verb, name = insert, submatch(intoText, s.SQL)
		case "update":
			st.verb, name = update, submatch(updateText, s.SQL)
		case "delete":
			st.verb, name = del, submatch(fromText, s.SQL)
		}
	}
	if s.Table != "" {
		name = s.Table
	}
	if st.verb == other || name == "" {
		return st, fmt.Errorf("%q is not understood; expected a select, insert, update or delete of one table, or "+
			"unrecorded: true", s.SQL)
	}
	if st.table = w.Tables[name]; st.table == nil {
		return st, fmt.Errorf("%q: table %q is not among tables (%v); name it there, or say unrecorded: true", s.SQL,
			name, slices.Sorted(maps.Keys(w.Tables)))
	}
	st.returns = regexp.MustCompile(`(?i)\breturning\b`).MatchString(s.SQL)
	st.find(s)
	return st, st.complete(s)
}

func submatch(r *regexp.Regexp, text string) string {
	if m := r.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// find finds the parameters of key and version in the text, unless the step names them.
func (st *statement) find(s *Step) {
	st.key, st.version = s.Key, s.Version
	if st.verb == insert {
		if m := intoText.FindStringSubmatch(s.SQL); m != nil {
			columns, values := strings.Split(m[2], ","), strings.Split(m[3], ",")
			for i := 0; i < min(len(columns), len(values)); i++ {
				v, ok := strings.CutPrefix(strings.TrimSpace(values[i]), ":")
				switch strings.TrimSpace(columns[i]) {
				case st.table.Key:
					st.setKey(v, ok)
				case st.table.Version:
					st.setVersion(v, ok)
				}
			}
		}
		st.exact = st.key != ""
		return
	}
	where := submatch(whereText, s.SQL)
	if m := regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(st.table.Key) + `\s*=\s*:(\w+)`).FindStringSubmatch(
		where); m != nil {
		st.setKey(m[1], true)
		st.exact = strings.TrimSpace(where) == strings.TrimSpace(m[0])
	}
	if st.verb == update {
		head, _, _ := strings.Cut(strings.ToLower(s.SQL), " where ")
		if m := regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(st.table.Version) + `\s*=\s*:(\w+)`).FindStringSubmatch(
			s.SQL[:len(head)]); m != nil {
			st.setVersion(m[1], true)
		}
	}
}

func (st *statement) setKey(name string, ok bool) {
	if st.key == "" && ok {
		st.key = name
	}
}

func (st *statement) setVersion(name string, ok bool) {
	if st.version == "" && ok {
		st.version = name
	}
}

// complete says what a statement lacks to be recorded.
func (st *statement) complete(s *Step) error {
	t := st.table
	switch {
	case (st.verb == insert || st.verb == update) && st.version == "":
		return fmt.Errorf("%q does not say which version it writes; expected %s = :parameter, or version: parameter",
			s.SQL, t.Version)
	case st.verb != sel && st.key == "" && !st.returns:
		return fmt.Errorf("%q does not say which rows it writes; expected %s = :parameter, or returning %s", s.SQL,
			t.Key, t.Key)
	}
	return nil
}

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

var parameterText = regexp.MustCompile(`'(?:[^']|'')*'|::|:([A-Za-z_]\w*)`)

// split takes the parameters out of a text; what stands in quotes, and PostgreSQL's casts, are left alone.
func split(text string) []part {
	var parts []part
	last := 0
	for _, m := range parameterText.FindAllStringSubmatchIndex(text, -1) {
		if m[2] < 0 {
			continue
		}
		parts = append(parts, part{text: text[last:m[0]]}, part{parameter: text[m[2]:m[3]]})
		last = m[1]
	}
	return append(parts, part{text: text[last:]})
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

func (t *Table) keyName(key any) string { return t.Name + "/" + fmt.Sprint(key) }

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
	case a.Affected > 1:
		return nil, fmt.Errorf("%q changed %d rows, and the answer does not say which; expected returning %s", s.SQL,
			a.Affected, st.table.Key)
	case a.Affected == 1:
		return []Effect{s.effect(values)}, nil
	case st.exact && st.verb != insert: // there is no such row
		return []Effect{{Key: st.table.keyName(values[st.key])}}, nil
	}
	return nil, nil
}

// column finds a column of an answer.
func (a *Answer) column(name string) (int, bool) {
	i := slices.IndexFunc(a.Columns, func(c string) bool { return strings.EqualFold(c, name) })
	return i, i >= 0
}

func (st *statement) reads(s *Step, values map[string]any, a Answer) ([]Effect, error) {
	if len(a.Rows) == 0 {
		if st.exact {
			return []Effect{{Key: st.table.keyName(values[st.key])}}, nil
		}
		return nil, nil
	}
	version, ok := a.column(st.table.Version)
	key, hasKey := a.column(st.table.Key)
	if !ok || !hasKey && !st.exact {
		return nil, fmt.Errorf("%q: the answer has the columns %v; expected %s and %s among them", s.SQL, a.Columns,
			st.table.Key, st.table.Version)
	}
	var out []Effect
	for _, row := range a.Rows {
		e := Effect{Value: row[version]}
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
	key, ok := a.column(st.table.Key)
	if !ok {
		return nil, fmt.Errorf("%q returns %v; expected %s among them", s.SQL, a.Columns, st.table.Key)
	}
	if len(a.Rows) == 0 && st.exact && st.verb != insert {
		return []Effect{{Key: st.table.keyName(values[st.key])}}, nil
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
