package sqlwork

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// parse understands a step's text.
func (w *Workload) parse(s *Step) (statement, error) {
	toks, err := tokens(s.SQL)
	if err != nil {
		return statement{}, fmt.Errorf("%q: %w", s.SQL, err)
	}
	st := statement{parts: split(s.SQL, toks)}
	for len(toks) > 0 && toks[len(toks)-1].is(";") {
		toks = toks[:len(toks)-1]
	}
	if st.toks = toks; len(toks) == 0 {
		return st, errors.New("a step without sql")
	}
	if s.Unrecorded {
		return st, nil
	}
	if next(toks, 0, 0, ";") < len(toks) {
		return st, fmt.Errorf("%q: several statements; expected each in a step of its own", s.SQL)
	}
	name, behind := st.begin()
	if s.Table != "" {
		name, _ = bare(s.Table)
	}
	if st.verb == other || name == "" {
		return st, fmt.Errorf("%q is not understood; expected a select, insert (…) values (…), update or delete of "+
			"one table, or unrecorded: true", s.SQL)
	}
	for _, t := range w.Tables {
		if strings.EqualFold(t.label, name) {
			st.table = t
		}
	}
	if st.table == nil {
		return st, fmt.Errorf("%q: table %q is not among tables (%v); name it there, or say unrecorded: true", s.SQL,
			name, slices.Sorted(maps.Keys(w.Tables)))
	}
	st.returns = st.verb != sel && next(toks, 0, 0, "returning") < len(toks)
	st.key, st.version = s.Key, s.Version
	if err := st.find(behind, s.Table == ""); err != nil {
		return st, fmt.Errorf("%q: %w", s.SQL, err)
	}
	if p := w.Parameters[st.version]; st.verb != sel && st.verb != del && st.version != "" && (p == nil || !p.Unique) {
		return st, fmt.Errorf("%q writes the version :%s; expected a parameter that is unique", s.SQL, st.version)
	}
	return st, st.complete(s)
}

// begin finds the verb and the table's name, and the index of the token behind it.
func (st *statement) begin() (name string, behind int) {
	toks := st.toks
	at := len(toks) // index of the table's name
	switch t := &toks[0]; {
	case t.is("with"):
		for i := range toks[1:] { // changes inside a WITH do not show in the answer
			if toks[i+1].is("insert", "delete", "merge") || toks[i+1].is("update") && !toks[i].is("for", "key") {
				return "", 0
			}
		}
		st.verb, at = sel, st.from(0)
	case t.is("select"):
		if st.verb, at = sel, next(toks, 0, 0, "from")+1; at > len(toks) {
			at = st.from(0)
		}
		for at < len(toks) && toks[at].is("(") { // the rows of a sub-select
			at = st.from(at)
		}
	case t.is("insert", "replace"):
		st.verb, at = insert, next(toks, 0, 0, "into")+1
		st.replaces = t.is("replace") || at > 2 && at <= len(toks) && toks[at-2].is("replace")
	case t.is("update"):
		for st.verb, at = update, 1; at < len(toks) && toks[at].is("only", "low_priority", "ignore", "or", "abort",
			"fail", "rollback", "replace"); at++ {
		}
	case t.is("delete"):
		for at = 1; at < len(toks) && toks[at].is("low_priority", "quick", "ignore"); at++ {
		}
		if at < len(toks) && toks[at].is("from") {
			if st.verb, at = del, at+1; at < len(toks) && toks[at].is("only") {
				at++
			}
		}
	}
	if at > len(toks) {
		return "", len(toks)
	}
	parts, n := names(toks[at:])
	if n > 0 {
		st.names = []string{parts[len(parts)-1], strings.Join(parts, ".")}
	}
	return strings.Join(parts, "."), at + n
}

// from returns the index behind the first FROM from i on, at any depth.
func (st *statement) from(i int) int {
	for ; i < len(st.toks); i++ {
		if st.toks[i].is("from") {
			return i + 1
		}
	}
	return i
}

// find finds the parameters of key and version in the text, unless the step names them. behind is the index behind the
// table's name; plain says that the statement accesses its first table only.
func (st *statement) find(behind int, plain bool) error {
	if st.verb == insert {
		return st.findInserted(behind)
	}
	toks := st.toks
	alias := behind // tokens between the table's name and the next clause
	if alias < len(toks) && toks[alias].is("as") {
		alias++
	}
	if alias < len(toks) && toks[alias].name() && !toks[alias].is("set", "where", "order", "for", "limit", "returning",
		"join", "inner", "left", "right", "cross", "natural", "using", "group", "union") {
		st.names = append(st.names, toks[alias].text)
		alias++
	}
	if st.verb == update {
		if alias >= len(toks) || !toks[alias].is("set") {
			return errors.New("not understood; expected update of one table: update name set …")
		}
		where := next(toks, alias, 0, "where", "from", "returning", "order", "limit")
		for _, set := range splitAt(toks[alias+1:where], 0, ",") {
			switch column, p := st.assigned(set); {
			case strings.EqualFold(column, st.table.key):
				return fmt.Errorf("it changes the key %s; expected a delete and an insert, or unrecorded: true", column)
			case strings.EqualFold(column, st.table.version):
				st.setVersion(p)
			}
		}
		alias = where
	}
	where := next(toks, behind, 0, "where")
	if where == len(toks) || toks[behind-1].depth > 0 || toks[0].is("with") {
		return nil
	}
	end := next(toks, where, 0, "returning", "for", "lock", "limit", "order", "group", "having", "window", "union",
		"except", "intersect", "offset", "fetch")
	if next(toks, where, 0, "or", "xor", "|", "union", "except", "intersect") < len(toks) {
		return nil
	}
	conditions := splitAt(toks[where+1:end], 0, "and")
	for i, c := range conditions {
		if i > 0 && next(conditions[i-1], 0, 0, "between") < len(conditions[i-1]) {
			continue // the upper bound of a range
		}
		column, p := st.assigned(c)
		if p != "" && strings.EqualFold(column, st.table.key) {
			if st.key == "" {
				st.key = p
			}
			st.exact = plain && p == st.key && len(conditions) == 1 && alias == where && harmless(toks[end:])
		}
	}
	return nil
}

