package collect

import (
	"fmt"
	"slices"
	"strings"

	"isovet/collect/driver"
	"isovet/datasets/workload"
	"isovet/history"
	"isovet/internal/slice"
)

// callRec records the request and the answer of an operation in more detail than a history. It serves to describe a
// violation in the database's statements, and to reproduce it.
type callRec struct {
	op      workload.Op
	version int64 // the version written or read
	found   []driver.Match
	change  driver.Change
	locks   bool   // it reads with locks
	why     string // why the database refused it
	// start and end are the times of a refused operation, which the history lacks.
	start, end int64
	// before lists earlier calls that the history lacks too: savepoints, and operations that a rollback to one undid.
	before []callRec
}

// endRec records the end of a transaction, in addition to txnRec.
type endRec struct {
	why    string    // the database's words, if it refused
	failed *callRec  // the refused operation; nil: none, or begin or commit was refused
	undone []callRec // calls before it, or before the end, that are not in the history
}

// call records a finished operation. o is its entry for the log; seen says that the log has it.
func (c *client) call(op *workload.Op, o *opRec, seen bool, err error) {
	k := callRec{op: *op, start: o.start, end: o.end, locks: o.locks || c.r.locks &&
		(op.Kind == workload.UpdateWhere || op.Kind == workload.DeleteWhere)}
	k.op.Row, k.op.Where, k.op.Set = slices.Clone(op.Row), slices.Clone(op.Where), slices.Clone(op.Set)
	k.op.Found = nil
	switch {
	case op.Where != nil || op.Kind.Conditional():
		k.found, k.change = c.found, c.change
		k.change.Set, k.version = k.op.Set, c.change.Version
	case op.IfAbsent:
		k.version = c.change.Version
	case o.value.Kind == history.Row:
		k.version = c.log.cells[o.value.N]
	case o.value.Kind == history.Int:
		k.version = o.value.N
	}
	if err != nil {
		k.why = err.Error()
		c.failed = &k
	}
	if seen {
		c.failed = nil
		k.before, c.undone = c.undone, nil
		c.log.calls = append(c.log.calls, k)
	}
}

// told calls f with the calls of a transaction in order, including those that the history lacks.
func (t *txnRec) told(l *log, e *endRec, f func(k *callRec)) {
	for i := t.off; i < t.off+t.n; i++ {
		k := &l.calls[i]
		for j := range k.before {
			f(&k.before[j])
		}
		f(k)
	}
	for j := range e.undone {
		f(&e.undone[j])
	}
}

// Event is an action of a session, in the database's words.
type Event struct {
	// Session counts from 0. Txn is the transaction's id in the history.
	Session int
	Txn     int64
	Node    string // that the session is connected to
	// Start and End are in nanoseconds since the run began. End is history.NoTime if no answer came.
	Start, End int64
	// Statements are the statements sent: in SQL, or in words if the database has no SQL.
	Statements []string
	// Got is the answer, in words.
	Got string
	// Locking says that it is a locking read, which does not read from the transaction's snapshot.
	Locking bool
	// Refused says that the database refused it.
	Refused bool
}

// Events returns the events of the transactions with these ids, or of all if ids is nil, in the order of time. It
// returns nil if the run did not record its sessions' calls (Config.KeepCalls).
func (r *Result) Events(ids []int64) []Event { return r.run.events(ids) }

// Events returns the events of all transactions of a schedule.
func (p *Played) Events() []Event { return p.run.events(nil) }

// Info describes the database.
func (t *Target) Info() driver.Info { return t.DB.Info() }

// IsolationName returns the database's first name for the isolation level of c. It returns an error if the database
// has no such level.
func (t *Target) IsolationName(c Config) (string, error) {
	db := c.DB[0]
	if t.cluster != nil {
		db = t.cluster.URLs[0]
	}
	return driver.IsolationName(db, c.Isolation)
}

