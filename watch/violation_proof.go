package watch

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"isovet/check/mechanism"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// MechanismViolation is a violation of a mechanism, as a line of the file of violations.
type MechanismViolation struct {
	N int64 `json:"n"` // from 1, in the order in which they became certain
	evidence.MechanismViolation
	// Anomaly and Level are set if it is proved. The level may differ from the profile's.
	Anomaly level.Anomaly `json:"anomaly,omitempty"`
	Level   *level.Level  `json:"level,omitempty"`
	// ProofAssumes is what the proof assumes. Unproved says why the reads of these transactions prove nothing.
	ProofAssumes string `json:"proof_assumes,omitempty"`
	Unproved     string `json:"unproved,omitempty"`
	// Gone are the line numbers of those of its transactions that the log no longer has.
	Gone []int64 `json:"gone,omitempty"`
}

// witness is a transaction of a violation, with a history that contains it.
type witness struct {
	h     *history.History
	t     uint32
	id    int64
	line  int64 // its number in repeats
	place sessionPlace
}

// court describes violations, and decides whether a violation's transactions prove that the level is violated.
type court struct {
	profile *mechanism.Profile               `freeze:"-"`
	level   level.Level                      `freeze:"-"`
	skew    int64                            `freeze:"-"`
	stream  *mechanism.Stream                `freeze:"-"`
	head    *history.History                 `freeze:"-"` // the header
	origin  int64                            // the first start
	wrote   *repeats                         `freeze:"-"`
	asOf    int64                            `freeze:"-"` // see repeats.writer
	recall  func(id uint64) (witness, error) `freeze:"-"`
	early   func(t int64) bool               `freeze:"-"` // see mechanism.Online.Early
}

// maxWitnesses bounds the transactions of a violation for which a proof is tried. A proof takes a fraction of a
// millisecond. The first allTried violations are all tried, later ones one in someTried, so that the judge keeps up
// with a database that is always wrong.
const (
	maxWitnesses = 64
	maxAmbiguous = 12 // if reads have several possible writers, which takes a search
	allTried     = 1000
	someTried    = 16
)

// tried reports whether violation n is tried as a proof.
func tried(n int64) bool { return n <= allTried || n%someTried == 0 }

