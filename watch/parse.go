package watch

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"isovet/check/timestamp"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/bounds"
	"isovet/internal/keyed"
	"isovet/internal/keystore"
	"isovet/internal/saved"
)

// parser turns parsed lines into arrivals. It numbers keys and sessions in the order in which they arrive. Values
// become keyed hashes; null becomes 0.
type parser struct {
	aion     *timestamp.Aion
	hash     *keyed.Key
	keys     *keystore.Table // keys by their JSON
	keyOf    []uint32        // the batch's key → the judge's
	sessions *keystore.Table // sessions by their names, as 8 bytes
	initial  uint64
	lists    bool
	first    int64 // number of the line behind the header
	header   []byte
	lines    int64 // lines so far
	begins   bool  // there is an initial transaction
	text     []byte
	elems    []uint64
	buf      timestamp.Arrival
	// doubted, with its keys, and doubtedLists have the writes that lines which are not understood may have. Their
	// readers are not accused.
	doubted                   doubts[version]
	doubtedKeys, doubtedLists doubts[uint64]
	rows                      rows
	spread                    spread     // of all keys
	err                       error      `freeze:"-"` // of the store of keys
	turned                    *rectified `freeze:"-"`
	// evict, if set, moves states from memory to the store. held says that the batch's initial transaction has been
	// taken.
	evict func() error `freeze:"-"`
	held  bool         `freeze:"-"`
	// who is the hash of the last transaction's session; hasWho is false if it has none.
	who    uint64 `freeze:"-"`
	hasWho bool   `freeze:"-"`
}

// version identifies a version by hashes of its key and value. The number of the key may change.
type version struct{ key, val uint64 }

// The kinds of states in the store.
const (
	keyKind     = 'k'
	sessionKind = 's'
)

// newParser returns a parser. hash hashes values. store may be nil.
func newParser(a *timestamp.Aion, hash *keyed.Key, store *keystore.Store) *parser {
	p := &parser{aion: a, hash: hash, keys: keystore.NewTable(store, keyKind, hash),
		sessions: keystore.NewTable(store, sessionKind, hash), rows: rows{keeps: true},
		turned: &rectified{now: time.Now}}
	a.Follow(p.turned.follow)
	a.KeepRows(p.truth)
	return p
}

// number returns the number of a key. The key's state is in memory only after fetch.
func (p *parser) number(t *history.Texts, key history.Value) uint32 {
	p.text = t.AppendValue(p.text[:0], key)
	k, made := p.keys.Number(p.text)
	if made {
		p.aion.SetInitial(k, p.initial)
		p.spread.add(p.text)
	}
	return k
}

// fetch loads the states of the keys that were numbered.
func (p *parser) fetch() {
	if err := p.keys.Fetch(p.aion.LoadKey); err != nil {
		p.err = errors.Join(p.err, err)
	}
}

func (p *parser) begin(b *Batch) {
	p.lines = max(p.lines, b.First+int64(len(b.Lines)))
	if b.Header != nil {
		p.lists, p.initial = b.Header.Meta.Lists, b.Header.Texts.Keyed(p.hash, b.Header.Initial)
		p.keep(b.Header.Texts, b.Header.Initial, p.initial)
		p.first = b.First + 1
		for i := range b.Lines {
			if l := &b.Lines[i]; l.Err != nil || l.Txn != history.None {
				break
			}
			if jsonl.IsHeader(b.Text(i)) {
				p.header = append(bytes.Clone(b.Text(i)), '\n')
			}
			p.first = b.First + int64(i) + 1
		}
	}
	if p.held = p.inPieces(b); p.held {
		return
	}
	p.keyOf = saved.Spare(p.keyOf, len(b.H.Keys))
	for _, k := range b.H.Keys {
		p.keyOf = append(p.keyOf, p.number(b.H.Texts, k))
	}
	p.fetch()
}

// line returns the arrival of a line, or nil for a header or the initial transaction. If it does not understand the
// line, it returns an error with an arrival that takes the transaction's place in its session, if that is known. It
// calls before before each transaction except the initial one. The arrival is valid until the next call.
func (p *parser) line(b *Batch, i int, before func()) (*timestamp.Arrival, error) {
	l := &b.Lines[i]
	ordinal := l.N - p.first
	if l.Err != nil {
		return p.doubt(b.Text(i), ordinal), l.Err
	}
	if b.Heads[l.Txn].Init {
		p.begins = true
	} else {
		before()
	}
	a, err := p.txn(b, l.Txn, ordinal)
	if err != nil {
		a = p.doubt(b.Text(i), ordinal)
	}
	return a, err
}

