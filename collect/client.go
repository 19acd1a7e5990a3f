package collect

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"isovet/collect/driver"
	"isovet/datasets/workload"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/record"
)

// client is a session. It draws transactions and runs them one after the other.
type client struct {
	r    *run
	id   int32
	node int
	sess driver.Session // nil: connection lost
	log  log
	rng  *rand.Rand // for pauses; the workload has its own
	work workload.Client
	txn  workload.Txn
	next int64 // unique value of the next write; sessions count in steps of their number
	// intent is the id that the transaction being committed has in the partial recording, or 0.
	intent int64
	open   *record.Open // the same for a recording in parts
	// The next fields are for Config.KeepCalls: the rows that the last operation with a condition found and changed.
	found  []driver.Match
	change driver.Change
	failed *callRec  // the refused operation of the open transaction
	saved  int       // length of log.ops at the savepoint
	undone []callRec // with Config.KeepCalls: calls since the log's last one that the log does not have
	why    string    // why the open transaction was refused
	alone  bool      // the current operation is a transaction by itself
	// unmades has the reasons of attempts that did not commit.
	unmades map[abortKey]*Abort
	// The next fields are for a run in parts: counts of transactions that the log has dropped, and logs for live.
	tallies map[string]*tally
	mu      sync.Mutex // guards older, and published if older has some
	older   []log
	watched
	// since is for live: none of the session's unpublished transactions begins before it.
	since     atomic.Int64
	published atomic.Pointer[log]
}

func (c *client) seed() {
	c.rng = rand.New(rand.NewPCG(c.r.cfg.Seed, uint64(c.id)<<1|1))
	c.work = c.r.work.Client(int(c.id), rand.New(rand.NewPCG(c.r.cfg.Seed, uint64(c.id)<<1)))
	c.next = initial + 1 + int64(c.id)
}

// value returns a unique id for a write.
func (c *client) value() int64 {
	v := c.next
	c.next += int64(c.r.cfg.Sessions)
	return v
}

func (c *client) drop() {
	if c.sess != nil {
		c.enter(closing)
		c.sess.Close()
		c.leave()
		c.sess = nil
	}
}

// ended is how an attempt at a transaction ended.
type ended uint8

const (
	committed  ended = iota
	again            // refused: try it again
	rolledBack       // by the client
	unclear          // nobody knows
	stopped          // the run is over
)

// loop runs transactions until enough have committed or the run is stopped.
func (c *client) loop() {
	defer c.since.Store(never)
	for !c.r.stop.Load() && c.r.take() {
		if err := c.draw(); err != nil {
			c.r.fail(err)
			return
		}
		if !c.run(c.attempt) {
			return
		}
	}
}

// run repeats attempts at a transaction until it is over. It returns false if the run is over.
func (c *client) run(attempt func() ended) bool {
	for tries := 0; !c.r.stop.Load(); tries++ {
		switch attempt() {
		case again:
			// The pause grows with each failure, so that among colliding sessions one gets through.
			time.Sleep(time.Duration(c.rng.Int64N(int64(100 * time.Microsecond << min(tries+1, 8)))))
			continue
		case rolledBack, unclear:
			c.r.tickets.Add(1)
		case stopped:
			return false
		}
		return true
	}
	return false
}

