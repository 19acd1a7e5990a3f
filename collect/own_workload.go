package collect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"isovet/collect/driver"
	"isovet/collect/sqlwork"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/plural"
	"isovet/internal/slice"
	"isovet/internal/sqlstmt"
	"isovet/record"
)

// ownClient is a session that runs the user's own workload.
type ownClient struct {
	c   *client // connection, pauses, counts; its log is not used
	own *sqlwork.Workload
	rec *record.Session
	log *sqlstmt.Log
	ops *operationLog // instead of rec and log, for operations
	// process is the number of the client in a history of operations.
	process int
	rng     *rand.Rand
	next    *atomic.Int64 // the last unique number used
	// backslash says that the database takes a backslash for an escape character.
	backslash bool
	sum       txnRec // the open attempt, for the summary
	idle      *fruitless
}

// attempt records an attempt at a transaction or an operation.
type attempt interface {
	Committing() error
	Commit(commit func() error) error
	Abort(rollback func() error) error
	Unknown() error
}

// errNothing says that an operation has found nothing that it could do.
var errNothing = errors.New("the statement found no row")

// fruitless counts the attempts of all sessions since one committed.
type fruitless struct {
	attempts, since atomic.Int64
}

// If so many attempts over so long a time have not committed, the run ends.
const (
	fruitlessAttempts = 1000
	fruitlessTime     = 10 * time.Second
)

// refuse counts an attempt that did not commit. It ends the run if too many in a row did not.
func (o *ownClient) refuse(why string) {
	r := o.c.r
	long := time.Duration(r.now() - o.idle.since.Load())
	if n := o.idle.attempts.Add(1); n >= fruitlessAttempts && long >= fruitlessTime {
		r.fail(fmt.Errorf("workload %s: none of %d attempts committed in %v; the last error: %s", r.what, n,
			long.Round(time.Second), why))
	}
}

// collectOwn runs the user's own workload.
func (t *Target) collectOwn(ctx context.Context, c Config) (_ *Result, err error) {
	if !t.speaks() {
		return nil, fmt.Errorf("%s takes no SQL; expected PostgreSQL, MariaDB, MySQL or SQLite for workload %s",
			t.DB.Info().Name, c.Own.Name)
	}
	if c.Own, err = c.Own.For(t.DB.Info().Dialect, c.Variant); err != nil {
		return nil, err
	}
	r := &run{cfg: c, target: t, info: t.DB.Info(), what: c.Own.Name, note: fmt.Sprintf("seed %d, %s", c.Seed,
		plural.Of(c.Sessions, "session"))}
	if v := c.Own.Variant(c.Variant); v != "" {
		r.what += "/" + v
	}
	r.work = tablesOnly(nil)
	c.tell(Progress{Stage: "loading"})
	noRows := func(func(int64, driver.Row) bool) {}
	if err := t.load(ctx, driver.Data{Rows: noRows, Mark: rand.Int64N(1 << 53)}); err != nil {
		return nil, fmt.Errorf("loading: %w", err)
	}
	if c.Own.Operations {
		return r.collectOperations(ctx)
	}
	o := record.Options{OpTimes: true, Meta: history.Meta{Name: fmt.Sprintf("%s-%d", c.Own.Name, c.Seed),
		DB: r.info.Name, Isolation: r.info.Isolation, Workload: c.Own.Name, Note: r.note}}
	rec := record.New(o)
	if c.Partial != "" {
		if rec, err = record.Create(c.Partial, o); err != nil {
			return nil, err
		}
	}
	if c.Rotate != nil {
		header, err := emptyOf(o.Meta)
		if err == nil {
			rec, err = record.CreateParts(c.Rotate.Dir, o, c.Rotate.rotation(context.WithoutCancel(ctx), header))
		}
		if err != nil {
			return nil, fmt.Errorf("cannot write %s: %w", c.Rotate.Dir, err)
		}
	}
	if err := r.ownSetup(ctx, rec); err != nil {
		return nil, errors.Join(err, rec.Close())
	}
	// No teardown if the set-up failed: an existing table does not belong to the workload.
	defer r.tearDown(ctx, &err)
	if err := r.connect(ctx); err != nil {
		return nil, errors.Join(err, rec.Close())
	}
	log := sqlstmt.Own(rec, r.info.Dialect, r.info.Isolation)
	if err := log.Look(c.Own.Plans(), r.ask); err != nil {
		r.disconnect()
		return nil, errors.Join(fmt.Errorf("workload %s: %w", r.what, err), rec.Close())
	}
	r.driveOwn(ctx, func(o *ownClient) {
		node := ""
		if len(r.info.Nodes) > 1 {
			node = r.info.Nodes[o.c.node].Name
		}
		o.rec, o.log = rec.SessionOn(node), log
	})
	res := &Result{Interrupted: ctx.Err() != nil, Summary: r.summary()}
	for _, m := range log.Stats().Missed {
		res.Summary.Missed = append(res.Summary.Missed, fmt.Sprintf("%s not recorded (%s): %s", plural.Of(m.Count,
			"statement"), m.Why, m.SQL))
	}
	if c.Rotate != nil {
		err := errors.Join(r.err, rec.Close())
		txns, ops, files := rec.Parts().Written()
		res.Parts = Parts{Txns: txns, Ops: ops, Files: files}
		return res, err
	}
	if c.Partial != "" {
		if err := rec.Close(); err != nil {
			return nil, errors.Join(r.err, err)
		}
		res.History, err = format.Read(context.WithoutCancel(ctx), c.Partial, format.Options{})
	} else {
		res.History, err = rec.History()
	}
	return res, errors.Join(r.err, err)
}