// head makes an arrival from a transaction's head.
func (p *parser) head(t *history.TxnHead, ordinal int64) *timestamp.Arrival {
	a := &p.buf
	*a = timestamp.Arrival{ID: ordinal, Session: timestamp.NoSession, Seq: timestamp.NoSeq, Ops: saved.Spare(a.Ops, 0),
		Lists: a.Lists[:0], Preds: a.Preds[:0]}
	if t.HasID {
		a.ID = t.ID
	}
	if a.NoPart = noPart(t); !a.NoPart && !t.Init {
		a.Start, a.Commit = t.StartTS, t.CommitTS
	}
	return a
}

func (p *parser) txn(b *Batch, n uint32, ordinal int64) (*timestamp.Arrival, error) {
	h, t := b.H, &b.Heads[n]
	a := p.head(t, ordinal)
	if err := unfit(t, a.ID); err != nil {
		return nil, err
	}
	if p.hasWho = t.HasSess && !t.Init; p.hasWho {
		a.Session = p.session(t.Session)
		if t.HasSeq {
			a.Seq = t.Seq
		}
	}
	if t.Init && n == 0 && p.held {
		return nil, nil
	}
	p.ops(h, h.Txns.OpOff[n], h.Txns.OpOff[n+1])
	if t.Init {
		p.holds(a)
		return nil, nil
	}
	return a, nil
}

// holds sets the values that the initial transaction writes.
func (p *parser) holds(a *timestamp.Arrival) {
	for _, op := range a.Ops {
		if op.Kind == history.Append {
			p.aion.AppendInitial(op.Key, op.Val)
		} else {
			p.aion.SetInitial(op.Key, op.Val)
			p.aion.Name(op.Key)
		}
	}
}

func (p *parser) session(name int64) uint32 {
	p.text = binary.BigEndian.AppendUint64(p.text[:0], uint64(name))
	n, made := p.sessions.Number(p.text)
	p.who = p.sessions.Sum(n)
	if made {
		if err := p.sessions.Fetch(p.aion.LoadSession); err != nil {
			p.err = errors.Join(p.err, err)
		}
	}
	return n
}

// ops adds the operations of a transaction.
func (p *parser) ops(h *history.History, lo, hi uint32) {
	a := &p.buf
	p.elems = p.elems[:0]
	nulls := false
	for op := lo; op < hi; op++ {
		v := h.Ops.Ver[op]
		kind := h.Ops.Kind[op]
		switch kind {
		case history.PredRead, history.PredWrite:
			a.Ops = append(a.Ops, timestamp.ArrivalOp{Key: history.None, Kind: kind, Val: uint64(len(a.Preds))})
			a.Preds = append(a.Preds, p.predicate(h, v))
			continue
		case history.Read, history.Write, history.Append:
			o := timestamp.ArrivalOp{Key: p.keyOf[h.VerKey[v]], Kind: kind, Val: h.Texts.Keyed(p.hash, h.VerValue(v))}
			nulls = nulls || kind == history.Read && o.Val == 0
			a.Ops = append(a.Ops, o)
			if kind == history.Write || p.rows.attach {
				p.keep(h.Texts, h.VerValue(v), o.Val)
			}
			continue
		}
		a.Ops = append(a.Ops, timestamp.ArrivalOp{Key: p.keyOf[h.Lists.Key[v]], Kind: kind, Val: uint64(len(a.Lists))})
		from := len(p.elems)
		for _, e := range h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]] {
			p.elems = append(p.elems, h.Texts.Keyed(p.hash, h.VerValue(e)))
		}
		a.Lists = append(a.Lists, p.elems[from:len(p.elems):len(p.elems)])
	}
	if p.lists && nulls {
		p.nullLists()
	}
}

