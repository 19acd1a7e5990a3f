package collect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"isovet/collect/driver"
	"isovet/datasets/workload"
	"isovet/history"
	"isovet/internal/slice"
)

// Script is a schedule as a file: the steps of a few sessions in order, and tables with their initial rows. It has no
// SQL, so any database that isovet knows can play it.
type Script struct {
	Format  string `json:"format"` // "isovet-schedule"
	Version int    `json:"version"`
	// Note describes its origin.
	Note string `json:"note,omitempty"`
	// Isolation is the isolation level to ask the database for. Level is the level that it violated there.
	Isolation  string   `json:"isolation,omitempty"`
	Level      string   `json:"level"`
	SetupSQL   []string `json:"setup_sql,omitempty"`
	SessionSQL []string `json:"session_sql,omitempty"`
	// Nodes has the number of each session's node in a cluster, from 0. If it is absent, sessions are spread.
	Nodes  []int         `json:"nodes,omitempty"`
	Tables []ScriptTable `json:"tables"`
	Steps  []ScriptStep  `json:"steps"`
}

// ScriptTable is a table of a Script. Without columns its rows are a key and a number.
type ScriptTable struct {
	Name    string         `json:"name,omitempty"`
	List    bool           `json:"list,omitempty"`
	Columns []ScriptColumn `json:"columns,omitempty"`
	// Rows are its initial rows: the key, then the columns, or the number.
	Rows [][]int64 `json:"rows,omitempty"`
	// Wide says that a row is a key and a list of numbers.
	Wide bool `json:"wide,omitempty"`
	// Plan is how rows are found by a condition (workload.Plan). If it is absent, the database chooses.
	Plan string `json:"plan,omitempty"`
	// Direct says that update and erase find their rows themselves, in one statement.
	Direct bool `json:"direct,omitempty"`
	// Foreign are foreign keys: the number of a column, and the number of the earlier table to whose keys it refers.
	Foreign [][2]int `json:"foreign_keys,omitempty"`
}

// ScriptColumn is a column, with an index if there are conditions on it.
type ScriptColumn struct {
	Name  string `json:"name"`
	Index bool   `json:"index,omitempty"`
	// Unique says that the index is unique.
	Unique bool `json:"unique,omitempty"`
}

// ScriptStep is an action of a session. Do is one of begin, commit, rollback, read, lock (a read that takes the row's
// write lock), write, insert (unless a row is in the way), delete, append, select, select-for-update,
// select-for-share, select-first, select-last, select-min, select-max (of the condition's first column), update, erase,
// savepoint and rollback-to. Those from select to erase have a condition.
type ScriptStep struct {
	Session int           `json:"session"` // from 1
	Do      string        `json:"do"`
	Table   int           `json:"table,omitempty"`
	Key     int64         `json:"key,omitempty"`
	Payload int64         `json:"payload,omitempty"`
	Row     []int64       `json:"row,omitempty"`
	Where   []ScriptRange `json:"where,omitempty"`
	Set     []ScriptSet   `json:"set,omitempty"`
}

// ScriptRange is a condition, Min ≤ column < Max. Either bound may be missing.
type ScriptRange struct {
	Column int    `json:"column"`
	Min    *int64 `json:"min,omitempty"`
	Max    *int64 `json:"max,omitempty"`
}

// ScriptSet is workload.Set.
type ScriptSet struct {
	Column int   `json:"column"`
	Keep   bool  `json:"keep,omitempty"`
	Add    int64 `json:"add,omitempty"`
	Mul    int64 `json:"mul,omitempty"`
	Mod    int64 `json:"mod,omitempty"`
}

const scriptFormat = "isovet-schedule"

// doing maps kinds of operations to their names; a locking read is "lock".
var doing = map[workload.OpKind]string{workload.Read: "read", workload.Write: "write", workload.Delete: "delete",
	workload.Append: "append", workload.ReadWhere: "select", workload.UpdateWhere: "update",
	workload.DeleteWhere: "erase", workload.Savepoint: "savepoint", workload.RollbackTo: "rollback-to"}