// speaks reports whether the database's sessions accept SQL.
func (t *Target) speaks() bool {
	s, err := t.DB.Connect(context.Background(), 0)
	if err != nil {
		return true // the error will occur again and be reported
	}
	defer s.Close()
	_, ok := s.(driver.Speaker)
	return ok
}

// ask queries the database in the first session.
func (r *run) ask(query string, _ ...any) (rows [][]string, err error) {
	a, err := r.clients[0].sess.(driver.Speaker).Say(query)
	return slice.Map(a.Rows, func(row []any) []string {
		return slice.Map(row, func(v any) string { return fmt.Sprint(v) })
	}), err
}

// ownStatements runs statements on a new connection.
func (r *run) ownStatements(ctx context.Context, what string, statements []string) error {
	if len(statements) == 0 {
		return nil
	}
	s, err := r.target.DB.Connect(ctx, 0)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, q := range statements {
		if _, err := s.(driver.Speaker).Say(q); err != nil {
			return fmt.Errorf("workload %s, %s: %s: %w", r.what, what, q, err)
		}
	}
	return nil
}

// ownSetup runs the set-up, and records the rows of the tables.
func (r *run) ownSetup(ctx context.Context, rec *record.Recorder) error {
	if err := r.ownStatements(ctx, "setup", r.cfg.Own.Setup); err != nil {
		return err
	}
	s, err := r.target.DB.Connect(ctx, 0)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, t := range r.cfg.Own.Tables {
		a, err := s.(driver.Speaker).Say(fmt.Sprintf("select %s, %s from %s", t.Key, t.Version, t.Name))
		if err != nil {
			return fmt.Errorf("workload %s: table %s: %w", r.what, t.Name, err)
		}
		for _, row := range a.Rows {
			key, version := t.Row(row[0], row[1])
			if err := rec.Initial(key, version); err != nil {
				return err
			}
			if n, ok := version.(int64); ok && n > r.cfg.ownLast {
				r.cfg.ownLast = n
			}
		}
	}
	return nil
}

func (r *run) tearDown(ctx context.Context, err *error) {
	*err = errors.Join(*err, r.ownStatements(context.WithoutCancel(ctx), "teardown", r.cfg.Own.Teardown))
}

// driveOwn runs all sessions to their end. record sets what records a session.
func (r *run) driveOwn(ctx context.Context, record func(o *ownClient)) []*ownClient {
	next, idle := &atomic.Int64{}, &fruitless{}
	next.Store(r.cfg.ownLast)
	my := r.info.Dialect == "mysql"
	own := make([]*ownClient, len(r.clients))
	for i, c := range r.clients {
		own[i] = &ownClient{c: c, own: r.cfg.Own, next: next, backslash: my, idle: idle,
			rng: rand.New(rand.NewPCG(r.cfg.Seed, uint64(c.id)<<1))}
		record(own[i])
	}
	r.sessions(ctx, func(c *client) { own[c.id].loop() })
	return own
}

func (o *ownClient) loop() {
	c := o.c
	for !c.r.stop.Load() && c.r.take() {
		t, values := o.own.Draw(o.rng)
		rollback := o.rng.Float64() < t.Rollback
		if !c.run(func() ended { return o.attempt(t, values, rollback) }) {
			return
		}
	}
}

