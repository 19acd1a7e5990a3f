package watch

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"isovet/check/timestamp"
	"isovet/history"
	"isovet/history/format/jsonl"
)

// parser turns lines into arrivals; what a line says is for the reader of the history format to tell. Keys and sessions
// are numbered as they come; a value is a hash of 64 bits of its JSON as the project writes it, null is 0.
type parser struct {
	aion     *timestamp.Aion
	keys     map[string]uint32
	names    []string // key → JSON
	sessions map[int64]uint32
	initial  uint64
	lists    bool
	ordinal  int64
	text     []byte
	buf      timestamp.Arrival
	// What lines that are not understood may have written: of registers, and lists. Who reads it is not accused.
	lost      map[version]struct{}
	lostLists map[uint32]struct{}
}

type version struct {
	key uint32
	val uint64
}

func newParser(a *timestamp.Aion) *parser {
	return &parser{aion: a, keys: map[string]uint32{}, sessions: map[int64]uint32{}, lost: map[version]struct{}{},
		lostLists: map[uint32]struct{}{}}
}

// value hashes a value.
func (p *parser) value(h *history.History, v history.Value) uint64 {
	if v.Kind == history.Null {
		return 0
	}
	p.text = h.Texts.AppendValue(p.text[:0], v)
	return max(xxhash.Sum64(p.text), 1)
}

func (p *parser) key(h *history.History, key uint32) uint32 {
	p.text = h.Texts.AppendValue(p.text[:0], h.Keys[key])
	if k, ok := p.keys[string(p.text)]; ok {
		return k
	}
	k := uint32(len(p.names))
	p.names = append(p.names, string(p.text))
	p.keys[p.names[k]] = k
	p.aion.SetInitial(k, p.initial)
	return k
}

// parse returns nil for lines that are no transaction to be judged: a header, the initial transaction. Of a line that
// is not understood it returns, beside the error, what keeps its place in its session, if it says that. The arrival is
// valid until the next call.
func (p *parser) parse(line []byte) (*timestamp.Arrival, error) {
	ordinal := p.ordinal
	a, err := p.line(line)
	if err != nil {
		a = p.doubt(line, ordinal)
	}
	return a, err
}

func (p *parser) line(line []byte) (*timestamp.Arrival, error) {
	l, err := jsonl.ReadLine(line, p.lists)
	if err != nil {
		p.ordinal++
		return nil, plain(err)
	}
	h, t := l.H, &l.Head
	if h.NumTxns() == 0 {
		p.lists, p.initial = h.Meta.Lists, p.value(h, h.Initial)
		return nil, nil
	}
	a := &p.buf
	*a = timestamp.Arrival{ID: p.ordinal, Session: timestamp.NoSession, Seq: timestamp.NoSeq, Ops: a.Ops[:0],
		Lists: a.Lists[:0]}
	p.ordinal++
	if !jsonl.Unnamed(h.Txns.ID[0]) {
		a.ID = h.Txns.ID[0]
	}
	a.NoPart = t.Status == history.Aborted || t.Status == history.Unknown && t.CommitTS == history.NoTime
	if !a.NoPart && !t.Init {
		if t.StartTS == history.NoTime || t.CommitTS == history.NoTime {
			return nil, fmt.Errorf("transaction %d has not both start_ts and commit_ts; expected the database's "+
				"timestamps on every committed transaction", a.ID)
		}
		a.Start, a.Commit = t.StartTS, t.CommitTS
	}
	if t.HasSeq && t.Seq < 0 {
		return nil, fmt.Errorf("transaction %d, field %q: %d; expected a place in the session, from 0", a.ID, "seq",
			t.Seq)
	}
	if h.HasPredicates() {
		return nil, fmt.Errorf("transaction %d, field %q: a predicate operation; watch checks registers and lists",
			a.ID, "ops")
	}
	if t.HasSess && !t.Init {
		a.Session = p.session(t.Session)
		if t.HasSeq {
			a.Seq = t.Seq
		}
	}
	p.ops(h)
	if t.Init {
		for _, op := range a.Ops {
			if op.Kind == history.Append {
				p.aion.AppendInitial(op.Key, op.Val)
			} else {
				p.aion.SetInitial(op.Key, op.Val)
			}
		}
		return nil, nil
	}
	return a, nil
}

func (p *parser) session(name int64) uint32 {
	n, ok := p.sessions[name]
	if !ok {
		n = uint32(len(p.sessions))
		p.sessions[name] = n
	}
	return n
}

// ops adds the operations of a line.
func (p *parser) ops(h *history.History) {
	a := &p.buf
	for op, kind := range h.Ops.Kind {
		o := timestamp.ArrivalOp{Key: p.key(h, h.OpKey(uint32(op))), Kind: kind}
		v := h.Ops.Ver[op]
		if kind != history.ReadList {
			o.Val = p.value(h, h.VerValue(v))
			a.Ops = append(a.Ops, o)
			continue
		}
		o.Val = uint64(len(a.Lists))
		elems := h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]]
		list := make([]uint64, len(elems))
		for i, e := range elems {
			list[i] = p.value(h, h.VerValue(e))
		}
		a.Lists = append(a.Lists, list)
		a.Ops = append(a.Ops, o)
	}
}

// plain is an input error without the number of the line, which is 1 of 1.
func plain(err error) error {
	in, ok := errors.AsType[*history.InputError](err)
	switch {
	case !ok:
		return err
	case in.Field != "":
		return fmt.Errorf("field %q: %s", in.Field, in.Msg)
	}
	return errors.New(in.Msg)
}

// doubt notes what a line that is not understood may have written, if its operations can be read, and returns what
// takes its place in its session.
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
			Ops: p.buf.Ops[:0], Lists: p.buf.Lists[:0]}
		a = &p.buf
		if id := number("id"); id != nil {
			a.ID = *id
		}
		if q := number("seq"); q != nil && *q >= 0 {
			a.Seq = *q
		}
	}
	var ops []json.RawMessage
	if json.Unmarshal(t["ops"], &ops) == nil {
		for _, op := range ops {
			p.doubtOp(op)
		}
	}
	return a
}

func (p *parser) doubtOp(op []byte) {
	l, err := jsonl.ReadLine(append(append([]byte(`{"ops":[`), op...), "]}"...), p.lists)
	if err != nil {
		return
	}
	h := l.H
	note := func(ver uint32) {
		p.lost[version{p.key(h, h.VerKey[ver]), p.value(h, h.VerValue(ver))}] = struct{}{}
	}
	for op, kind := range h.Ops.Kind {
		switch v := h.Ops.Ver[op]; kind {
		case history.Write:
			note(v)
		case history.Append:
			p.lostLists[p.key(h, h.VerKey[v])] = struct{}{}
		case history.PredWrite:
			for _, made := range h.Preds.New[h.Preds.Off[v]:h.Preds.Off[v+1]] {
				note(made)
			}
		}
	}
}

// doubtful reports whether a finding rests on what a line that is not understood may have written.
func (p *parser) doubtful(f *timestamp.Final) bool {
	if f.Key == history.None || f.Axiom != timestamp.EXT {
		return false
	}
	if _, lost := p.lostLists[f.Key]; lost {
		return true
	}
	_, lost := p.lost[version{f.Key, f.Got}]
	return lost
}