// take takes a ticket for a transaction, or returns false if none is left. It need not wait for a ticket that a
// session returned, since that session takes it again.
func (r *run) take() bool {
	for {
		n := r.tickets.Load()
		if n <= 0 {
			return false
		}
		if r.tickets.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// draw draws a transaction that the session's node can run. A replica runs none that begins with a write.
func (c *client) draw() error {
	const most = 1000
	for range most {
		c.work.Next(&c.txn)
		if !c.r.info.Nodes[c.node].ReadOnly {
			return nil
		}
		c.txn.Reset()
		if c.work.Step(&c.txn); !writes(c.txn.Ops) {
			return nil
		}
	}
	return fmt.Errorf("node %s is a replica, but workload %s has no read-only transactions; leave this node out",
		c.r.info.Nodes[c.node].Name, c.r.what)
}

func writes(ops []workload.Op) bool {
	return slices.ContainsFunc(ops, func(op workload.Op) bool {
		return op.Kind != workload.Read && op.Kind != workload.ReadWhere || op.ForUpdate || op.ForShare
	})
}

// reach connects again if the connection is lost. It waits until the database is back.
func (c *client) reach() bool {
	if c.sess != nil {
		return true
	}
	deadline := time.Now().Add(c.r.cfg.Patience)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		var err error
		c.since.Store(c.r.now())
		if c.sess, err = c.r.target.DB.Connect(context.Background(), c.node); err == nil {
			return true
		}
		c.sess = nil
		if c.r.stop.Load() {
			return false
		}
		if time.Now().After(deadline) {
			c.r.fail(fmt.Errorf("node %s has been gone for %v: %w", c.r.info.Nodes[c.node].Name, c.r.cfg.Patience, err))
			return false
		}
		time.Sleep(pause)
	}
}

func (c *client) attempt() ended {
	if !c.reach() {
		return stopped
	}
	t := &c.txn
	t.Reset()
	x := c.newTxn(t.Name)
	x.access = t.Access
	if alone, err := c.canBeAlone(t); err != nil {
		return c.refused(x, err, "begin")
	} else if alone {
		return c.attemptAlone(x)
	}
	if x.access == workload.Alone { // begin it like others
		x.access, t.Access = workload.ReadWrite, workload.ReadWrite
	}
	if err := c.begin(t.Access); err != nil {
		return c.refused(x, err, "begin")
	}
	for {
		n := len(t.Ops)
		c.work.Step(t)
		if len(t.Ops) == n {
			break
		}
		t.Stage++
		for i := n; i < len(t.Ops); i++ {
			if c.r.stop.Load() {
				c.giveUp(x)
				return stopped
			}
			if c.r.cfg.Think > 0 {
				time.Sleep(c.r.cfg.Think)
			}
			if err := c.do(&t.Ops[i]); err != nil {
				return c.refused(x, err, "an operation")
			}
		}
	}
	x.commit = c.r.now()
	if t.Rollback {
		c.rollback()
		x.end, x.status = c.r.now(), history.Aborted
		c.write(*x)
		c.r.aborted.Add(1)
		c.unmade(ByClient, "", "", false)
		return rolledBack
	}
	if p := c.r.partial; p != nil {
		var err error
		if c.intent, c.open, err = p.intend(&c.log, x); err != nil {
			c.r.fail(fmt.Errorf("cannot write the recording: %w", err))
			c.giveUp(x)
			return stopped
		}
	}
	err := c.commit()
	x.end = c.r.now()
	if err == nil {
		c.write(*x)
		c.r.committed.Add(1)
		return committed
	}
	return c.uncommitted(x, err)
}

func (c *client) newTxn(name string) *txnRec {
	c.x = txnRec{start: c.r.now(), commit: history.NoTime, end: history.NoTime, name: name, session: c.id,
		node: int32(c.node), startTS: history.NoTime, commitTS: history.NoTime}
	c.since.Store(c.x.start)
	c.failed, c.why, c.under, c.saved, c.undone = nil, "", true, len(c.log.ops), nil
	return &c.x
}

// uncommitted ends an attempt whose commit failed.
func (c *client) uncommitted(x *txnRec, err error) ended {
	class := c.r.target.DB.Classify(err)
	if class == driver.Aborted || driver.CommitNotSent(err) && class != driver.Fatal {
		return c.refused(x, err, "commit")
	}
	// After an error behind the sending of the commit nobody knows whether it took effect.
	x.status, x.end = history.Unknown, history.NoTime
	c.write(*x)
	c.r.unknown.Add(1)
	return c.unclear(class, err)
}

// unclear ends an attempt of which nobody knows whether it took effect.
func (c *client) unclear(class driver.Class, err error) ended {
	c.unmadeBy(class, err, true)
	c.drop()
	if class == driver.Fatal {
		c.r.fail(fmt.Errorf("commit: %w", err))
		return stopped
	}
	return unclear
}

// refused ends an attempt that had no effect.
func (c *client) refused(x *txnRec, err error, where string) ended {
	c.why = err.Error()
	class := c.r.class(err)
	c.unmadeBy(class, err, false)
	if x.commit == history.NoTime {
		x.commit = c.r.now()
	}
	if class == driver.Aborted || class == driver.Unclear {
		c.rollback()
	} else {
		c.drop()
	}
	x.end, x.status = c.r.now(), history.Aborted
	c.writeIfAny(*x)
	c.r.aborted.Add(1)
	if class == driver.Fatal {
		c.r.fail(fmt.Errorf("%s: %w", where, err))
		return stopped
	}
	return again
}

// giveUp rolls back because the run is over.
func (c *client) giveUp(x *txnRec) {
	x.commit = c.r.now()
	c.rollback()
	x.end, x.status = c.r.now(), history.Aborted
	c.writeIfAny(*x)
	c.r.aborted.Add(1)
	c.unmade(AtEnd, "", "", false)
}

// write adds a transaction to the log.
func (c *client) write(x txnRec) {
	c.under = false
	if c.r.cfg.NoRecord {
		return
	}
	c.log.end(x)
	if c.r.cfg.KeepCalls {
		c.log.ends = append(c.log.ends, endRec{c.why, c.failed, c.undone})
	}
	if p := c.r.partial; p != nil {
		if err := p.ended(&c.log, &x, c.intent, c.open); err != nil {
			c.r.fail(fmt.Errorf("cannot write the recording: %w", err))
		}
		c.intent, c.open = 0, nil
	}
	c.publish()
	if c.r.cfg.Rotate != nil {
		c.keep(&x)
		return
	}
	if c.r.target.Options.Timestamps {
		s := driver.Stamp{Start: history.NoTime, Commit: history.NoTime}
		if st, ok := c.sess.(driver.Stamper); ok {
			s = st.Stamp()
		}
		c.log.stamp = append(c.log.stamp, s)
	}
}

// writeIfAny logs a transaction unless it is empty.
func (c *client) writeIfAny(x txnRec) {
	if c.log.pending() > 0 {
		c.write(x)
	}
}

// do runs an operation, logs it, and gives the result to the workload.
func (c *client) do(op *workload.Op) error {
	o := &c.o
	*o = opRec{key: history.IntValue(int64(op.Key)), kind: history.Read, start: c.r.now(),
		locks: op.ForUpdate && (op.Kind == workload.Read || op.Kind == workload.ReadWhere) && c.r.locks ||
			op.ForShare && op.Kind == workload.ReadWhere && c.r.shares}
	c.doing = op
	if op.Kind == workload.Savepoint || op.Kind == workload.RollbackTo {
		return c.saving(op, o)
	}
	err := c.send(op, o)
	lost := err != nil && (c.alone || c.r.target.DB.Classify(err) == driver.Lost)
	c.note(op, o, err, lost)
	return err
}

// send runs an operation on the database. Before the call it stores in o what is known already, for the case that the
// call never returns. It changes shared data only after leave, which shows that the watchdog has not taken over the
// session.
func (c *client) send(op *workload.Op, o *opRec) error {
	t := &c.r.tables[op.Key.Table()]
	switch {
	case t.List:
		return c.doList(op, o)
	case t.Columns != nil:
		return c.doColumns(op, o, t)
	}
	return c.doPlain(op, o, t)
}

// note logs an operation. It also logs a write whose answer was lost, since others may have seen it.
func (c *client) note(op *workload.Op, o *opRec, err error, lost bool) {
	o.end = c.r.now()
	if c.r.cfg.NoRecord {
		return
	}
	seen := err == nil || (o.kind == history.Write || o.kind == history.Append) && lost
	if seen {
		c.log.add(*o)
	}
	if c.r.cfg.KeepCalls {
		c.call(op, o, seen, err)
	}
}

func (c *client) doColumns(op *workload.Op, o *opRec, t *workload.Table) error {
	s, ok := c.sess.(driver.Columnar)
	if !ok {
		return fmt.Errorf("%w: %s has no conditions on columns", driver.ErrUnsupported, c.r.info.Name)
	}
	table, pk := op.Key.Table(), op.Key.PK()
	var change driver.Change
	switch op.Kind {
	case workload.Read:
		c.enter(operating)
		row, err := s.GetRow(table, pk, op.ForUpdate)
		c.leave()
		if err != nil {
			return err
		}
		if op.Absent = row == nil; !op.Absent {
			op.Row = row[1:]
		}
		o.value = c.log.row(row)
		return nil
	case workload.Write:
		return c.writeRow(s, op, o)
	case workload.Delete:
		// A delete that finds no row has written nothing, whatever others write there meanwhile.
		c.enter(operating)
		row, err := s.GetRow(table, pk, true)
		c.leave()
		if op.Absent = row == nil; err != nil || op.Absent {
			o.locks = c.r.locks
			return err
		}
		o.kind = history.Write
		c.enter(operating)
		defer c.leave()
		return s.DeleteRow(table, pk)
	case workload.ReadWhere:
		o.kind, change = history.PredRead, driver.Change{Lock: op.ForUpdate, Share: op.ForShare, End: op.End}
	case workload.UpdateWhere:
		o.kind, change = history.PredWrite, driver.Change{Set: op.Set, Version: c.value()}
	case workload.DeleteWhere:
		o.kind, change = history.PredWrite, driver.Change{Delete: true}
	default:
		return c.errNoSuch(op)
	}
	c.found, c.change = nil, change
	c.enter(operating)
	found, err := s.Where(table, op.Where, change)
	c.leave()
	c.found = found
	if err != nil {
		return err
	}
	op.Found = slice.Map(found, func(m driver.Match) workload.Found {
		return workload.Found{Key: workload.MakeKey(table, m.PK), Row: m.Old[1:]}
	})
	var rec predRec
	rec.pred, found = c.r.says(op, found)
	rec.rows = slice.Map(found, func(m driver.Match) predRow {
		key := history.IntValue(int64(workload.MakeKey(table, m.PK)))
		return predRow{key: key, old: c.log.row(m.Old), new: c.log.row(m.New)}
	})
	o.ext = int32(len(c.log.preds))
	c.log.preds = append(c.log.preds, rec)
	return nil
}

// writeRow overwrites a row of a table with columns, or inserts it if there is none.
func (c *client) writeRow(s driver.Columnar, op *workload.Op, o *opRec) error {
	table, pk := op.Key.Table(), op.Key.PK()
	row := append([]int64{c.value()}, op.Row...)
	o.kind, o.value = history.Write, c.log.row(row)
	c.change.Version = row[0]
	if i, ok := c.sess.(driver.Inserter); ok && op.IfAbsent {
		c.enter(operating)
		inserted, err := i.InsertRow(table, pk, row)
		c.leave()
		if op.Absent = err == nil && !inserted; op.Absent { // certain, since nobody else writes to the key
			o.kind, o.value, o.locks = history.Read, history.Value{}, c.r.locks
		}
		return err
	}
	return c.announced(o, func() error { return s.PutRow(table, pk, row) })
}

// announced announces a write and sends it.
func (c *client) announced(o *opRec, send func() error) error {
	if err := c.announce(o); err != nil {
		return err
	}
	c.enter(operating)
	defer c.leave()
	return send()
}
