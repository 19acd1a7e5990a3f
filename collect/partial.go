package collect

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"

	"isovet/collect/driver"
	"isovet/datasets/workload"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/record"
)

// partial is a recording that is written during the run, as JSON lines that jsonl.ReadPartial reads. A transaction
// with writes is written before its commit is sent, since others may see its writes before its client has the answer.
// The outcome follows in another line. The client waits neither for that line, nor for lines of transactions without
// writes. If it is lost, the outcome is unknown.
type partial struct {
	r     *run
	rows  workload.RowText
	nodes []string

	mu    sync.Mutex
	to    *record.Stream // nil: to parts
	parts *record.Parts
	known map[int64]bool // keys whose loaded versions are written
	last  int64          // id
}

// openPartial begins a recording.
func (r *run) openPartial(path string) (*partial, error) {
	f, err := os.Create(path)
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return nil, fmt.Errorf("cannot write %s: %w", path, p.Err)
	}
	if err != nil {
		return nil, err
	}
	p := r.newPartial()
	p.to = record.NewStream(f)
	if err := p.to.Append(record.Header(nil, r.meta(), true), true); err != nil {
		return nil, errors.Join(err, p.to.Close())
	}
	return p, nil
}

func (r *run) newPartial() *partial {
	name := func(n driver.Node) string { return string(history.AppendJSONString(nil, n.Name)) }
	return &partial{r: r, rows: workload.NewRowText(r.tables), known: map[int64]bool{},
		nodes: slice.Map(r.info.Nodes, name)}
}

func (p *partial) close() error {
	if p.parts != nil {
		return p.parts.Close()
	}
	return p.to.Close()
}

func (p *partial) written() Parts {
	txns, ops, files := p.parts.Written()
	return Parts{Txns: txns, Ops: ops, Files: files}
}

// write appends the loaded versions of the operations' keys, if they are new, and then the line. With now it passes
// all lines so far to the operating system.
func (p *partial) write(l *log, ops []opRec, line []byte, now bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b []byte
	touch := func(n int64) {
		if p.known[n] {
			return
		}
		k := workload.Key(n)
		t := &p.r.tables[k.Table()]
		if k.PK() >= int64(t.Rows) {
			return
		}
		p.known[n] = true
		if b == nil {
			b = append(b, `{"init":true,"ops":[`...)
		} else {
			b = append(b, ',')
		}
		b = p.key(append(b, `["w",`...), n)
		b = append(b, ',')
		if t.Columns == nil {
			b = strconv.AppendInt(b, initial, 10)
		} else {
			b = p.rows.Append(b, k.Table(), loadedRow(t, k.PK()))
		}
		b = append(b, ']')
	}
	for i := range ops {
		if o := &ops[i]; o.kind != history.PredRead && o.kind != history.PredWrite {
			touch(o.key.N)
		} else {
			for _, row := range l.preds[o.ext].rows {
				touch(row.key.N)
			}
		}
	}
	if b != nil { // the unusual
		line = append(append(b, "]}\n"...), line...)
	}
	return p.to.Append(line, now)
}

// id returns the next transaction's id.
func (p *partial) id() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	return p.last
}

func (p *partial) key(b []byte, n int64) []byte { return workload.Key(n).AppendJSON(b, p.r.tables) }

func (p *partial) value(b []byte, l *log, key, v history.Value) []byte {
	switch v.Kind {
	case history.Null:
		return append(b, "null"...)
	case history.Row:
		table := workload.Key(key.N).Table()
		return p.rows.Append(b, table, l.cells[v.N:v.N+1+int64(len(p.r.tables[table].Columns))])
	}
	if p.r.values > 0 && v.N != initial {
		v = history.IntValue(workload.FewValue(v.N, p.r.values))
	}
	return strconv.AppendInt(b, v.N, 10)
}

