package collect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"isovet/collect/driver"
	"isovet/datasets/workload"
	"isovet/history"
	"isovet/internal/slice"
)

// opRec is an operation in a session's log. A value of kind Null is an absent row. A value of kind Row is stored in
// the log's cells.
type opRec struct {
	key, value history.Value
	start, end int64
	kind       history.OpKind
	locks      bool  // a read that takes locks
	ext        int32 // list reads: index into log.lists; predicates: into log.preds
}

// txnRec is an attempt at a transaction with operations ops[off:off+n].
type txnRec struct {
	start, commit, end int64 // history.NoTime: never
	startTS, commitTS  int64
	off, n             int
	name               string
	session, node      int32
	status             history.Status
	access             workload.Access
	id                 int64 // in the recording in parts; 0: none
}

// log has the operations and transactions of one session. Only one goroutine writes it.
type log struct {
	txns  []txnRec
	ops   []opRec
	lists [][]history.Value
	preds []predRec
	cells []int64        // rows: the version, then the columns
	stamp []driver.Stamp // of txns; nil without timestamps
	calls []callRec      // of ops, and ends of txns: with Config.KeepCalls
	ends  []endRec
	line  []byte // buffer for a line of the partial recording
}

// predRec is an operation with a predicate, and its matching rows.
type predRec struct {
	pred []byte
	rows []predRow
}

type predRow struct {
	key, old, new history.Value
	oldUnknown    bool
}

// add logs an operation. end logs a transaction with all operations since the last call of end.
func (l *log) add(o opRec) { l.ops = append(l.ops, o) }

func (l *log) end(t txnRec) {
	t.off = 0
	if k := len(l.txns); k > 0 {
		t.off = l.txns[k-1].off + l.txns[k-1].n
	}
	t.n = len(l.ops) - t.off
	l.txns = append(l.txns, t)
}

// pending returns the number of operations since the last end.
func (l *log) pending() int {
	if k := len(l.txns); k > 0 {
		return len(l.ops) - l.txns[k-1].off - l.txns[k-1].n
	}
	return len(l.ops)
}

// locks returns which operations are locking reads, as a history lists them, or nil.
func locks(ops []opRec) (text []byte) {
	for i, o := range ops {
		if o.locks {
			if text != nil {
				text = append(text, ' ')
			}
			text = strconv.AppendInt(text, int64(i), 10)
		}
	}
	return text
}

// order returns the transactions of all logs, sorted by their ends. This keeps the order of each session, since a
// transaction ends before the next one begins.
func order(logs []*log) (all []*txnRec, of []*log) {
	type entry struct {
		t   *txnRec
		l   *log
		end int64
	}
	var es []entry
	for _, l := range logs {
		for i := range l.txns {
			es = append(es, entry{&l.txns[i], l, l.txns[i].ended()})
		}
	}
	slices.SortStableFunc(es, func(a, b entry) int { return cmp.Compare(a.end, b.end) })
	for _, e := range es {
		all, of = append(all, e.t), append(of, e.l)
	}
	return all, of
}

// row stores a row. nil means an absent row.
func (l *log) row(cells []int64) history.Value {
	if cells == nil {
		return history.Value{}
	}
	l.cells = append(l.cells, cells...)
	return history.Value{Kind: history.Row, N: int64(len(l.cells) - len(cells))}
}

// naming translates keys and values of logs to those of a history.
type naming struct {
	key func(history.Value) uint32
	row func(l *log, key, v history.Value) history.Value // of values of kind Row
	// values, if not 0, replaces versions by workload.FewValue, so that values repeat.
	values int
}

// fill adds all transactions to a builder, with ids from first on.
func fill(b *history.Builder, logs []*log, first int64, nodes []string, called naming) {
	key := called.key
	names := map[string]uint32{}
	texts := slice.Map(nodes, func(n string) uint32 { return b.Text([]byte(n)) })
	all, of := order(logs)
	for i, t := range all {
		l := of[i]
		value := func(key, v history.Value) history.Value {
			if v.Kind == history.Row {
				return called.row(l, key, v)
			}
			if called.values > 0 && v.Kind == history.Int && v.N != initial {
				return history.IntValue(workload.FewValue(v.N, called.values))
			}
			return v
		}
		for _, o := range l.ops[t.off : t.off+t.n] {
			switch o.kind {
			case history.Read:
				b.Read(key(o.key), value(o.key, o.value))
			case history.Write:
				b.Write(key(o.key), value(o.key, o.value))
			case history.Append:
				b.Append(key(o.key), o.value)
			case history.ReadList:
				b.ReadList(key(o.key), l.lists[o.ext])
			default:
				p := &l.preds[o.ext]
				b.Predicate(o.kind, p.pred, slice.Map(p.rows, func(r predRow) history.PredRow {
					return history.PredRow{Key: key(r.key), OldUnknown: r.oldUnknown, Old: value(r.key, r.old),
						New: value(r.key, r.new)}
				}))
			}
			b.OpTimes(o.start, o.end)
		}
		h := history.NewTxnHead()
		h.ID, h.HasID = first+int64(i), true
		if t.id != 0 {
			h.ID = t.id
		}
		h.Session, h.HasSess = int64(t.session), true
		h.Status = t.status
		h.Start, h.Commit, h.End = t.start, t.commit, t.end
		h.StartTS, h.CommitTS = t.startTS, t.commitTS
		if t.node >= 0 && int(t.node) < len(texts) {
			h.Node = texts[t.node]
		}
		if locks := locks(l.ops[t.off : t.off+t.n]); locks != nil {
			h.Locking = b.Text(locks)
		}
		if t.name != "" {
			n, ok := names[t.name]
			if !ok {
				n = b.Text([]byte(t.name))
				names[t.name] = n
			}
			h.Name = n
		}
		b.EndTxn(h)
	}
}

