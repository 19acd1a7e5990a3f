package sqlstmt

import (
	"database/sql/driver"
	"errors"
	"slices"
	"strings"

	"isovet/internal/pattern"
	"isovet/internal/sqltext"
	"isovet/level"
	"isovet/record"
)

// Client follows a connection. It is a session of the history and runs one statement at a time.
type Client struct {
	Open int // how many results are open; outside of a transaction they keep an old snapshot for later reads (SQLite)
	l    *Log
	ask  Ask   // nil: the database cannot be asked
	lost error // the transaction failed by a question
	s    *record.Session

	t      *record.Txn // that has begun and not ended; nil: none
	marks  []savepoint
	failed bool // PostgreSQL refuses all of the transaction's further statements
	doubt  bool // whether it refuses them is not known: the driver's last error was not its answer
	blind  bool // a transaction is open that is not recorded
	torn   bool // an error may have ended SQLite's transaction: unless ROLLBACK follows, it is left
	outer  bool // the first savepoint began the transaction
	resets bool // the transaction has changed settings that plans depend on
	alters bool // it has changed the schema
	promised
	touched
	title []string

	my    mysql
	facts *facts
	view  *view // they are of
	seen  int64 // Log.changed of what is remembered
	turn  int   // how often the session's settings have changed
	plans map[string]*Plan
	sides map[*Table]sideEffects // of tables of SQLite; nil: not asked
	rolls bool                   // SQLite's schema says ROLLBACK: an error may end the transaction
}

// promised is what decides about the level that the database promises a transaction, and about its catalogue.
type promised struct {
	level  string      // as the transaction was begun; "": not known
	weak   int64       // Log.weak when it began
	began  int64       // Log.changed then
	writes bool        // it counts there
	early  *record.Txn // begun before its first statement; nil: none
	again  bool        // it may have inserted a row that its snapshot has, or that was written since
}

// touched is what the transaction has read and written.
type touched struct {
	read  map[string]uint32 // the versions that it has read
	own   map[uint32]bool   // the ids by which it has written
	over  []overwritten     // what it has written since its first savepoint
	wrote []string          // the rows of declared tables that it has written
	// unclear are its writes that failed, and may have had an effect.
	unclear []*Plan
}

type savepoint struct {
	name  string
	mark  record.Mark
	over  int // how many of Client.over came before
	wrote int // the same of Client.wrote
}

// overwritten is what Client.read had of a row before the transaction wrote it. own says that it had written that, too.
type overwritten struct {
	key      string
	id       uint32
	had, own bool
}

// NewClient begins a session. ask queries the database on its connection. If it is nil, statements are sent unchanged.
// It returns driver.ErrBadConn if it cannot. Then the session is not recorded, and the next one asks again.
func (l *Log) NewClient(ask Ask) *Client {
	c := &Client{l: l, ask: ask, s: l.Rec.Session()}
	if ask == nil {
		return c
	}
	c.ask = func(sql string, args ...any) (rows [][]string, err error) {
		for range 4 { // it may meet a short time limit
			rows, err = ask(sql, args...)
			is := state(err)
			if c.t != nil && c.l.is && is != "" && is != "25P02" {
				c.failed, c.lost = true, err
			}
			if is != "57014" || c.failed || !strings.Contains(err.Error(), "timeout") {
				break
			}
		}
		return rows, err
	}
	c.identify()
	return c
}

// Planned is Plan. If a question made the program's transaction fail, as a cancel may, its error is the statement's.
func (c *Client) Planned(sql string) (*Plan, error) {
	c.lost = nil
	p := c.Plan(sql)
	return p, c.lost
}

// Controls reports whether a text begins or ends transactions or savepoints, or changes settings.
func (c *Client) Controls(sql string) bool {
	controls := func(s sqltext.Stmt) bool { return s.Kind >= sqltext.Begin }
	return slices.ContainsFunc(c.l.parse(sql, !c.l.is).stmts, controls)
}

// Lost says that statements were run whose transaction control or settings are not recorded.
func (c *Client) Lost() {
	leaves.after(c, nil)
	c.forget()
}

// Refused says that the database refused to prepare a statement.
func (c *Client) Refused(err error) { c.failed = c.failed || c.t != nil && c.l.is && hasState(err) }