// Write writes the script, one step on each line.
func (s *Script) Write(w io.Writer) error {
	type short Script
	x := short(*s)
	x.Format, x.Version = scriptFormat, 1
	steps, tables := x.Steps, x.Tables
	x.Steps, x.Tables = nil, nil
	head, err := json.MarshalIndent(&x, "", " ")
	if err != nil {
		return err
	}
	text, _, _ := strings.Cut(string(head), ` "tables"`)
	ts, err := jsonLines(tables)
	ss, err2 := jsonLines(steps)
	if err = cmp.Or(err, err2); err == nil {
		_, err = io.WriteString(w, text+` "tables": [`+ts+"\n ],\n"+` "steps": [`+ss+"\n ]\n}\n")
	}
	return err
}

// jsonLines returns the values in JSON, each on a line of its own.
func jsonLines[T any](values []T) (string, error) {
	lines, err := slice.Try(values, func(v T) (string, error) {
		b, err := json.Marshal(v)
		return "\n  " + string(b), err
	})
	return strings.Join(lines, ","), err
}

// IsScript reports whether a file with this beginning is a script.
func IsScript(start []byte) bool { return bytes.Contains(start, []byte(`"`+scriptFormat+`"`)) }

// ReadScript reads a script. Its errors name the place and what was expected.
func ReadScript(r io.Reader) (*Script, *Schedule, error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	var s Script
	if err := d.Decode(&s); err != nil {
		return nil, nil, fmt.Errorf("not a schedule as JSON: %w", err)
	}
	if s.Format != scriptFormat || s.Version != 1 {
		return nil, nil, fmt.Errorf("format %q, version %d; expected %q, version 1", s.Format, s.Version, scriptFormat)
	}
	x, err := s.Schedule()
	return &s, x, err
}

// mostSessions bounds the sessions of a script.
const mostSessions = 200

// Schedule returns the script as a schedule, which can be played.
func (s *Script) Schedule() (*Schedule, error) {
	x := &Schedule{loaded: map[workload.Key][]int64{}, nodes: s.Nodes}
	if len(s.Tables) == 0 || len(s.Tables) > driver.MaxTables || len(s.Steps) == 0 || len(s.Steps) > maxReplayed {
		return nil, fmt.Errorf("%d tables, %d steps; expected 1 to %d tables and 1 to %d steps", len(s.Tables),
			len(s.Steps), driver.MaxTables, maxReplayed)
	}
	for i, t := range s.Tables {
		w, err := s.table(i)
		if err != nil {
			return nil, fmt.Errorf("tables[%d]: %w", i, err)
		}
		for j, row := range t.Rows {
			if len(row) < 1 || !goodKey(row[0]) || !t.Wide && len(row) != 1+max(1, len(t.Columns)) {
				return nil, fmt.Errorf("tables[%d].rows[%d]: %v; expected a key from 0 and %d numbers", i, j, row,
					max(1, len(t.Columns)))
			}
			x.loaded[workload.MakeKey(i, row[0])] = row[1:]
		}
		x.tables = append(x.tables, w)
	}
	open := map[int]bool{}
	for i, st := range s.Steps {
		step, err := s.step(&st)
		if err == nil && (step.Kind == Begin) == open[step.Session] {
			err = fmt.Errorf("the session's transaction begins twice, has not begun, or is over")
		}
		if err != nil {
			return nil, fmt.Errorf("steps[%d]: %w", i, err)
		}
		open[step.Session] = step.Kind == Begin || step.Kind == Do
		x.Sessions = max(x.Sessions, st.Session)
		x.Predicates = x.Predicates || len(step.Op.Where) > 0
		x.Steps = append(x.Steps, step)
	}
	for n := range x.Sessions {
		if open[n] {
			return nil, fmt.Errorf("the last transaction of session %d has no end", n+1)
		}
	}
	if n := len(s.Nodes); n > 0 && (n != x.Sessions || slices.Min(s.Nodes) < 0) {
		return nil, fmt.Errorf("nodes %v; expected %d numbers from 0, one for each session", s.Nodes, x.Sessions)
	}
	return x, nil
}