func (o *ownClient) attempt(t *sqlwork.Transaction, drawn map[string]any, rollback bool) ended {
	c := o.c
	if !c.reach() {
		return stopped
	}
	values := maps.Clone(drawn)
	var x attempt
	if o.ops != nil {
		x = o.operate(t, values)
	} else {
		x = o.rec.Begin(t.Name)
	}
	o.sum = *c.newTxn(t.Name)
	if err := c.sess.Begin(); err != nil {
		return o.refused(x, err, "begin")
	}
	for _, s := range t.Steps {
		if c.r.cfg.Think > 0 {
			time.Sleep(c.r.cfg.Think)
		}
		if c.r.stop.Load() {
			_ = x.Abort(o.rollback)
			o.count(history.Aborted)
			c.unmade(AtEnd, "", "", false)
			return stopped
		}
		for _, name := range o.own.Uniques(s) {
			if o.ops == nil {
				values[name] = o.next.Add(1)
			}
		}
		err := o.step(x, s, values)
		if rollback = rollback || errors.Is(err, errNothing); errors.Is(err, errNothing) {
			break
		}
		if err != nil {
			return o.refused(x, err, s.SQL)
		}
	}
	if rollback {
		_ = x.Abort(o.rollback)
		o.count(history.Aborted)
		c.unmade(ByClient, "", "", false)
		o.refuse("rolled back by its client, as the workload says")
		return rolledBack
	}
	if err := x.Committing(); err != nil {
		c.r.fail(fmt.Errorf("the recording: %w", err))
		_ = x.Abort(o.rollback)
		return stopped
	}
	err := c.sess.Commit()
	if err == nil {
		_ = x.Commit(nil)
		o.count(history.Committed)
		o.idle.attempts.Store(0)
		o.idle.since.Store(c.r.now())
		return committed
	}
	class := c.r.target.DB.Classify(err)
	if class == driver.Aborted || driver.CommitNotSent(err) && class != driver.Fatal {
		return o.refused(x, err, "commit")
	}
	_ = x.Unknown()
	o.count(history.Unknown)
	return c.unclear(class, err)
}

// count adds the outcome of an attempt to the totals and the summary.
func (o *ownClient) count(s history.Status) {
	r := o.c.r
	switch s {
	case history.Committed:
		r.committed.Add(1)
	case history.Aborted:
		r.aborted.Add(1)
	case history.Unknown:
		r.unknown.Add(1)
	}
	o.sum.end, o.sum.status = r.now(), s
	if r.cfg.Rotate != nil {
		o.c.tally(&o.sum)
		return
	}
	o.c.log.end(o.sum)
}

// step runs a statement and records the effects that its answer shows.
func (o *ownClient) step(x attempt, s *sqlwork.Step, values map[string]any) error {
	got, err := o.c.sess.(driver.Speaker).Say(s.Text(values, o.backslash))
	if op, is := x.(*operation); is && err == nil {
		err = op.answered(s, &got)
	}
	plan, args, one := s.Plan(values)
	switch {
	case plan == nil:
	case err == nil:
		o.log.Tell(x.(*record.Txn), plan, args, &sqlstmt.Result{Columns: got.Columns, Rows: got.Rows,
			Affected: got.Affected, All: true})
	case one && o.c.r.target.DB.Classify(err) == driver.Lost: // it may have taken effect
		o.log.Tell(x.(*record.Txn), plan, args, &sqlstmt.Result{Affected: -1, Unclear: true})
	}
	if err != nil {
		return err
	}
	return s.KeepFrom(values, got.Columns, got.Rows)
}

// rollback rolls back, or closes the connection.
func (o *ownClient) rollback() error {
	if o.c.sess == nil {
		return nil
	}
	err := o.c.sess.Rollback()
	if err != nil {
		o.c.drop()
	}
	return err
}

// refused ends an attempt that had no effect.
func (o *ownClient) refused(x attempt, err error, where string) ended {
	c := o.c
	class, broken := c.r.target.DB.Classify(err), driver.Broken(err)
	if class == driver.Aborted || class == driver.Unclear || broken {
		_ = x.Abort(o.rollback)
	} else {
		c.drop()
		_ = x.Abort(nil)
	}
	o.count(history.Aborted)
	c.unmadeBy(class, err, false)
	if class == driver.Aborted || broken {
		o.refuse(fmt.Sprintf("refused, %s: %v", where, err))
	}
	if broken { // it would fail again
		return rolledBack
	}
	if class == driver.Fatal {
		c.r.fail(fmt.Errorf("workload %s: %s: %w", c.r.what, where, err))
		return stopped
	}
	return again
}
