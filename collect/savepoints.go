package collect

import (
	"fmt"

	"isovet/collect/driver"
	"isovet/datasets/workload"
)

// saving makes a savepoint or rolls back to one. A rollback removes the later operations from the log, including
// reads, which may have seen undone writes. If another transaction reads an undone version, it is a read of a version
// that nobody wrote.
func (c *client) saving(op *workload.Op, o *opRec) error {
	s, ok := c.sess.(driver.Saver)
	if !ok {
		return fmt.Errorf("%w: %s has no savepoints", driver.ErrUnsupported, c.r.info.Name)
	}
	do := s.Savepoint
	if op.Kind == workload.RollbackTo {
		do = s.RollbackTo
	}
	c.enter(operating)
	err := do()
	c.leave()
	o.end = c.r.now()
	if c.r.cfg.NoRecord {
		return err
	}
	k := callRec{op: *op, start: o.start, end: o.end}
	if err != nil {
		if c.r.cfg.KeepCalls {
			k.why = err.Error()
			c.failed = &k
		}
		return err
	}
	if op.Kind == workload.Savepoint {
		c.saved = len(c.log.ops)
	} else {
		c.log.ops = c.log.ops[:c.saved]
	}
	if !c.r.cfg.KeepCalls {
		return nil
	}
	if op.Kind == workload.RollbackTo {
		var undone []callRec
		for _, u := range c.log.calls[c.saved:] {
			undone = append(append(undone, u.before...), u)
		}
		c.log.calls = c.log.calls[:c.saved]
		c.undone = append(undone, c.undone...)
	}
	c.undone = append(c.undone, k)
	return nil
}
