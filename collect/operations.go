package collect

import (
	"fmt"
	"slices"

	"isovet/collect/driver"
	"isovet/datasets/workload"
	"isovet/history"
	"isovet/internal/slice"
)

func (c *client) doList(op *workload.Op, o *opRec) error {
	switch op.Kind {
	case workload.Read:
		c.enter(operating)
		elements, found, err := c.sess.List(nil, int64(op.Key))
		c.leave()
		if err != nil {
			return err
		}
		if op.Absent = !found; found {
			o.kind, o.ext = history.ReadList, int32(len(c.log.lists))
			c.log.lists = append(c.log.lists, slice.Map(elements, history.IntValue))
		}
		return nil
	case workload.Append:
		o.kind, o.value = history.Append, history.IntValue(c.value())
		return c.announced(o, func() error { return c.sess.Append(int64(op.Key), o.value.N) })
	}
	return c.errNoSuch(op)
}

// says returns what the answer to an operation with a condition says: a condition, and the rows for which it is true.
// A read of one end says that no row is beyond the one that it found. Since other rows may have the same value, the
// condition names the key of that row. More than one row means that the session found the whole.
func (r *run) says(op *workload.Op, found []driver.Match) (pred []byte, rows []driver.Match) {
	columns, where := r.tables[op.Key.Table()].Columns, op.Where
	if op.End == workload.Whole || len(found) != 1 {
		return workload.Condition(columns, where), found
	}
	where = slices.Clone(where)
	if v := found[0].Old[1+where[0].Column]; op.End.Low() {
		where[0].Max = v
	} else {
		where[0].Min = v + 1
	}
	pred = workload.Condition(columns, where)
	if op.End == workload.Min || op.End == workload.Max {
		return pred, nil
	}
	key := workload.MakeKey(op.Key.Table(), found[0].PK).AppendJSON(nil, r.tables)
	return fmt.Appendf(nil, `{"or":[%s,{"key":{"=":%s}}]}`, pred, key), found
}

// errNoSuch returns the error for an operation that the workload's table does not support.
func (c *client) errNoSuch(op *workload.Op) error {
	return fmt.Errorf("%w: workload %s has an operation of kind %d, which its table does not support",
		driver.ErrUnsupported, c.r.what, op.Kind)
}

func (c *client) doPlain(op *workload.Op, o *opRec, t *workload.Table) error {
	switch op.Kind {
	case workload.Read:
		c.enter(operating)
		row, found, err := c.sess.Get(int64(op.Key), op.ForUpdate)
		c.leave()
		if err != nil {
			return err
		}
		op.Absent, op.Payload, op.Row = !found || row.Dead, row.Payload, row.Wide
		if found {
			o.value = history.IntValue(row.Version)
		}
		return nil
	case workload.Write, workload.Delete:
		row := driver.Row{Payload: op.Payload, Wide: op.Row, Dead: op.Kind == workload.Delete}
		if row.Version = op.Payload; !t.Counter {
			row.Version = c.value()
		}
		o.kind, o.value = history.Write, history.IntValue(row.Version)
		return c.announced(o, func() error { return c.sess.Put(int64(op.Key), row) })
	}
	return c.errNoSuch(op)
}

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