// assigned reads "column = :parameter" for a column of this table. The parameter is "" if the value is another
// expression.
func (st *statement) assigned(toks []token) (column, param string) {
	if len(toks) > 2 && toks[0].kind == parameter && toks[1].is("=") { // :k = id
		toks = append(slices.Clone(toks[2:]), toks[1], toks[0])
	}
	parts, n := names(toks)
	if n == 0 || n >= len(toks) || !toks[n].is("=") {
		return "", ""
	}
	column = parts[len(parts)-1]
	if q := strings.Join(parts[:len(parts)-1], "."); q != "" && !slices.ContainsFunc(st.names, func(s string) bool {
		return strings.EqualFold(s, q)
	}) {
		return "", ""
	}
	rest := toks[n+1:]
	if len(rest) == 1 && rest[0].kind == parameter || len(rest) == 3 && rest[0].kind == parameter && rest[1].is("::") {
		param = rest[0].text
	}
	return column, param
}

// harmless reports whether the clauses after a condition do not change its rows: an order, a lock that waits, a limit
// of one row or more.
func harmless(toks []token) bool {
	for i := range toks {
		switch t := &toks[i]; {
		case t.is("skip", "group", "having", "window", "offset", "fetch", ","):
			return false
		case t.is("limit"):
			if i+1 >= len(toks) || toks[i+1].kind != number || strings.Trim(toks[i+1].text, "0") == "" {
				return false
			}
		}
	}
	return true
}

// findInserted is find for INSERT … (columns) VALUES (values).
func (st *statement) findInserted(behind int) error {
	toks := st.toks
	st.exact = st.key != ""
	open := next(toks, behind, 0, "(")
	shut := next(toks, open, 0, ")")
	values := next(toks, shut, 0, "values", "value")
	if open == len(toks) || values == len(toks) {
		return nil
	}
	end := next(toks, values, 0, "on", "returning", "as")
	rows := 0
	for i := values + 1; i < end; rows++ {
		closed := next(toks, i, 0, ")")
		if !toks[i].is("(") || closed == len(toks) {
			return errors.New("not understood; expected values (…)")
		}
		var key, version string
		cells := splitAt(toks[i+1:closed], 1, ",")
		for n, c := range splitAt(toks[open+1:shut], 1, ",") {
			if n >= len(cells) || len(c) != 1 {
				continue
			}
			p := ""
			if cell := cells[n]; len(cell) > 0 && cell[0].kind == parameter && (len(cell) == 1 || len(cell) == 3 &&
				cell[1].is("::")) {
				p = cell[0].text
			}
			switch {
			case strings.EqualFold(c[0].text, st.table.key):
				key = p
			case strings.EqualFold(c[0].text, st.table.version):
				version = p
			}
		}
		if rows > 0 && (!st.returns || version != st.version) {
			return errors.New("it inserts several rows; expected one, or one version for all of them and returning " +
				st.table.Key)
		}
		if st.key == "" {
			st.key = key
		}
		st.setVersion(version)
		i = closed + 1
		if i < end && toks[i].is(",") {
			i++
		}
	}
	st.exact = st.key != ""
	return st.findOverwritten(toks[end:])
}

// findOverwritten reads an insert's clause for an existing row: ON CONFLICT … DO UPDATE SET, ON DUPLICATE KEY UPDATE.
func (st *statement) findOverwritten(toks []token) error {
	up := next(toks, 0, 0, "update")
	if up == len(toks) {
		return nil
	}
	st.replaces = true
	if up++; up < len(toks) && toks[up].is("set") {
		up++
	}
	for _, set := range splitAt(toks[up:next(toks, up, 0, "where", "returning")], 0, ",") {
		parts, n := names(set)
		if n == 0 || !strings.EqualFold(parts[len(parts)-1], st.table.version) || n+1 >= len(set) || !set[n].is("=") {
			continue
		}
		value := set[n+1:]
		from, m := names(value)
		switch {
		case len(value) == 1 && value[0].kind == parameter && value[0].text == st.version,
			m == len(value) && len(from) == 2 && strings.EqualFold(from[1], st.table.version) &&
				!strings.EqualFold(from[0], st.table.label), // excluded.v, or the alias of MySQL's new row
			len(value) == 4 && value[0].is("values") && strings.EqualFold(value[2].text, st.table.version):
			return nil
		}
	}
	return fmt.Errorf("it may overwrite a row with another version than it inserts; expected %s = :%s there too",
		st.table.Version, st.version)
}

func (st *statement) setVersion(name string) {
	if st.version == "" {
		st.version = name
	}
}

// complete returns an error if a statement lacks something that recording needs.
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
