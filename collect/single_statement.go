package collect

import (
	"fmt"
	"time"

	"isovet/collect/driver"
	"isovet/datasets/workload"
	"isovet/history"
)

// canBeAlone reports whether the drawn transaction is one statement that can run without BEGIN in this session. The
// workload gives the operation again when the transaction runs.
func (c *client) canBeAlone(t *workload.Txn) (bool, error) {
	s, ok := c.sess.(driver.Autocommitter)
	if !ok || t.Access != workload.Alone || c.r.info.Unbounded {
		return false, nil
	}
	c.work.Step(t)
	fits, write := len(t.Ops) == 1 && !t.Rollback, false
	if fits {
		switch t.Ops[0].Kind {
		case workload.Read, workload.ReadWhere:
		case workload.Write, workload.Append:
			write = true
			fits = !t.Ops[0].IfAbsent
		default: // on some databases it takes several statements
			fits = false
		}
	}
	t.Reset()
	if !fits {
		return false, nil
	}
	return s.Autocommit(write)
}

// attemptAlone runs the drawn transaction, which is one statement. Since the statement is also the commit, its answer
// comes after the commit was sent.
func (c *client) attemptAlone(x *txnRec) ended {
	t := &c.txn
	c.work.Step(t)
	t.Stage++
	if c.r.cfg.Think > 0 {
		time.Sleep(c.r.cfg.Think)
	}
	x.commit = c.r.now()
	c.alone = true
	err := c.do(&t.Ops[0])
	c.alone = false
	x.end = c.r.now()
	switch {
	case err == nil:
		c.write(*x)
		c.r.committed.Add(1)
		if c.work.Step(t); len(t.Ops) > 1 {
			c.r.fail(fmt.Errorf("workload %s has several operations for a transaction of one statement", c.r.what))
			return stopped
		}
		return committed
	case c.o.kind == history.Read || c.o.kind == history.PredRead || c.o.kind == history.ReadList:
		return c.refused(x, err, "a statement by itself")
	}
	return c.uncommitted(x, err)
}

// announce writes a write that is a transaction by itself to the partial recording, before it is sent.
func (c *client) announce(o *opRec) error {
	p := c.r.partial
	if !c.alone || p == nil || c.r.cfg.NoRecord {
		return nil
	}
	l := &c.log
	l.add(*o)
	l.ops[len(l.ops)-1].end = o.start + 1 // unknown, but after the commit, as readers will show
	var err error
	c.intent, c.open, err = p.intend(l, &c.x)
	l.ops = l.ops[:len(l.ops)-1]
	if err != nil {
		return fmt.Errorf("cannot write the recording: %w", err)
	}
	return nil
}

// aloneEvent adds a transaction's outcome to the event of its only statement.
func aloneEvent(last *Event, t *txnRec, e *endRec) {
	switch {
	case t.status == history.Unknown:
		last.Got = "no answer: its effect is unknown"
	case e.why != "":
		last.Got, last.Refused = "refused: "+e.why, true
	}
}