// txn appends a transaction to b, without the line's end.
func (p *partial) txn(b []byte, l *log, x *txnRec, id int64, ops []opRec) []byte {
	number := func(name string, n int64) {
		if n != history.NoTime {
			b = append(append(append(b, '"'), name...), '"', ':')
			b = append(strconv.AppendInt(b, n, 10), ',')
		}
	}
	number("id", id)
	number("session", int64(x.session))
	number("start", x.start)
	number("commit", x.commit)
	if x.node >= 0 && int(x.node) < len(p.nodes) {
		b = append(append(append(b, `"node":`...), p.nodes[x.node]...), ',')
	}
	if x.name != "" {
		b = append(history.AppendJSONString(append(b, `"name":`...), x.name), ',')
	}
	if locks := locks(ops); locks != nil {
		b = append(append(append(b, `"locking":"`...), locks...), `",`...)
	}
	b = append(b, `"ops":[`...)
	for i, o := range slice.Refs(ops) {
		if i > 0 {
			b = append(b, ',')
		}
		b = p.op(b, l, o)
	}
	return append(b, "]}\n"...)
}

func (p *partial) op(b []byte, l *log, o *opRec) []byte {
	b = append(append(append(b, '[', '"'), o.kind.String()...), '"', ',')
	switch o.kind {
	case history.PredRead, history.PredWrite:
		rec := &l.preds[o.ext]
		b = append(append(b, rec.pred...), ',', '[')
		for j, r := range rec.rows {
			if j > 0 {
				b = append(b, ',')
			}
			b = p.key(append(b, '['), r.key.N)
			if !r.oldUnknown {
				b = p.value(append(b, ','), l, r.key, r.old)
			}
			if o.kind == history.PredWrite {
				b = p.value(append(b, ','), l, r.key, r.new)
			}
			b = append(b, ']')
		}
		b = append(b, ']')
	case history.ReadList:
		b = append(p.key(b, o.key.N), ',', '[')
		for j, e := range l.lists[o.ext] {
			if j > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, e.N, 10)
		}
		b = append(b, ']')
	case history.Append:
		b = append(p.key(b, o.key.N), ',')
		b = strconv.AppendInt(b, o.value.N, 10)
	default:
		b = append(p.key(b, o.key.N), ',')
		b = p.value(b, l, o.key, o.value)
	}
	b = append(strconv.AppendInt(append(b, ','), o.start, 10), ',')
	return append(strconv.AppendInt(b, o.end, 10), ']')
}

// intend writes a transaction that is about to be committed, if it has writes; otherwise id is 0. In a recording in
// parts, open is its entry until the outcome is known.
func (p *partial) intend(l *log, x *txnRec) (id int64, open *record.Open, err error) {
	ops := l.ops[len(l.ops)-l.pending():]
	if !slices.ContainsFunc(ops, func(o opRec) bool {
		return o.kind == history.Write || o.kind == history.Append || o.kind == history.PredWrite
	}) {
		return 0, nil, nil
	}
	id = p.id()
	l.line = p.txn(append(l.line[:0], `{"intent":true,`...), l, x, id, ops)
	if p.parts != nil {
		open, err = p.parts.Intend(id, l.line, len(ops))
		return id, open, err
	}
	return id, nil, p.write(l, ops, l.line, true)
}

// ended writes the outcome of a transaction. intent is its id if intend has written it. Its operations are the last
// ones in the log.
func (p *partial) ended(l *log, x *txnRec, intent int64, open *record.Open) error {
	if open != nil {
		l.txns[len(l.txns)-1].id = intent
		return p.parts.Outcome(open, x.status, x.end)
	}
	b := l.line[:0]
	if intent > 0 {
		b = strconv.AppendInt(append(b, `{"outcome":`...), intent, 10)
		b = append(append(append(b, `,"status":"`...), x.status.String()...), '"')
		if x.end != history.NoTime {
			b = strconv.AppendInt(append(b, `,"end":`...), x.end, 10)
		}
		l.line = append(b, "}\n"...)
		return p.write(l, nil, l.line, false)
	}
	b = append(append(append(b, `{"status":"`...), x.status.String()...), `",`...)
	if x.end != history.NoTime {
		b = append(strconv.AppendInt(append(b, `"end":`...), x.end, 10), ',')
	}
	last := &l.txns[len(l.txns)-1]
	ops := l.ops[last.off : last.off+last.n]
	id := p.id()
	l.line = p.txn(b, l, x, id, ops)
	if p.parts != nil {
		last.id = id
		return p.parts.Ended(l.line, len(ops))
	}
	return p.write(l, ops, l.line, false)
}