// initial is the version that loaded rows have.
const initial = 0

// build makes the history of a run: the initial versions of the loaded rows that were touched, then all attempts.
func (r *run) build(ctx context.Context) (*history.History, error) {
	if err := r.resolve(ctx); err != nil {
		return nil, fmt.Errorf("the database's timestamps: %w", err)
	}
	return r.history(r.logs(), 1, map[int64]bool{})
}

// history makes a history from logs, with ids from first on. The initial transaction has the touched rows that are not
// in known, and history adds them to known.
func (r *run) history(logs []*log, first int64, known map[int64]bool) (*history.History, error) {
	return r.historyOf(logs, first, known, true)
}

// initial makes a history of only the initial transaction, with the rows that logs touch.
func (r *run) initial(logs []*log) (*history.History, error) {
	return r.historyOf(logs, 1, map[int64]bool{}, false)
}

func (r *run) historyOf(logs []*log, first int64, known map[int64]bool, txns bool) (*history.History, error) {
	b := history.NewBuilder()
	tables := r.tables
	keys := touched(logs)
	ids := make(map[int64]uint32, len(keys))
	rows := workload.NewRowText(tables)
	value := func(table int, row []int64) history.Value { return b.RowValue(rows.Append(nil, table, row)) }
	loaded := false
	for _, n := range keys {
		k := workload.Key(n)
		id := b.Key(k.Value(b, tables))
		ids[n] = id
		if !known[n] && r.holds(k) {
			if tables[k.Table()].Columns == nil {
				b.Write(id, history.IntValue(initial))
			} else {
				b.Write(id, value(k.Table(), r.row(k)))
			}
			loaded, known[n] = true, true
		}
	}
	if loaded {
		h := history.NewTxnHead()
		h.HasID, h.Init = true, true
		h.Name = b.Text([]byte("load"))
		b.EndTxn(h)
	}
	if !txns {
		logs = nil
	}
	nodes := slice.Map(r.info.Nodes, func(n driver.Node) string { return n.Name })
	fill(b, logs, first, nodes, naming{
		key: func(v history.Value) uint32 { return ids[v.N] },
		row: func(l *log, key, v history.Value) history.Value {
			table := workload.Key(key.N).Table()
			return value(table, l.cells[v.N:v.N+1+int64(len(tables[table].Columns))])
		},
		values: r.values,
	})
	b.Meta = r.meta()
	return b.Build()
}

// loadedRow returns the loaded content of a row: the version, then the columns.
func loadedRow(t *workload.Table, pk int64) []int64 {
	row := make([]int64, 1+len(t.Columns))
	row[0] = initial
	if t.Load != nil {
		t.Load(pk, row[1:])
	}
	return row
}

// resolve finds the database's timestamps.
func (r *run) resolve(ctx context.Context) error {
	res, ok := r.target.DB.(driver.Resolver)
	if !r.target.Options.Timestamps || !ok {
		return nil
	}
	var all []driver.Stamped
	var of []*txnRec
	for _, c := range r.clients {
		for i, t := range slice.Refs(c.log.txns) {
			s := stamped{driver.Stamped{Stamp: c.log.stamp[i], Committed: t.status == history.Committed}}
			if t.status == history.Aborted {
				continue
			}
			for _, o := range c.log.ops[t.off : t.off+t.n] {
				s.wrote(&c.log, &o)
			}
			all, of = append(all, s.Stamped), append(of, t)
		}
	}
	if err := res.Resolve(ctx, all); err != nil {
		return err
	}
	for i := range all {
		of[i].startTS, of[i].commitTS = all[i].Start, all[i].Commit
	}
	return nil
}

type stamped struct{ driver.Stamped }

// wrote stores a version by which the database can find the transaction's commit.
func (s *stamped) wrote(l *log, o *opRec) {
	note := func(key, v history.Value) {
		switch {
		case v.Kind == history.Int:
			s.Key, s.Version = key.N, v.N
		case v.Kind == history.Row:
			s.Key, s.Version = key.N, l.cells[v.N]
		case !s.Wrote || s.Key == key.N:
			s.Key, s.Version = key.N, driver.Deleted
		}
		s.Wrote = true
	}
	switch o.kind {
	case history.Write, history.Append:
		note(o.key, o.value)
	case history.PredWrite:
		for _, r := range l.preds[o.ext].rows {
			note(r.key, r.new)
		}
	}
}