// nullLists turns reads of null into reads of empty lists if the header says so, except for keys that the transaction
// uses as registers.
func (p *parser) nullLists() {
	a := &p.buf
	for i := range a.Ops {
		o := &a.Ops[i]
		register := slices.ContainsFunc(a.Ops, func(x timestamp.ArrivalOp) bool {
			return x.Key == o.Key && (x.Kind == history.Write || x.Kind == history.Read && x.Val != 0)
		})
		if o.Kind == history.Read && o.Val == 0 && !register {
			o.Kind, o.Val = history.ReadList, uint64(len(a.Lists))
			a.Lists = append(a.Lists, nil)
		}
	}
}

// doubt notes the writes that a line which is not understood may have. It returns an arrival that takes the
// transaction's place in its session.
func (p *parser) doubt(line []byte, ordinal int64) *timestamp.Arrival {
	var t map[string]json.RawMessage
	if json.Unmarshal(line, &t) != nil {
		return nil
	}
	number := func(field string) *int64 {
		var n *int64
		if json.Unmarshal(t[field], &n) != nil {
			return nil
		}
		return n
	}
	var a *timestamp.Arrival
	if s := number("session"); s != nil {
		p.buf = timestamp.Arrival{ID: ordinal, Session: p.session(*s), Seq: timestamp.NoSeq, NoPart: true,
			Ops: p.buf.Ops[:0], Lists: p.buf.Lists[:0], Preds: p.buf.Preds[:0]}
		a = &p.buf
		if id := number("id"); id != nil {
			a.ID = *id
		}
		if q := number("seq"); q != nil && *q >= 0 {
			a.Seq = *q
		}
	}
	p.doubtAll(t["ops"])
	return a
}

// doubtOps notes the writes that a line may have.
func (p *parser) doubtOps(line []byte) {
	var t map[string]json.RawMessage
	if json.Unmarshal(line, &t) == nil {
		p.doubtAll(t["ops"])
	}
}

// maxLost bounds the noted writes. Reads hardly see older ones.
var maxLost = 1 << 18

func init() { bounds.Register("watch.maxLost", &maxLost) }

// doubts is a set that keeps at least half of maxLost elements, the latest.
type doubts[K comparable] struct{ newer, older map[K]struct{} }

func (d *doubts[K]) add(k K) {
	if d.newer == nil || len(d.newer) > maxLost/2 {
		d.newer, d.older = map[K]struct{}{}, d.newer
	}
	d.newer[k] = struct{}{}
}

func (d *doubts[K]) has(k K) bool {
	_, newer := d.newer[k]
	_, older := d.older[k]
	return newer || older
}

func (p *parser) doubtAll(text []byte) {
	var ops []json.RawMessage
	if json.Unmarshal(text, &ops) == nil {
		for _, op := range ops {
			p.doubtOp(op)
		}
	}
}

func (p *parser) doubtOp(op []byte) {
	l, err := jsonl.ReadLine(append(append([]byte(`{"ops":[`), op...), "]}"...), p.lists)
	if err != nil {
		return
	}
	h := l.H
	note := func(ver uint32) {
		key := p.sum(h.Texts, h.Keys[h.VerKey[ver]])
		p.doubted.add(version{key, h.Texts.Keyed(p.hash, h.VerValue(ver))})
		p.doubtedKeys.add(key)
	}
	for op, kind := range h.Ops.Kind {
		switch v := h.Ops.Ver[op]; kind {
		case history.Write:
			note(v)
		case history.Append:
			p.doubtedLists.add(p.sum(h.Texts, h.Keys[h.VerKey[v]]))
		case history.PredWrite:
			for _, made := range h.Preds.New[h.Preds.Off[v]:h.Preds.Off[v+1]] {
				note(made)
			}
		}
	}
}

// doubtful reports whether a finding is uncertain because a line that is not understood may have written the version.
// sum is the key's hash.
func (p *parser) doubtful(f *timestamp.Final, sum uint64) bool {
	if f.Key == history.None || f.Axiom != timestamp.EXT {
		return false
	}
	if f.Kind == timestamp.Phantom && p.doubtedKeys.has(sum) { // the version seen may be any
		return true
	}
	return p.doubtedLists.has(sum) || p.doubted.has(version{sum, f.Got})
}

func (p *parser) sum(t *history.Texts, key history.Value) uint64 {
	p.text = t.AppendValue(p.text[:0], key)
	return p.keys.SumOf(p.text)
}