func (c *court) tell(n int64, v mechanism.Violation) ([]byte, error) {
	ws, of, gone, err := c.witnesses(v)
	if err != nil {
		return nil, err
	}
	out := MechanismViolation{N: n, MechanismViolation: evidence.MechanismViolation{Mechanism: v.Mechanism.String(),
		Kind: v.Kind, Assumes: c.profile.Assumes(v.Mechanism), Key: json.RawMessage(c.stream.Key(v.Key))}}
	for _, t := range v.Txns {
		if !slices.Contains(gone, int64(t)) {
			out.Txns = append(out.Txns, ws[of[t]].id)
		}
	}
	if len(gone) > 0 {
		out.Gone = gone
		out.Text = fmt.Sprintf("%s, by these transactions and others that --keep deleted: lines %v of the stream, "+
			"from 0", v.Kind, gone)
		return json.Marshal(&out)
	}
	if id, is := twice(ws); is { // these make no history
		out.Text = fmt.Sprintf("the stream has transaction %d twice, and the two copies contradict the proof's "+
			"assumption", id)
		return json.Marshal(&out)
	}
	h, err := c.copy(ws, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	out.Text = mechanism.DescribeSince(h, []mechanism.Violation{c.inside(h, v, of)}, c.skew, c.origin)[0]
	if len(ws) <= maxWitnesses && tried(n) {
		var p *Proof
		if p, out.Unproved, err = c.prove(ws); err != nil {
			return nil, err
		}
		if out.Proved = p != nil; out.Proved {
			out.Anomaly, out.Level, out.ProofAssumes = p.R.Anomalies[0].Kind, &p.R.Level, unique
		}
	}
	return json.Marshal(&out)
}

// inside translates a violation of the stream to numbers of a small history of its transactions.
func (c *court) inside(h *history.History, v mechanism.Violation, of map[uint64]uint32) mechanism.Violation {
	x := v
	x.Txns, x.Ops, x.Cycle = nil, nil, nil
	for _, t := range v.Txns {
		x.Txns = append(x.Txns, uint64(of[t]))
	}
	for i, op := range v.Ops {
		x.Ops = append(x.Ops, h.Txns.OpOff[of[v.Whose(i)]]+op)
	}
	k, ver := c.stream.Find(h, v.Key, v.Val)
	x.Key = k
	if x.Val = mechanism.Nothing; ver != history.None {
		x.Val = uint64(ver)
	}
	for _, e := range v.Cycle {
		e.From, e.To = uint64(of[e.From]), uint64(of[e.To])
		e.Key, _ = c.stream.Find(h, e.Key, 0)
		x.Cycle = append(x.Cycle, e)
	}
	return x
}

// smallWith begins a small history of a stream's transactions. head is the stream's header, or nil.
func smallWith(head *history.History) *history.Builder {
	b := history.NewBuilder()
	if head != nil {
		b.Meta = head.Meta
		b.Initial = b.ValueOf(head, head.Initial)
	}
	return b
}

// ranksOf returns the places of transactions in their sessions.
func ranksOf(ws []witness) []int64 {
	return ranks(slice.Map(ws, func(w witness) sessionPlace { return w.place }))
}

// end ends a transaction of b. rank is its place among the copied ones of its session, or −1.
func (w *witness) end(b *history.Builder, rank int64) {
	head := history.NewTxnHead()
	head.ID, head.HasID = w.id, true
	w.place.setOn(&head, rank)
	head.Status = w.h.Txns.Status[w.t]
	head.Start, head.Commit, head.End = w.h.Start(w.t), w.h.Commit(w.t), w.h.End(w.t)
	b.EndTxn(head)
}

// copy copies transactions into a history, without the reads and writes of keys that are not wanted.
func (c *court) copy(ws []witness, wanted func(key string) bool) (*history.History, error) {
	b := smallWith(c.head)
	in, put := ranksOf(ws), history.Copier{To: b}
	for i, w := range ws {
		h := w.h
		for op := range h.EachOp(w.t) {
			if k := h.OpKey(op); k == history.None || wanted(h.KeyString(k)) {
				put.Op(h, op)
				put.Times(h, op)
			}
		}
		w.end(b, in[i])
	}
	return b.Build()
}

// item is a read or a write of one key, as text.
type item struct {
	kind  history.OpKind
	key   string
	value string
	list  []string
	first bool // the value is the key's initial one
	// by is the writer of the value, as far as repeats knows; bys has the writers of a list's elements.
	by  uint64
	bys []uint64
}

// unique is what a proof assumes, since only the writers that have arrived are known.
const unique = "no missing or forgotten transaction wrote a value that these transactions read"

// prove looks for a violation of the level in these transactions alone. If others wrote, or may have written, a
// version that they read, an invented writer that overlaps everything writes it. So an order of the whole stream,
// restricted to these transactions, would explain their reads too. Predicate operations count by their rows, lists by
// the elements that these transactions appended. why is set if nothing is proved and a value has several writers.
func (c *court) prove(ws []witness) (p *Proof, why string, err error) {
	h, r, why, err := c.try(ws)
	if err != nil || r == nil || r.Verdict != evidence.Violated || len(r.Anomalies) == 0 {
		return nil, why, err
	}
	return certified(h, r), "", nil
}

// implied is implied by all levels at which no checker decides a history.
const implied = level.ReadCommitted

// part makes the history for prove. why names a value with several possible writers. If that is a list's element,
// there is no history.
func (c *court) part(ws []witness) (_ *history.History, why string, err error) {
	p := witnessPart{b: history.NewBuilder(), deletes: c.stream.Deletes(), ws: ws,
		wrote: map[keyValue]bool{}, read: map[keyValue]bool{}, members: map[uint64]bool{}}
	var txns [][]item
	from, to := int64(math.MaxInt64), int64(math.MinInt64)
	for _, w := range ws {
		p.members[writerPrint(w.line)] = true
		items := c.itemsOf(w)
		txns = append(txns, items)
		for _, o := range items {
			if o.kind == history.Write || o.kind == history.Append {
				p.wrote[keyValue{o.key, o.value}] = true
			}
		}
		for _, at := range []int64{w.h.Start(w.t), w.h.Commit(w.t), w.h.End(w.t)} {
			if at != history.NoTime {
				from, to = min(from, at), max(to, at)
			}
		}
	}
	p.deletes = p.deletes || c.early(from)
	in := ranksOf(ws)
	for i, items := range txns {
		for _, o := range items {
			if !p.op(&o) {
				return nil, p.why, nil
			}
		}
		ws[i].end(p.b, in[i])
	}
	for _, v := range p.others {
		head := history.NewTxnHead()
		head.Start, head.End = from-1, to+1
		p.writer([]keyValue{v}, head)
	}
	if len(p.initial) > 0 {
		head := history.NewTxnHead()
		head.Init = true
		p.writer(p.initial, head)
	}
	h, err := p.b.Build()
	return h, p.why, err
}

// keyValue identifies a version by the texts of its key and value.
type keyValue struct{ key, value string }

// witnessPart builds a history of witnesses, and of writers that are invented for versions of others.
type witnessPart struct {
	b               *history.Builder
	deletes         bool // the stream has deletes, or may have had some before it began
	ws              []witness
	members         map[uint64]bool   // the witnesses' numbers in repeats
	wrote, read     map[keyValue]bool // by witnesses
	others, initial []keyValue        // versions of other writers; initial versions
	nextID          int64             // id of the next writer that stands for others
	why             string
}

func (p *witnessPart) text(s string) history.Value { return jsonValue(p.b, s) }

// valueOf returns a value, which may be that of an absent key.
func (p *witnessPart) valueOf(s string) history.Value {
	if s == absent {
		return history.Value{}
	}
	return p.text(s)
}

// op adds an operation. It returns false if the appender of a list's element is unknown.
func (p *witnessPart) op(o *item) bool {
	k := p.b.Key(p.text(o.key))
	switch o.kind {
	case history.Read:
		if o.value == absent && (p.deletes || !o.first) {
			return true // it has several possible versions
		}
		p.noteRead(o)
		p.b.Read(k, p.valueOf(o.value))
	case history.Write:
		p.b.Write(k, p.valueOf(o.value))
	case history.Append:
		p.b.Append(k, p.text(o.value))
	case history.ReadList:
		var elems []history.Value
		for i, e := range o.list {
			if !p.wrote[keyValue{o.key, e}] {
				continue
			}
			if !p.members[o.bys[i]] {
				p.why = fmt.Sprintf("several transactions may have appended %s to key %s", e, o.key)
				return false
			}
			elems = append(elems, p.text(e))
		}
		p.b.ReadList(k, elems)
	}
	return true
}

// noteRead notes for which version the read needs an invented writer.
func (p *witnessPart) noteRead(o *item) {
	v := keyValue{o.key, o.value}
	if o.value == absent || p.read[v] && o.by != several {
		return
	}
	other := o.by != nobody && !p.members[o.by]
	if o.first && !p.read[v] {
		p.initial = append(p.initial, v)
	}
	if other || !o.first && !p.wrote[v] { // with several writers each read may have seen another one
		p.others = append(p.others, v)
	}
	p.read[v] = true
	if other && (o.first || p.wrote[v]) && p.why == "" {
		p.why = fmt.Sprintf("several transactions, or one that is unknown, may have written %s to key %s", o.value,
			o.key)
	}
}

// writer adds a transaction with a new id that wrote versions.
func (p *witnessPart) writer(vs []keyValue, head history.TxnHead) {
	for _, v := range vs {
		p.b.Write(p.b.Key(p.text(v.key)), p.text(v.value))
	}
	for slices.ContainsFunc(p.ws, func(w witness) bool { return w.id == p.nextID }) {
		p.nextID++
	}
	head.ID, head.HasID = p.nextID, true
	p.b.EndTxn(head)
	p.nextID++
}

// absent is the value of an absent key.
const absent = "null"

// itemsOf splits a transaction into items.
func (c *court) itemsOf(w witness) []item {
	h := w.h
	var out []item
	by := func(key string, v uint32) uint64 {
		return c.wrote.writer(key, h, h.VerValue(v), c.asOf)
	}
	val := func(v uint32) string { return string(h.Texts.AppendValue(nil, h.VerValue(v))) }
	of := func(kind history.OpKind, v uint32) item {
		o := item{kind: kind, key: h.KeyString(h.VerKey[v]), value: val(v)}
		o.by = by(o.key, v)
		o.first = kind == history.Read && c.stream.IsInitial(o.key, h, h.VerValue(v))
		return o
	}
	for op, v := range h.EachOp(w.t) {
		switch kind := h.Ops.Kind[op]; kind {
		case history.Read, history.Write, history.Append:
			out = append(out, of(kind, v))
		case history.ReadList:
			o := item{kind: kind, key: h.KeyString(h.Lists.Key[v])}
			for _, e := range h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]] {
				o.list, o.bys = append(o.list, val(e)), append(o.bys, by(o.key, e))
			}
			out = append(out, o)
		default:
			for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
				if o := h.Preds.Old[r]; o != history.None {
					out = append(out, of(history.Read, o))
				}
				if o := h.Preds.New[r]; o != history.None {
					out = append(out, of(history.Write, o))
				}
			}
		}
	}
	return out
}
