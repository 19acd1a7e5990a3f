package sqlwork

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"isovet/internal/pattern"
	"isovet/internal/sqlstmt"
	"isovet/internal/sqltext"
)

// statement is a step, understood.
type statement struct {
	parts []string      // of the text; every second is a parameter's name
	names []string      // of all parameters, in their order
	plan  *sqlstmt.Plan // nil: it is not recorded
	one   bool          // it writes one row, whose key and version are parameters
}

func (st *statement) parameter(name string) sqltext.Operand {
	at := slices.Index(st.names, name)
	if at < 0 {
		at = len(st.names)
		st.names = append(st.names, name)
	}
	return sqltext.Operand{Param: at + 1, Known: true}
}

// foreignParameter finds parameters in other notations than :name. It skips texts, quoted names and comments.
var foreignParameter = pattern.Lazy(`'[^']*'|"[^"]*"|` + "`[^`]*`" +
	`|--[^\n]*|(?s:/\*.*?\*/)|(\$\d+|\?\d*|@\w+)`)

// parse understands a step's text.
func (w *Workload) parse(s *Step) error {
	st := &s.what
	st.parts = sqltext.Named(s.SQL)
	text := st.parts[0]
	for i := 1; i < len(st.parts); i += 2 {
		text += "$" + strconv.Itoa(st.parameter(st.parts[i]).Param) + st.parts[i+1]
	}
	switch {
	case strings.Trim(s.SQL, "; \t\n") == "":
		return errors.New("a step without sql")
	case strings.Contains(s.SQL, `\'`), strings.Contains(s.SQL, `\"`):
		return fmt.Errorf("%q: a backslash before a quote, which databases read differently; expected the quote "+
			"doubled, or a parameter", s.SQL)
	case s.Unrecorded:
		return nil
	}
	for _, m := range foreignParameter().FindAllStringSubmatch(s.SQL, -1) {
		if m[1] != "" && s.Table == "" {
			return fmt.Errorf("%q: the parameter %s; expected :name", s.SQL, m[1])
		}
	}
	all, err := w.sql(text)
	if err != nil && s.Table != "" { // its first word will do
		kind := verbs[strings.ToLower(append(strings.Fields(text), "")[0])]
		all, err = []sqltext.Stmt{{Kind: kind, Writes: kind != sqltext.Select}}, nil
		if duplicate().MatchString(text) {
			all[0].Arbiters = []string{"duplicate"}
		}
	}
	switch {
	case err != nil, len(all) == 1 && (all[0].Kind < sqltext.Select || all[0].Kind > sqltext.Delete):
		err = cmp.Or(err, errors.New("it is another kind of statement"))
		return fmt.Errorf("isovet does not understand %q (%w); expected a select, insert (…) values (…), update or "+
			"delete of one table, or table, key and version beside it, or unrecorded: true", s.SQL, err)
	case len(all) == 0:
		return errors.New("a step without sql")
	case len(all) > 1:
		return fmt.Errorf("%q: several statements; expected each in a step of its own", s.SQL)
	}
	q := &all[0]
	t, err := w.table(s, q)
	if err != nil {
		return err
	}
	s.describe(t, q)
	why := w.versions(s, t, q)
	if why == "" && q.Kind != sqltext.Select {
		why = st.rows(t, q)
	}
	if why == "" {
		st.plan, why = sqlstmt.Declare(s.SQL, q, st.names, &t.table)
	}
	if why != "" {
		return fmt.Errorf("isovet does not understand %q: %s", s.SQL, why)
	}
	return nil
}

var duplicate = pattern.Lazy(`(?i)\breplace\b|\bon\s+duplicate\b`)

var verbs = map[string]sqltext.Kind{"select": sqltext.Select, "insert": sqltext.Insert, "replace": sqltext.Insert,
	"update": sqltext.Update, "delete": sqltext.Delete}

// table finds the table that a statement is about, and names it as the file does.
func (w *Workload) table(s *Step, q *sqltext.Stmt) (*Table, error) {
	reads := q
	if q.Inner != nil {
		reads = q.Inner
	}
	names := []*sqltext.Table{&q.Target}
	if q.Kind == sqltext.Select {
		names = nil
		for i := range reads.Rows {
			names = append(names, &reads.Rows[i])
		}
	}
	if s.Table != "" {
		if q.Rows = make([]sqltext.Table, 1); q.Kind == sqltext.Select {
			names, q.Outputs, q.Inner = []*sqltext.Table{&q.Rows[0]}, []sqltext.Output{{Star: true}}, nil
		}
		if q.Cut = true; !q.Writes {
			q.Why = ""
		}
		names[0].Schema, names[0].Name = "", bare(s.Table)
	}
	var found *Table // of several the first whose version is returned
	for _, n := range names {
		if n.Schema != "" {
			n.Name = n.Schema + "." + n.Name
		}
		for _, t := range w.Tables {
			if strings.EqualFold(t.table.Name, n.Name) && (found == nil || !sqlstmt.Returns(reads, &found.table,
				found.table.Version)) {
				found = t
			}
		}
	}
	switch {
	case found != nil:
		return found, nil
	case len(names) == 0:
		return nil, fmt.Errorf("isovet does not understand %q (%s); expected a select of a table's rows, or table "+
			"beside it, or unrecorded: true", s.SQL, cmp.Or(q.Why, "it selects no rows of a table"))
	}
	return nil, fmt.Errorf("%q: table %q is not among tables (%v); name it there, or say unrecorded: true", s.SQL,
		names[0].Name, slices.Sorted(maps.Keys(w.Tables)))
}