// Opens says that a message may take the snapshot of a transaction before the first statement that is recorded of it,
// or, with false, that no such statement has come.
func (c *Client) Opens(yes bool) {
	switch {
	case !yes && c.early != nil:
		_ = c.early.Drop()
		c.early = nil
	case yes && c.early == nil && c.t == nil && !c.blind:
		c.early, c.began, c.weak = c.s.Begin(""), c.l.changed.Load(), c.l.weak.Load()
	}
}

// first begins a transaction, perhaps as early as Opens was called.
func (c *Client) first(name string) *record.Txn {
	c.Opens(true)
	t := c.early
	t.Rename(name)
	c.early = nil
	return t
}

// Within reports whether a transaction is being recorded. If one may be open, this includes one that is not recorded.
func (c *Client) Within(open bool) bool { return c.t != nil || open && c.blind }

// Close ends the session.
func (c *Client) Close() error {
	c.Opens(false)
	return c.s.Close()
}

// postgres reports whether versions are PostgreSQL's own.
func (c *Client) postgres() bool { return c.l.is && c.ask != nil }

// Run is a statement that is being run.
type Run struct {
	c     *Client
	p     *Plan
	args  []Arg
	t     *record.Txn
	alone bool // the statement is a transaction by itself
	note  func(*record.Txn) error
	from  string   // where in the program, as a comment
	fly   []string // tables whose writes are under way
	held  []uint64 // versions that nobody is to read before the transaction's line is there
}

// Start must be called just before a statement is sent. If note is not nil, it records the statement after its
// success, instead of its plan.
func (c *Client) Start(p *Plan, args []Arg, note func(*record.Txn) error) *Run {
	if !c.l.is {
		c.renew(p.SQL)
	}
	if c.torn && p.kind() != sqltext.Rollback {
		leaves.after(c, nil)
	}
	if len(args) == 0 {
		args = p.literals
	}
	r := &Run{c: c, p: p, args: args, t: c.t, note: note}
	if c.l.Callers && p.Concerns() {
		if at := caller(); at != "" {
			r.from = " /* " + at + " */"
		}
	}
	if c.t != nil && p.ends() {
		c.t.Rename(c.name())
		r.promise()
		_ = c.t.Committing() // the recorder keeps what goes wrong, as below
	}
	switch p.kind() {
	case sqltext.Begin:
		if c.my.is { // it ends whatever goes on
			c.end(finish{err: errUnclear}, false)
		}
		if c.t == nil && !c.blind && !c.my.manual && c.Open == 0 {
			c.begin(p.level())
		} else if p.level() != "" && c.l.is { // a second BEGIN may change the level
			c.level = weakest
		}
	case sqltext.Commit, sqltext.Rollback:
	case sqltext.Savepoint:
		if c.l.sqlite && c.t == nil && !c.blind && c.Open == 0 { // in SQLite it begins a transaction
			c.begin("")
			c.outer, r.t = true, c.t
		}
	default:
		fresh := c.Open == 0 || p.writes // on an old snapshot a write fails
		if fresh && c.t == nil && !c.blind && !c.my.manual && (p.Concerns() || note != nil) {
			r.t, r.alone = c.first(abridged(p.SQL, maxName-len(r.from))+r.from), true
		}
	}
	if r.alone {
		c.read, c.own, c.wrote, c.again = emptied(c.read), emptied(c.own), c.wrote[:0], false
	}
	c.settle()
	if p.writes && r.t != nil && (r.isolation() != "serializable" || r.alone && p.twoPhase()) { // COMMIT PREPARED
		c.l.weak.Add(1)
		c.writes = true
	}
	r.fly = p.flights(p.turn != c.turn || p.epoch != c.l.changed.Load())
	for _, t := range r.fly {
		c.l.versions.fly(t, 1)
	}
	return r
}

func (c *Client) begin(isolation string) {
	c.outer, c.again = false, false
	c.t, c.failed, c.doubt, c.marks, c.title = c.first(isolation), false, false, nil, nil
	c.read, c.own, c.over, c.wrote = emptied(c.read), emptied(c.own), c.over[:0], c.wrote[:0]
	c.level = isolation
	if isolation != "" {
		c.title = []string{isolation + ":"}
	}
	c.settle()
}

// shown says that others can see what the transaction has written.
func (c *Client) shown() {
	if c.writes {
		c.l.weak.Add(1)
		c.writes = false
	}
}