func (s *Script) table(i int) (w workload.Table, err error) {
	t := &s.Tables[i]
	w = workload.Table{Name: t.Name, List: t.List, Direct: t.Direct}
	if t.List && (len(t.Columns) > 0 || len(t.Rows) > 0) {
		return w, errors.New("a table of lists has no columns, and no rows at first")
	}
	if w.Plan, err = workload.ParsePlan(t.Plan); err != nil {
		return w, err
	}
	for j, c := range t.Columns {
		if c.Name == "" || c.Name == "u" || strings.ContainsFunc(c.Name, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
		}) {
			return w, fmt.Errorf("column %q; expected small letters, digits and _, and not \"u\"", c.Name)
		}
		w.Columns = append(w.Columns, workload.Column{Name: c.Name, Index: c.Index})
		if c.Unique && !c.Index {
			return w, fmt.Errorf("column %q is unique without an index; expected one", c.Name)
		}
		if c.Unique {
			w.Unique = append(w.Unique, j)
		}
	}
	for _, f := range t.Foreign {
		if f[0] < 0 || f[0] >= len(t.Columns) || f[1] < 0 || f[1] >= i {
			return w, fmt.Errorf("foreign key %v; expected one of %d columns, and a table before it", f, len(t.Columns))
		}
		w.Foreign = append(w.Foreign, workload.ForeignKey{Column: f[0], Table: f[1]})
	}
	if t.Wide {
		w.WideOf = func(int64) []int64 { return nil }
	}
	return w, nil
}

func goodKey(k int64) bool { return k >= 0 && k < 1<<40 }

func (s *Script) step(st *ScriptStep) (Step, error) {
	x := Step{Session: st.Session - 1}
	if st.Session < 1 || st.Session > mostSessions {
		return x, fmt.Errorf("session %d; expected 1 to %d", st.Session, mostSessions)
	}
	switch st.Do {
	case "begin", "commit", "rollback":
		x.Kind = map[string]StepKind{"begin": Begin, "commit": Commit, "rollback": Rollback}[st.Do]
		x.Text = map[StepKind]string{Begin: "b", Commit: "c", Rollback: "a"}[x.Kind] + fmt.Sprint(st.Session)
		return x, nil
	case doing[workload.Savepoint], doing[workload.RollbackTo]:
		x.Kind, x.Text, x.Op.Kind = Do, fmt.Sprintf("%s%d", st.Do, st.Session), workload.Savepoint
		if st.Do == doing[workload.RollbackTo] {
			x.Op.Kind = workload.RollbackTo
		}
		return x, nil
	}
	x.Kind = Do
	if st.Table < 0 || st.Table >= len(s.Tables) || !goodKey(st.Key) {
		return x, fmt.Errorf("table %d, key %d; expected one of %d tables and a key from 0", st.Table, st.Key,
			len(s.Tables))
	}
	t := &s.Tables[st.Table]
	op := workload.Op{Key: workload.MakeKey(st.Table, st.Key), Payload: st.Payload, Row: st.Row,
		ForUpdate: st.Do == "lock"}
	known := st.Do == "lock"
	if how, ok := strings.CutPrefix(st.Do, doing[workload.ReadWhere]+"-"); ok {
		op.Kind, op.ForUpdate, op.ForShare = workload.ReadWhere, how == "for-update", how == "for-share"
		op.End = workload.End(max(0, slices.Index(workload.Ends[:], how)))
		known = op.ForUpdate || op.ForShare || op.End != workload.Whole
	}
	for kind, name := range doing {
		if name == st.Do {
			op.Kind, known = kind, true
		}
	}
	if st.Do == "insert" {
		op.Kind, op.IfAbsent, known = workload.Write, true, len(t.Columns) > 0
	}
	where := op.Kind.Conditional()
	switch {
	case !known:
		return x, fmt.Errorf("%q; expected begin, commit, rollback, lock, insert (into a table with columns), "+
			"select-for-update, select-for-share, select-first, -last, -min, -max, %s", st.Do,
			strings.Join(slices.Sorted(maps.Values(doing)), ", "))
	case t.List && st.Do != "read" && st.Do != "append", !t.List && st.Do == "append", where && len(t.Columns) == 0,
		!where && len(st.Where) > 0, (op.Kind == workload.UpdateWhere) != (len(st.Set) > 0):
		return x, fmt.Errorf("%s is impossible on this table, or its condition or change is missing or not allowed",
			st.Do)
	case op.Kind == workload.Write && len(t.Columns) > 0 && len(st.Row) != len(t.Columns):
		return x, fmt.Errorf("row %v; expected %d numbers", st.Row, len(t.Columns))
	}
	if err := st.condition(&op, len(t.Columns)); err != nil {
		return x, err
	}
	x.Op = op
	x.Text = fmt.Sprintf("%s%d(%s)", st.Do, st.Session, t.rowName(st.Key, where))
	return x, nil
}

