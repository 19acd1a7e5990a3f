package sqlstmt

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"isovet/record"
)

// Table is a table whose rows are recorded.
type Table struct {
	Name string
	// Key is the column that tells rows apart: the primary key.
	Key string
	// Version is the column that every write gives another value, such as a counter or a unique id.
	Version string
	// Ranges has reads of many rows recorded as predicates, which say what was not there too. A version is then a row
	// of table, key and version.
	Ranges bool
}

// Stats counts statements on declared tables.
type Stats struct {
	Understood int
	// NotUnderstood counts by reason. Reads that are not understood weaken what a check can find; writes are errors of
	// the recording, since others' reads of them would look like reads of nothing.
	NotUnderstood map[string]int
}

func (s Stats) String() string {
	out := fmt.Sprintf("%d statements understood", s.Understood)
	for why, n := range s.NotUnderstood {
		out += fmt.Sprintf("; %d not: %s", n, why)
	}
	return out
}

// Log parses and records the statements of one database. It is safe for concurrent use.
type Log struct {
	Rec    *record.Recorder
	Tables []Table

	mu    sync.Mutex
	stmts map[string]*Stmt
	stats Stats
}

// maxStmts is how many texts are remembered.
const maxStmts = 4096

// Parse is the package's Parse, remembered.
func (l *Log) Parse(sql string) *Stmt {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.stmts[sql]; s != nil {
		return s
	}
	s := Parse(sql, l.Tables)
	if l.stmts == nil || len(l.stmts) > maxStmts {
		l.stmts = map[string]*Stmt{}
	}
	l.stmts[sql] = &s
	return &s
}

// Stats counts so far.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := Stats{Understood: l.stats.Understood, NotUnderstood: map[string]int{}}
	for why, n := range l.stats.NotUnderstood {
		out.NotUnderstood[why] = n
	}
	return out
}

// Missed counts a statement that was not understood; a write is an error of the recording.
func (l *Log) Missed(sql string, writes bool, why string) {
	l.mu.Lock()
	if l.stats.NotUnderstood == nil {
		l.stats.NotUnderstood = map[string]int{}
	}
	l.stats.NotUnderstood[why]++
	l.mu.Unlock()
	if writes {
		if len(sql) > 200 {
			sql = sql[:200] + "…"
		}
		_ = l.Rec.Fail(fmt.Errorf("a write that was not understood (%s): %s", why, sql)) // kept
	}
}

// Result is what a statement returned.
type Result struct {
	Columns  []string
	Rows     [][]any // the values of each row
	Affected int64   // -1: not known
	All      bool    // the rows have been read to the end
	Unclear  bool    // the statement failed, and may have had an effect all the same
	Unseen   bool    // the rows were not looked at
}

// Arg is an argument.
type Arg struct {
	Name  string
	Value any
}

// Done records what a statement did.
func (l *Log) Done(t *record.Txn, s *Stmt, sql string, args []Arg, r *Result) {
	if s.Table == nil {
		return
	}
	why := s.Why
	if why == "" {
		why = l.done(t, s, args, r)
	}
	if why != "" {
		l.Missed(sql, s.Writes, why)
		return
	}
	l.mu.Lock()
	l.stats.Understood++
	l.mu.Unlock()
}

func (l *Log) done(t *record.Txn, s *Stmt, args []Arg, r *Result) (why string) {
	x := &effect{t: t, s: s, args: args, r: r, key: -1, version: -1}
	defer func() {
		if f, is := recover().(failure); is {
			why = string(f)
		}
	}()
	x.places()
	switch s.Verb {
	case Select:
		x.read()
	default:
		x.write()
	}
	return ""
}

type effect struct {
	t            *record.Txn
	s            *Stmt
	args         []Arg
	r            *Result
	key, version int // places in the rows; -1: not there
}

