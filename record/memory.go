package record

import "isovet/history"

// hold converts a value to one of the builder.
func (r *Recorder) hold(v *value) history.Value {
	switch v.kind {
	case history.String:
		return r.b.StringValue([]byte(v.s))
	case history.Row:
		return r.b.RowValue([]byte(v.s))
	}
	return history.Value{N: v.n, Kind: v.kind}
}

// take adds a transaction that has ended to the history. The caller must hold the lock.
func (r *Recorder) take(t *Txn, how history.Status) {
	r.build(t.ops)
	h := history.NewTxnHead()
	h.ID, h.HasID = r.ids.Add(1), true
	h.Session, h.HasSess = t.s.id, true
	h.Status = how
	h.Start, h.Commit, h.End, h.StartTS, h.CommitTS = t.start, t.commit, t.end, t.startTS, t.commitTS
	if t.s.node != "" {
		h.Node = r.name(t.s.node)
	}
	if t.name != "" {
		h.Name = r.name(t.name)
	}
	if t.level != "" {
		h.Level = r.name(t.level)
	}
	r.b.EndTxn(h)
}

func (r *Recorder) name(s string) uint32 {
	n, ok := r.names[s]
	if !ok {
		n = r.b.Text([]byte(s))
		r.names[s] = n
	}
	return n
}

func (r *Recorder) build(ops []op) {
	for i := range ops {
		o := &ops[i]
		switch o.kind {
		case history.PredRead, history.PredWrite:
			rows := make([]history.PredRow, len(o.more.rows))
			for j := range rows {
				x := &o.more.rows[j]
				rows[j] = history.PredRow{Key: r.b.Key(r.hold(&x.key)), OldUnknown: x.oldUnknown,
					Old: r.hold(&x.old), New: r.hold(&x.new)}
			}
			r.b.Predicate(o.kind, o.more.pred, rows)
		case history.ReadList:
			list := make([]history.Value, len(o.more.list))
			for j := range list {
				list[j] = r.hold(&o.more.list[j])
			}
			r.b.ReadList(r.b.Key(r.hold(&o.key)), list)
		case history.Append:
			r.b.Append(r.b.Key(r.hold(&o.key)), r.hold(&o.val))
		case history.Write:
			r.b.Write(r.b.Key(r.hold(&o.key)), r.hold(&o.val))
		default:
			r.b.Read(r.b.Key(r.hold(&o.key)), r.hold(&o.val))
		}
		if o.start != history.NoTime {
			r.b.OpTimes(o.start, o.end)
		}
	}
}