// Promise returns what the database's documentation promises at the isolation level asked for.
func (t *Target) Promise(c Config) driver.Promise {
	in := t.DB.Info()
	name, err := t.IsolationName(c)
	if err != nil {
		return driver.Promise{}
	}
	if name == "default" {
		name = strings.ReplaceAll(in.Isolation, " ", "-")
	}
	return driver.Promised(in, name)
}

func (r *run) logs() []*log { return slice.Map(r.clients, func(c *client) *log { return &c.log }) }

// each calls f for the transactions of the history, in the order of their ids.
func (r *run) each(f func(id int64, t *txnRec, l *log, e *endRec)) {
	all, of := order(r.logs())
	for i, t := range all {
		l := of[i]
		at := slices.IndexFunc(l.txns, func(x txnRec) bool { return x.off == t.off && x.start == t.start })
		f(int64(i)+1, t, l, &l.ends[at])
	}
}

func (r *run) events(ids []int64) (out []Event) {
	if r == nil || !r.cfg.KeepCalls {
		return nil
	}
	say := r.words()
	r.each(func(id int64, t *txnRec, l *log, e *endRec) {
		if ids != nil && !slices.Contains(ids, id) {
			return
		}
		add := func(start, end int64, refused string, got string, locking bool, q ...string) {
			ev := Event{Session: int(t.session), Txn: id, Node: r.info.Nodes[r.clients[t.session].node].Name,
				Start: start, End: end, Statements: q, Got: got, Locking: locking, Refused: refused != ""}
			if refused != "" {
				ev.Got = "refused: " + refused
			}
			out = append(out, ev)
		}
		// The time of begin's answer is not recorded.
		if begin := say.begin(t.access); begin != "" {
			add(t.start, t.start, "", "", false, begin)
		}
		t.told(l, e, func(k *callRec) { add(k.start, k.end, "", say.got(k), k.locks, say.call(k)...) })
		if k := e.failed; k != nil {
			add(k.start, k.end, k.why, "", k.locks, say.call(k)...)
		}
		switch {
		case t.access == workload.Alone:
			aloneEvent(&out[len(out)-1], t, e)
		case t.status == history.Aborted && (e.failed != nil || e.why == ""):
			add(t.commit, t.end, "", "", false, "rollback")
		case t.status == history.Unknown:
			add(t.commit, t.end, "", "no answer: its effect is unknown", false, "commit")
		default:
			add(t.commit, t.end, e.why, "", false, "commit")
		}
	})
	slices.SortStableFunc(out, func(a, b Event) int {
		switch {
		case a.Start < b.Start:
			return -1
		case a.Start > b.Start:
			return 1
		}
		return 0
	})
	return out
}

// words describes operations in the database's words.
type words struct {
	r  *run
	st *driver.Statements // nil: it speaks no SQL
}

func (r *run) words() words {
	w := words{r: r}
	if s, ok := r.target.DB.(driver.Speller); ok {
		w.st = s.Statements()
	}
	return w
}

func (w words) begin(a workload.Access) string {
	if w.st != nil && w.st.Begin != "" {
		return w.st.BeginAs(a)
	}
	return "begin"
}

// call returns the statements of an operation.
func (w words) call(k *callRec) []string {
	op := &k.op
	t := &w.r.tables[op.Key.Table()]
	key, table, pk := int64(op.Key), op.Key.Table(), op.Key.PK()
	switch op.Kind {
	case workload.Savepoint:
		return []string{driver.SavepointSQL}
	case workload.RollbackTo:
		return []string{driver.RollbackToSQL}
	}
	if w.st == nil {
		return []string{strings.TrimSpace(w.r.verb(op, k.version))}
	}
	switch {
	case t.List && op.Kind == workload.Read:
		return w.st.List(key)
	case t.List:
		return w.st.Append(key, k.version)
	case t.Columns == nil && op.Kind == workload.Read:
		return w.st.Get(key, op.ForUpdate)
	case t.Columns == nil:
		return w.st.Put(key, driver.Row{Version: k.version, Payload: op.Payload, Wide: op.Row,
			Dead: op.Kind == workload.Delete})
	}
	if op.Kind >= workload.ReadWhere {
		return w.st.Where(table, op.Where, k.change, k.found)
	}
	// No error is possible: no server is asked.
	return w.st.Sent(func(c *driver.ColumnsSQL) {
		row := append([]int64{k.version}, op.Row...)
		switch {
		case op.Kind == workload.Read:
			_, _ = c.GetRow(table, pk, op.ForUpdate)
		case op.Kind == workload.Write && op.IfAbsent:
			_, _ = c.InsertRow(table, pk, row)
		case op.Kind == workload.Write:
			_ = c.PutRow(table, pk, row)
		default:
			if _, _ = c.GetRow(table, pk, true); !op.Absent {
				_ = c.DeleteRow(table, pk)
			}
		}
	})
}