func (x *effect) fail(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

// places finds the key and the version among what is returned.
func (x *effect) places() {
	names := x.s.outputs
	if len(names) > 0 && names[0] == "*" {
		names = nil
		for _, c := range x.r.Columns {
			names = append(names, x.s.Table.column(token{word, c}))
		}
	}
	for i, c := range names {
		switch c {
		case x.s.Table.Key:
			x.key = i
		case x.s.Table.Version:
			x.version = i
		}
	}
}

// of is the value of an expression.
func (x *effect) of(e expr) any {
	switch {
	case e.name != "":
		for _, a := range x.args {
			if a.Name == e.name {
				return normal(a.Value)
			}
		}
		x.fail("argument %s is not there", e.name)
	case e.arg > len(x.args):
		x.fail("argument %d is not there", e.arg)
	case e.arg > 0:
		return normal(x.args[e.arg-1].Value)
	}
	return normal(e.lit)
}

// normal makes one of what drivers have for the same: bytes and texts of an integer are integers.
func normal(v any) any {
	s, ok := v.(string)
	switch b := v.(type) {
	case []byte:
		s, ok = string(b), true
	case [16]byte:
		return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	}
	if !ok {
		return v
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && strconv.FormatInt(n, 10) == s {
		return n
	}
	return s
}

// name is a row's key in the history.
func (x *effect) name(key any) any { return x.s.Table.Name + "/" + fmt.Sprint(key) }

// value is a row's version in the history.
func (x *effect) value(key, version any) any {
	if !x.s.Table.Ranges || version == nil {
		return version
	}
	return map[string]any{"table": x.s.Table.Name, x.s.Table.Key: key, x.s.Table.Version: version}
}

// rowKey is the key of a returned row.
func (x *effect) rowKey(row []any) any {
	if x.key >= 0 {
		return normal(row[x.key])
	}
	if len(x.s.keys) == 1 {
		return x.of(x.s.keys[0])
	}
	x.fail("the key is not returned")
	return nil
}

func (x *effect) read() {
	s, r := x.s, x.r
	switch {
	case r.Unseen:
		x.fail("its rows are not seen")
	case x.version < 0:
		x.fail("the version is not returned")
	case x.key < 0 && len(s.keys) != 1:
		x.fail("the key is not returned")
	}
	if s.ranged && !s.exact && s.Table.Ranges && r.All {
		var rows []record.Row
		for _, row := range r.Rows {
			key := x.rowKey(row)
			rows = append(rows, record.Row{Key: x.name(key), Old: x.value(key, normal(row[x.version]))})
		}
		x.check(x.t.Predicate(x.condition(), rows...))
		return
	}
	seen := map[any]bool{}
	for _, row := range r.Rows {
		key := x.rowKey(row)
		seen[key] = true
		x.check(x.t.Read(x.name(key), x.value(key, normal(row[x.version]))))
	}
	if s.exact && r.All {
		for _, e := range s.keys {
			if key := x.of(e); !seen[key] {
				seen[key] = true
				x.check(x.t.Read(x.name(key), nil))
			}
		}
	}
}

// check passes on what cannot be recorded: the recorder keeps the error itself.
func (x *effect) check(err error) {
	if err != nil {
		x.fail("%v", err)
	}
}

// condition is WHERE as a predicate of the history's.
func (x *effect) condition() any {
	parts := []any{map[string]any{"table": map[string]any{"=": x.s.Table.Name}}}
	for _, c := range x.s.where {
		var with any
		if c.op == "in" {
			list := []any{}
			for _, e := range c.with {
				list = append(list, x.of(e))
			}
			with = list
		} else {
			with = x.of(c.with[0])
		}
		parts = append(parts, map[string]any{c.column: map[string]any{c.op: with}})
	}
	return map[string]any{"and": parts}
}

func (x *effect) write() {
	s, r := x.s, x.r
	if x.key >= 0 && !r.Unseen && !r.Unclear && (x.version >= 0 || s.Verb == Delete) {
		x.returned()
		return
	}
	n := int64(len(s.keys))
	if len(s.outputs) > 0 && !r.Unseen && (r.All || len(r.Rows) > 0) {
		r.Affected = int64(len(r.Rows))
	}
	switch {
	case r.Affected == 0 && !r.Unclear:
		return
	case s.Verb == Insert && n == 0 && x.key >= 0 && len(s.values) == 1 && len(r.Rows) == 1:
		// the database made the key
		key := normal(r.Rows[0][x.key])
		x.check(x.t.Write(x.name(key), x.value(key, x.of(s.values[0]))))
		return
	case n == 0:
		x.fail("several rows are written, and RETURNING does not say which")
	case s.Verb == Update && s.values == nil:
		if x.version < 0 || len(r.Rows) != 1 || n != 1 {
			x.fail("the new version is computed, and RETURNING does not say it")
		}
		key := x.of(s.keys[0])
		x.check(x.t.Write(x.name(key), x.value(key, normal(r.Rows[0][x.version]))))
		return
	case s.Verb == Insert && len(s.values) != len(s.keys):
		x.fail("an insert without the version")
	case s.Verb != Insert && r.Affected < n && !(r.Affected < 0 && n == 1) && !r.Unclear,
		s.maybe && r.Affected != n && n > 1:
		x.fail("some of several rows are written, and RETURNING does not say which")
	}
	for i, e := range s.keys {
		key := x.of(e)
		var v any
		if s.Verb != Delete {
			v = x.of(s.values[min(i, len(s.values)-1)])
		}
		x.check(x.t.Write(x.name(key), x.value(key, v)))
	}
}

// returned records the rows that a write returned.
func (x *effect) returned() {
	s := x.s
	if want := max(len(s.keys), len(s.values)); !x.r.All && !(s.exact && want == 1 || s.Verb == Insert) ||
		!x.r.All && len(x.r.Rows) < want {
		x.fail("rows of RETURNING were not read to the end")
	}
	var rows []record.Row
	for _, row := range x.r.Rows {
		key := normal(row[x.key])
		var v any
		if s.Verb != Delete {
			v = x.value(key, normal(row[x.version]))
		}
		rows = append(rows, record.Row{Key: x.name(key), Old: record.Unread, New: v})
	}
	if s.Table.Ranges && s.Verb != Insert && s.ranged && !s.exact {
		x.check(x.t.PredicateWrite(x.condition(), rows...))
		return
	}
	for _, r := range rows {
		x.check(x.t.Write(r.Key, r.New))
	}
}

// Name is a transaction's for reports: the level that it was begun with.
func Name(sql string) string {
	_, level, ok := strings.Cut(strings.ToLower(sql), "isolation level ")
	if !ok {
		return ""
	}
	return strings.ReplaceAll(strings.TrimSuffix(strings.TrimSpace(level), ";"), " ", "-")
}