// weakest is the level of a transaction whose level is not known.
const weakest = "read-committed"

// isolating matches statements that may change the level of this or later transactions.
var isolating = pattern.Lazy(`(?is)\bset.*isolation`)

// settle remembers the transaction's level, before a statement changes the one of later transactions.
func (c *Client) settle() {
	if c.level == "" && c.facts != nil && !c.resets {
		c.level = c.facts.isolation
	}
}

// name returns a transaction's name for reports: its level, and its statements.
func (c *Client) name() string { return abridged(strings.Join(c.title, " "), maxName) }

func abridged(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > max(most, 0) {
		s = strings.ToValidUTF8(s[:max(most, 0)], "") + "…"
	}
	return s
}

// Dropped says that the statement was not sent after all.
func (r *Run) Dropped() {
	if r.p.kind() == sqltext.Begin || r.p.ends() && r.t != nil { // COMMIT has been announced
		r.End(errUnclear, &Result{})
		return
	}
	if r.alone {
		_ = r.t.Drop()
	}
	r.land()
}

func (r *Run) land() {
	if r.alone {
		r.c.shown()
	}
	if len(r.held) > 0 {
		r.c.l.versions.release(r.held)
		r.held = nil
	}
	for _, t := range r.fly {
		r.c.l.versions.fly(t, -1)
	}
	r.fly = nil
}

// wrote stores a version that the statement has written, and returns its value. If the transaction has a begin, its
// line is written before its commit is sent. Otherwise the line comes only later, and a recording that is interrupted
// in between must not have a read of the version.
func (r *Run) wrote(key string, id any, value valueOf) any {
	if r.alone {
		r.held = append(r.held, r.c.l.versions.hold(key, id))
	}
	return r.c.l.versions.wrote(key, id, value)
}

// End records what a statement did.
func (r *Run) End(err error, res *Result) {
	defer r.land()
	c, p := r.c, r.p
	defer p.implied.after(c, err)
	if c.Open > 0 && err == nil {
		c.blind = c.blind || c.t == nil && (p.kind() == sqltext.Begin || p.kind() == sqltext.Savepoint)
		if r.alone && p.writes { // it commits when the results of writes are closed
			err = errUnclear
		}
	}
	sure := err == nil || Aborted(err) || !c.l.is && errors.Is(err, driver.ErrBadConn) // then nothing was sent
	switch p.kind() {
	case sqltext.Begin:
		if err != nil && c.t != nil && r.t == nil {
			_ = c.t.Abort(nil)
			c.t, c.blind = nil, c.my.is // in an XA branch
		}
		return
	case sqltext.Commit, sqltext.Rollback:
		c.finished(p, err, res.Tag)
		return
	}
	if r.t != nil {
		r.data(err, sure, res)
	} else if p.Concerns() && (err == nil || !sure || p.commits()) {
		c.l.miss(p, "in a transaction whose beginning is not recorded")
	}
	if len(p.stmts) > 1 {
		c.several(p, err)
	}
	if c.l.is && (p.nothing || p.resets) && p.level() == "" && isolating().MatchString(p.SQL) {
		c.level = weakest
	}
	if p.resets {
		c.resets = c.resets || c.t != nil || c.blind
		c.forget()
	}
	if p.alters {
		c.redefined(p.SQL)
		c.alters = true
		c.l.changed.Add(1)
	}
}

