package view

import (
	"isovet/history"
	"isovet/internal/escape"
	"isovet/report"
	"slices"

	"isovet/internal/slice"
)

// txnJSON is a transaction with all that it did.
type txnJSON struct {
	Txn     uint32   `json:"txn"`
	Name    string   `json:"name"`
	Session string   `json:"session"`
	Status  string   `json:"status"`
	Line    uint32   `json:"line,omitempty"`
	Label   string   `json:"label,omitempty"` // its own name in the file
	Node    string   `json:"node,omitempty"`
	Row     int      `json:"row"`
	Start   int64    `json:"start"`
	End     int64    `json:"end"`
	Open    bool     `json:"open"` // it has no known end
	Before  *uint32  `json:"before,omitempty"`
	After   *uint32  `json:"after,omitempty"`
	Stamps  [2]int64 `json:"stamps"`
	Stamped bool     `json:"stamped"`
	Ops     []opJSON `json:"ops"`
	More    int      `json:"more,omitempty"`
}

// opJSON is an operation: a read with its writers, or a write with its readers.
type opJSON struct {
	N    uint32      `json:"n"` // from 1
	Text string      `json:"text"`
	Key  *uint32     `json:"key,omitempty"`
	From []nameJSON  `json:"from,omitempty"`
	Init bool        `json:"init,omitempty"` // the initial version
	By   []nameJSON  `json:"by,omitempty"`   // readers
	More int         `json:"more,omitempty"` // readers that are not listed
	Time *[2]int64   `json:"time,omitempty"`
	Rows []matchJSON `json:"rows,omitempty"`
}

// matchJSON is a row that a predicate matched.
type matchJSON struct {
	Key  string     `json:"key"`
	Old  string     `json:"old"`
	New  string     `json:"new,omitempty"`
	From []nameJSON `json:"from,omitempty"`
}

// nameJSON is a transaction's name with the data for a link.
type nameJSON struct {
	Txn    uint32 `json:"txn"`
	Name   string `json:"name"`
	Status string `json:"status"`
	Line   uint32 `json:"line,omitempty"`
}

const (
	maxTxnOps = 400
	maxNames  = 12
)

func (b *book) named(t uint32) nameJSON {
	h := b.axis.h
	return nameJSON{t, report.TxnName(h, t), h.Txns.Status[t].String(), h.Txns.Line[t]}
}

// names returns links to the first few transactions, and the number of the others.
func (b *book) names(txns []uint32, but uint32) (out []nameJSON, more int) {
	for _, t := range txns {
		switch {
		case t == but:
		case len(out) == maxNames:
			more++
		default:
			out = append(out, b.named(t))
		}
	}
	return out, more
}

// txn describes a transaction. It names the writers of reads only when the table of keys is ready.
func (b *book) txn(t uint32) txnJSON {
	x, h := b.axis, b.axis.h
	out := txnJSON{Txn: t, Name: report.TxnName(h, t), Session: report.SessionName(h, h.Txns.Sess[t]),
		Status: h.Txns.Status[t].String(), Line: h.Txns.Line[t], Row: int(x.rowOf[t]), Start: x.start[t],
		End: x.end[t], Open: x.isOpen(t), Ops: []opJSON{}}
	if h.Txns.Name != nil && h.Txns.Name[t] != history.None {
		out.Label = escape.XML(string(h.Texts.Text(h.Txns.Name[t])))
	}
	if h.Txns.Node != nil && h.Txns.Node[t] != history.None {
		out.Node = escape.XML(string(h.Texts.Text(h.Txns.Node[t])))
	}
	if h.StartTS(t) != history.NoTime || h.CommitTS(t) != history.NoTime {
		out.Stamped, out.Stamps = true, [2]int64{h.StartTS(t), h.CommitTS(t)}
	}
	out.Before, out.After = b.beside(t)
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		if op-lo == maxTxnOps {
			out.More = int(hi - op)
			break
		}
		out.Ops = append(out.Ops, b.op(t, op, op-lo+1))
	}
	return out
}

// beside returns the transactions before and after t in its session.
func (b *book) beside(t uint32) (before, after *uint32) {
	h := b.axis.h
	s := h.Txns.Sess[t]
	if h.SessName[s] == history.NoTime {
		return nil, nil
	}
	txns := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
	i := place(txns, t)
	if i > 0 && txns[i-1] != h.Init {
		before = &txns[i-1]
	}
	if i >= 0 && i+1 < len(txns) {
		after = &txns[i+1]
	}
	return before, after
}

// place returns the index of a transaction in its session. It is fast if the session is in the order of the file.
func place(txns []uint32, t uint32) int {
	if i, ok := slices.BinarySearch(txns, t); ok {
		return i
	}
	return slices.Index(txns, t)
}

func (b *book) op(t, op, n uint32) opJSON {
	h := b.axis.h
	o := opJSON{N: n, Text: escape.XML(report.OpText(h, op))}
	if h.OpStart(op) != history.NoTime && h.OpEnd(op) != history.NoTime && b.axis.kind == "time" {
		o.Time = &[2]int64{h.OpStart(op) - b.axis.zero, h.OpEnd(op) - b.axis.zero}
	}
	if k := h.OpKey(op); k != history.None {
		o.Key = &k
	}
	if b.keys.Load() == nil {
		return o
	}
	v := h.Ops.Ver[op]
	switch h.Ops.Kind[op] {
	case history.Read:
		o.From, o.Init = b.source(h.VerKey[v], v)
	case history.Write:
		o.By, o.More = b.names(b.readersOf(h.VerKey[v], v), t)
	case history.Append:
		o.By, o.More = b.names(b.listReaders(h.VerKey[v], v), t)
	case history.ReadList:
		if l := &h.Lists; l.Off[v+1] > l.Off[v] {
			o.From, _ = b.source(l.Key[v], l.Elem[l.Off[v+1]-1])
		} else {
			o.Init = true
		}
	default:
		o.Rows = b.matched(v)
	}
	return o
}

// source returns the writers of a version, and whether it is the initial version.
func (b *book) source(k, v uint32) (from []nameJSON, initial bool) {
	h := b.axis.h
	for _, w := range b.writersOf(k, v) {
		if w == h.Init {
			initial = true
		} else if len(from) < maxNames {
			from = append(from, b.named(w))
		}
	}
	return from, initial || h.InitVer[k] == v || len(from) == 0 && h.VerKind[v] == history.Null
}

// listReaders returns the transactions whose reads of a list contain an element.
func (b *book) listReaders(k, v uint32) []uint32 {
	h := b.axis.h
	return slice.Filter(b.keys.Load().of(k), func(t uint32) bool {
		return slices.ContainsFunc(touches(h, t, k), func(c touch) bool {
			return c.list && slices.Contains(h.Elems(c.ver), v)
		})
	})
}

// matched returns the rows that a predicate operation matched.
func (b *book) matched(p uint32) (out []matchJSON) {
	h := b.axis.h
	value := func(v uint32) string {
		if v == history.None {
			return "?"
		}
		return escape.XML(report.Clip(h.ValueString(v), 80))
	}
	for j := h.Preds.Off[p]; j < h.Preds.Off[p+1] && len(out) < maxTxnOps; j++ {
		m := matchJSON{Old: value(h.Preds.Old[j])}
		v := h.Preds.Old[j]
		if v != history.None {
			m.From, _ = b.source(h.VerKey[v], v)
		}
		if now := h.Preds.New[j]; now != history.None {
			m.New, v = value(now), now
		}
		if v != history.None {
			m.Key = escape.XML(report.KeyName(h, h.VerKey[v]))
		}
		out = append(out, m)
	}
	return out
}