// condition copies a step's condition and changes to an operation. columns is the table's number of columns.
func (st *ScriptStep) condition(op *workload.Op, columns int) error {
	for _, r := range st.Where {
		if r.Column < 0 || r.Column >= columns {
			return fmt.Errorf("column %d; expected one of %d", r.Column, columns)
		}
		y := workload.Range{Column: r.Column, Min: math.MinInt64, Max: math.MaxInt64}
		if r.Min != nil {
			y.Min = *r.Min
		}
		if r.Max != nil {
			y.Max = *r.Max
		}
		op.Where = append(op.Where, y)
	}
	if op.Kind.Conditional() && op.Where == nil {
		op.Where = []workload.Range{{Min: math.MinInt64, Max: math.MaxInt64}}
	}
	for _, c := range st.Set {
		if c.Column < 0 || c.Column >= columns {
			return fmt.Errorf("column %d; expected one of %d", c.Column, columns)
		}
		op.Set = append(op.Set, workload.Set(c))
	}
	return nil
}

func (t *ScriptTable) rowName(key int64, all bool) string {
	switch {
	case all:
		return t.Name
	case t.Name == "":
		return fmt.Sprint(key)
	}
	return fmt.Sprintf("%s/%d", t.Name, key)
}

func scriptOp(session int, op *workload.Op) ScriptStep {
	st := ScriptStep{Session: session, Do: doing[op.Kind], Table: op.Key.Table(), Key: op.Key.PK()}
	switch op.Kind {
	case workload.Read:
		if op.ForUpdate {
			st.Do = "lock"
		}
	case workload.ReadWhere:
		switch {
		case op.ForUpdate:
			st.Do += "-for-update"
		case op.ForShare:
			st.Do += "-for-share"
		case op.End != workload.Whole:
			st.Do += "-" + op.End.String()
		}
	case workload.Write:
		if st.Payload, st.Row = op.Payload, op.Row; op.IfAbsent {
			st.Do = "insert"
		}
	}
	for _, r := range op.Where {
		x := ScriptRange{Column: r.Column}
		if r.Min != math.MinInt64 {
			x.Min = &r.Min
		}
		if r.Max != math.MaxInt64 {
			x.Max = &r.Max
		}
		st.Where = append(st.Where, x)
	}
	for _, c := range op.Set {
		st.Set = append(st.Set, ScriptSet(c))
	}
	return st
}

