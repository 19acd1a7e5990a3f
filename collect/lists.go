package collect

import (
	"isovet/datasets/workload"
	"isovet/history"
)

func (c *client) doList(op *workload.Op, o *opRec) error {
	switch op.Kind {
	case workload.Read:
		elements, found, err := c.sess.List(nil, int64(op.Key))
		if err != nil {
			return err
		}
		if op.Absent = !found; found {
			o.kind, o.ext = history.ReadList, int32(len(c.log.lists))
			list := make([]history.Value, len(elements))
			for i, e := range elements {
				list[i] = history.IntValue(e)
			}
			c.log.lists = append(c.log.lists, list)
		}
		return nil
	case workload.Append:
		o.kind, o.value = history.Append, history.IntValue(c.value())
		if err := c.announce(o); err != nil {
			return err
		}
		return c.sess.Append(int64(op.Key), o.value.N)
	}
	return c.errNoSuch(op)
}