// verb describes an operation in words. version is the version that it wrote.
func (r *run) verb(op *workload.Op, version int64) string {
	name := string(op.Key.Append(nil, r.tables))
	t := &r.tables[op.Key.Table()]
	value := fmt.Sprint(op.Payload)
	if op.Row != nil {
		value = fmt.Sprint(op.Row)
	}
	switch op.Kind {
	case workload.Read:
		if op.ForUpdate {
			return "read and lock " + name
		}
		return "read " + name
	case workload.Write:
		if op.IfAbsent {
			return fmt.Sprintf("insert %s, if nothing is in the way: version %d, %s", name, version, value)
		}
		return fmt.Sprintf("write %s: version %d, %s", name, version, value)
	case workload.Delete:
		return fmt.Sprintf("delete %s: version %d", name, version)
	case workload.Append:
		return fmt.Sprintf("append %d to %s", version, name)
	}
	where := string(workload.Condition(t.Columns, op.Where))
	switch op.Kind {
	case workload.ReadWhere:
		return fmt.Sprintf("read the rows of %s where %s", t.Name, where)
	case workload.UpdateWhere:
		return fmt.Sprintf("update the rows of %s where %s: version %d", t.Name, where, version)
	}
	return fmt.Sprintf("delete the rows of %s where %s", t.Name, where)
}

// got describes the answer to an operation in words.
func (w words) got(k *callRec) string {
	t := &w.r.tables[k.op.Key.Table()]
	row := func(pk int64, cells []int64) string {
		var b strings.Builder
		fmt.Fprintf(&b, "(k=%d, u=%d", pk, cells[0])
		for i, c := range t.Columns {
			fmt.Fprintf(&b, ", %s=%d", c.Name, cells[1+i])
		}
		return b.String() + ")"
	}
	switch k.op.Kind {
	case workload.Write:
		if k.op.IfAbsent && k.op.Absent {
			return "not inserted: a row is in the way"
		}
	case workload.Delete:
		if k.op.Absent {
			return "no row"
		}
	case workload.Read:
		switch {
		case t.List:
			return ""
		case k.op.Absent && (t.Columns != nil || k.version == 0):
			return "no row"
		case t.Columns != nil:
			return row(k.op.Key.PK(), append([]int64{k.version}, k.op.Row...))
		case k.op.Absent:
			return fmt.Sprintf("u=%d, deleted", k.version)
		}
		return fmt.Sprintf("u=%d, p=%d", k.version, k.op.Payload)
	case workload.ReadWhere, workload.UpdateWhere, workload.DeleteWhere:
		if len(k.found) == 0 {
			return "no row"
		}
		if k.op.End == workload.Min || k.op.End == workload.Max {
			return fmt.Sprintf("%v=%d", k.op.End, k.found[0].Old[1+k.op.Where[0].Column])
		}
		var rows []string
		for i, m := range k.found {
			if i == 8 {
				rows = append(rows, fmt.Sprintf("and %d more", len(k.found)-i))
				break
			}
			rows = append(rows, row(m.PK, m.Old))
		}
		what := "rows"
		if len(k.found) == 1 {
			what = "row"
		}
		return fmt.Sprintf("%d %s: %s", len(k.found), what, strings.Join(rows, " "))
	}
	return ""
}