// data records a statement that neither begins nor ends a transaction.
func (r *Run) data(err error, sure bool, res *Result) {
	c, p := r.c, r.p
	c.doubt = err != nil && c.l.is && !hasState(err)
	switch {
	case err == nil && r.note != nil:
		_ = r.note(r.t)
	case err == nil && len(p.stmts) == 1 && p.kind() == sqltext.Savepoint:
		c.marks = append(c.marks, savepoint{p.stmts[0].Name, r.t.Mark(), len(c.over), len(c.wrote)})
	case err == nil && len(p.stmts) == 1 && (p.kind() == sqltext.RollbackTo || p.kind() == sqltext.Release):
		c.back(p.kind() == sqltext.RollbackTo, p.stmts[0].Name)
	case sure && !r.alone && p.twoPhase():
		r.promise()
		c.end(finish{errUnclear, err != nil}, false) // it goes on without this connection
		return
	case err == nil:
		c.l.done(r, res)
		if p.kind() == sqltext.Other && len(p.stmts) == 1 && p.level() != "" && c.l.is { // MySQL: of later ones
			c.level = p.level()
		}
	case err != nil && p.kind() == sqltext.Savepoint && c.outer && len(c.marks) == 0:
		c.end(finish{aborted: true}, false)
	case p.writes && (!sure || len(p.stmts) == 0 && c.l.sqlite || p.commits()): // seen, perhaps
		if !r.alone && !p.commits() {
			c.unclear = append(c.unclear, p)
			break
		}
		res.Unclear = true
		c.l.done(r, res)
	}
	if err == nil && !r.alone && p.Concerns() && len(c.title) < 20 {
		c.title = append(c.title, strings.TrimSuffix(strings.TrimSpace(p.SQL), ";")+r.from+";")
	}
	if is := state(err); p.Rewritten() && (strings.HasPrefix(is, "42") || strings.HasPrefix(is, "0A")) {
		c.l.changed.Add(1) // perhaps the schema has changed since the statement was planned
	}
	if err != nil && !r.alone && c.l.sqlite && !hasState(err) && (len(p.stmts) == 0 || p.writes && (!sure ||
		c.rolls || c.alters)) { // a full disk, OR ROLLBACK
		c.torn = true
	} else if err != nil && !r.alone && (sure || c.l.is && hasState(err)) {
		c.failed = c.failed || c.l.is || hasState(err)
		if c.my.rolledBack(err) { // MySQL has ended the transaction, and goes on without one
			_ = r.t.Abort(nil)
			c.t, c.blind = nil, true
		}
	}
	if !r.alone {
		return
	}
	switch {
	case err == nil:
		r.promise()
		c.l.versions.settle(c.wrote)
		_ = r.t.Commit(nil)
	case sure || !p.writes && r.note == nil:
		_ = r.t.Abort(nil)
	default:
		_ = r.t.Unknown()
	}
}

// isolation returns the isolation level of the statement's transaction, "" if it is unknown.
func (r *Run) isolation() string {
	switch {
	case !r.alone:
		return r.c.level
	case r.c.facts != nil:
		return r.c.facts.isolation
	}
	return ""
}

// promise records the level that the database promises at the transaction's isolation level. PostgreSQL keeps
// serializable transactions apart from each other, and from others only as at REPEATABLE READ. A row that another
// transaction deleted may be inserted again there, although the snapshot has it.
func (r *Run) promise() {
	switch is, postgres := r.isolation(), r.c.l.is; {
	case is == "serializable" && (!postgres || r.c.weak == r.c.l.weak.Load()):
		r.t.At(level.Serializable)
	case (is == "serializable" || is == "repeatable-read" && postgres) && !r.c.again:
		r.t.At(level.SnapshotIsolation)
	case is != "" && is != "read-uncommitted" || postgres: // at InnoDB's REPEATABLE READ, writes see what is newest
		r.t.At(level.ReadCommitted)
	}
}

// back handles a rollback to a savepoint, or its release.
func (c *Client) back(undo bool, name string) {
	if undo {
		c.failed = false
	}
	for i := len(c.marks) - 1; i >= 0; i-- {
		if m := c.marks[i]; m.name == name || !c.l.is && strings.EqualFold(m.name, name) {
			c.marks = c.marks[:i]
			if undo {
				c.t.Undo(m.mark)
				for _, o := range slices.Backward(c.over[m.over:]) { // its rows are again what they were
					if c.read[o.key] = o.id; o.own {
						c.l.versions.end(o.key, o.id, false)
					} else if !o.had {
						delete(c.read, o.key)
					}
				}
				c.over, c.wrote = c.over[:m.over], c.wrote[:m.wrote]
				c.marks = append(c.marks, m)
				c.undone()
			} else if i == 0 && c.outer {
				c.end(finish{}, false)
			}
			return
		}
	}
	leaves.after(c, nil) // it has another name there
}

// forget drops the plans that were made under other settings.
func (c *Client) forget() {
	c.turn++
	c.plans, c.facts, c.sides = nil, nil, nil
}

// undone drops the plans when settings or the schema may have changed back, or others see the changes.
func (c *Client) undone() {
	if c.resets {
		c.forget()
	}
	if c.alters {
		c.l.changed.Add(1)
	}
}