func (s *Step) describe(t *Table, q *sqltext.Stmt) {
	set := func(column, parameter string) {
		o := s.what.parameter(parameter)
		if q.Kind == sqltext.Update {
			q.Sets, q.Assigned = slices.Insert(q.Sets, 0, column), slices.Insert(q.Assigned, 0, o)
			return
		}
		if q.Values == nil {
			q.Values, q.Columns = make([][]sqltext.Operand, 1), nil
		}
		q.Columns = slices.Insert(q.Columns, 0, column)
		for i := range q.Values {
			q.Values[i] = slices.Insert(q.Values[i], 0, o)
		}
	}
	if s.Version != "" && (q.Kind == sqltext.Insert || q.Kind == sqltext.Update) {
		set(t.table.Version, s.Version)
	}
	switch {
	case s.Key == "":
	case q.Kind == sqltext.Insert:
		set(t.table.Key, s.Key)
	default:
		q.Where, q.Cut = []sqltext.Condition{{Column: t.table.Key, Op: "=", With: []sqltext.Operand{
			s.what.parameter(s.Key)}}}, true
	}
}

// versions says why a write does not give its rows versions of their own; "": it does.
func (w *Workload) versions(s *Step, t *Table, q *sqltext.Stmt) string {
	columns, rows := q.Columns, q.Values
	switch q.Kind {
	case sqltext.Update:
		columns, rows = q.Sets, [][]sqltext.Operand{q.Assigned}
	case sqltext.Insert:
	default:
		return ""
	}
	is := func(c string) bool { return strings.EqualFold(c, t.table.Version) }
	at := slices.IndexFunc(columns, is)
	if s.Version == "" && at >= 0 && slices.ContainsFunc(columns[at+1:], is) {
		return "it writes the version twice"
	}
	for _, row := range rows {
		if at < 0 || at >= len(row) || row[at].Param == 0 || row[at].Param > len(s.what.names) {
			at = -1
			break
		}
		name := s.what.names[row[at].Param-1]
		if p := w.Parameters[name]; p == nil || !p.Unique {
			return fmt.Sprintf("it writes the version :%s; expected a parameter that is unique", name)
		}
	}
	if at < 0 || len(rows) == 0 {
		return fmt.Sprintf("it does not say which version it writes; expected %s = :parameter, or version: parameter",
			t.Version)
	}
	return ""
}

// rows says why the rows that a write changes cannot be told by its answer; "": they can.
func (st *statement) rows(t *Table, q *sqltext.Stmt) string {
	is := func(c string) bool { return strings.EqualFold(c, t.table.Key) }
	returned := sqlstmt.Returns(q, &t.table, t.table.Key)
	if q.Kind == sqltext.Insert {
		at := slices.IndexFunc(q.Columns, is)
		st.one = len(q.Values) == 1 && at >= 0 && at < len(q.Values[0]) && q.Values[0][at].Known
		if len(q.Values) > 1 && !returned {
			return "it inserts several rows; expected one, or returning " + t.Key
		}
	}
	for _, c := range q.Where {
		st.one = st.one || is(c.Column) && c.Op == "=" && c.With[0].Known
	}
	if !st.one && !returned {
		return fmt.Sprintf("it does not say which rows it writes; expected %s = :parameter, or returning %s", t.Key,
			t.Key)
	}
	return ""
}

// Text returns the statement with its values. backslash says that the database takes a backslash in a text for an
// escape.
func (s *Step) Text(values map[string]any, backslash bool) string {
	var b strings.Builder
	for i, p := range s.what.parts {
		if i%2 == 1 {
			p = literal(values[p], backslash)
		}
		b.WriteString(p)
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
	for _, n := range s.what.names {
		if p := w.Parameters[n]; p != nil && p.Unique {
			names = append(names, n)
		}
	}
	return names
}

// Plan is how the step's answers are read, with the values of its parameters; nil: it is not recorded. one: it writes
// one row, and its values tell which.
func (s *Step) Plan(values map[string]any) (p *sqlstmt.Plan, args []sqlstmt.Arg, one bool) {
	for _, n := range s.what.names {
		args = append(args, sqlstmt.Arg{Name: n, Value: values[n]})
	}
	return s.what.plan, args, s.what.one
}

// Plans returns the plans of all steps; nil for one that is not recorded and may write.
func (w *Workload) Plans() (plans []*sqlstmt.Plan) {
	for _, t := range w.Transactions {
		for _, s := range t.Steps {
			word, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(s.SQL)), " ")
			if s.what.plan != nil || word != "select" && word != "show" && word != "set" {
				plans = append(plans, s.what.plan)
			}
		}
	}
	return plans
}

// KeepFrom sets the values that the step keeps from an answer; null if it has no row.
func (s *Step) KeepFrom(values map[string]any, columns []string, rows [][]any) error {
	for name, column := range s.Keep {
		is := func(c string) bool { return strings.EqualFold(c, column) }
		i := slices.IndexFunc(columns, is)
		if i < 0 || slices.ContainsFunc(columns[i+1:], is) {
			return fmt.Errorf("%q: the answer has the columns %v; expected %s, which keep names", s.SQL, columns,
				column)
		}
		values[name] = nil
		if len(rows) > 0 {
			values[name] = rows[0][i]
		}
	}
	return nil
}