// scriptTables returns the script's form of tables, without rows.
func scriptTables(tables []workload.Table) (out []ScriptTable) {
	for _, t := range slice.Refs(tables) {
		x := ScriptTable{Name: t.Name, List: t.List, Wide: t.WideOf != nil, Direct: t.Direct}
		if t.Plan != workload.AnyPlan {
			x.Plan = t.Plan.String()
		}
		for j, c := range t.Columns {
			x.Columns = append(x.Columns, ScriptColumn{c.Name, c.Index, slices.Contains(t.Unique, j)})
		}
		for _, f := range t.Foreign {
			x.Foreign = append(x.Foreign, [2]int{f.Column, f.Table})
		}
		out = append(out, x)
	}
	return out
}

// ScriptOf makes a script from a schedule of ParseSchedule.
func ScriptOf(s *Schedule, isolation, level string) *Script {
	tables := s.ownTables()
	out := &Script{Isolation: isolation, Level: level, Tables: scriptTables(tables)}
	for i := range tables {
		if tables[i].List {
			continue
		}
		for pk := range int64(tables[i].Rows) {
			out.Tables[i].Rows = append(out.Tables[i].Rows, append([]int64{pk}, loadedCells(&tables[i], pk)...))
		}
	}
	for _, st := range s.Steps {
		if st.Kind == Do {
			out.Steps = append(out.Steps, scriptOp(st.Session+1, &st.Op))
		} else {
			out.Steps = append(out.Steps, ScriptStep{Session: st.Session + 1,
				Do: [...]string{Begin: "begin", Commit: "commit", Rollback: "rollback"}[st.Kind]})
		}
	}
	return out
}

// loadedCells returns the content of a loaded row of a workload, without the version.
func loadedCells(t *workload.Table, pk int64) []int64 {
	switch {
	case t.Columns != nil:
		return loadedRow(t, pk)[1:]
	case t.WideOf != nil:
		return t.WideOf(pk)
	case t.PayloadOf != nil:
		return []int64{t.PayloadOf(pk)}
	}
	return []int64{t.Payload}
}

// scriptOrder is how the steps of a script from a recording are ordered.
type scriptOrder uint8

const (
	byStart  scriptOrder = iota // by the sending of operations
	byEnd                       // by their answers
	byEffect                    // commits by their answers, others by their sending
)

// txnScript is a transaction of a recording as steps, each with its time.
type txnScript struct {
	id      int64
	session int32
	steps   []ScriptStep
	at      [3][]int64 // by scriptOrder
	start   int64
	end     int64
	calls   []callRec // calls that took effect
}

// scripted makes the steps of a transaction.
func scripted(id int64, t *txnRec, l *log, e *endRec) txnScript {
	x := txnScript{id: id, session: t.session, start: t.start, end: t.ended()}
	if t.status != history.Aborted {
		x.calls = l.calls[t.off : t.off+t.n]
	}
	add := func(st ScriptStep, start, end int64) {
		if end == history.NoTime {
			end = max(start, x.end)
		}
		x.steps = append(x.steps, st)
		x.at[byStart], x.at[byEnd] = append(x.at[byStart], start), append(x.at[byEnd], end)
		if st.Do == "commit" {
			start = end
		}
		x.at[byEffect] = append(x.at[byEffect], start)
	}
	// Begin when begin was sent, or just before the first operation, when the database takes its snapshot.
	add(ScriptStep{Do: "begin"}, t.start, t.start)
	t.told(l, e, func(k *callRec) { add(scriptOp(0, &k.op), k.start, k.end) })
	if k := e.failed; k != nil {
		add(scriptOp(0, &k.op), k.start, k.end)
	}
	last := ScriptStep{Do: "commit"}
	if t.status == history.Aborted && (e.failed != nil || e.why == "") {
		last.Do = "rollback"
	}
	start := t.commit
	if start == history.NoTime {
		start = x.end
	}
	add(last, start, t.end)
	return x
}
