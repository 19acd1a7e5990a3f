package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"isovet/check"
	"isovet/check/timestamp"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
)

// prove makes a history of a violation's transactions: the failing one, the one that it should have seen or that it
// conflicts with, and the writer of the version that it read. The history has their operations on the violation's key.
// Only the failing transaction keeps its reads, so that no other read can fail. CHRONOS's verdict is the certificate.
func (j *aion) prove(log *Log, v *Violation) (*Proof, error) {
	ids := []int64{v.Txn}
	if v.Other != nil {
		ids = append(ids, *v.Other)
	}
	known, err := j.named(log, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, there := known[id]; !there {
			return &Proof{Why: fmt.Sprintf("transaction %d is not in the last %d MiB of the log, or --keep deleted "+
				"it", id, searched>>20)}, nil
		}
	}
	head, _ := jsonl.ReadPiece(j.p.header) // nil: it cannot be read
	p := aionPart{b: smallWith(head), key: string(v.Key), wrote: map[string]bool{}}
	me := known[v.Txn]
	if j.p.rows.seen && (v.Axiom == timestamp.EXT.String() || me.h.HasPredicates()) {
		return &Proof{Why: "watch makes no history of predicate operations; isovet shrink finds the smallest"}, nil
	}
	members := []recalled{me}
	if v.Other != nil && *v.Other != v.Txn {
		members = []recalled{known[*v.Other], me}
	}
	why := ""
	if v.Axiom == timestamp.EXT.String() && v.Op != nil {
		w, said, err := j.source(log, me, *v.Op, members, p.b)
		if err != nil {
			return nil, err
		}
		why = said
		members = append(w, members...)
	}
	j.addMembers(&p, v, members)
	h, err := p.b.Build()
	if err != nil {
		return &Proof{Why: err.Error()}, nil
	}
	c, err := check.ByName("chronos")
	if err != nil {
		return nil, err
	}
	r, err := check.Run(context.Background(), c, h, check.Options{Level: j.o.Level,
		ReadOnlyAtStart: j.o.ReadOnlyAtStart})
	switch {
	case err != nil:
		return &Proof{Why: err.Error()}, nil
	case r.Verdict != evidence.Violated:
		return &Proof{Why: "these transactions alone do not show the violation; isovet shrink finds the ones that " +
			"do"}, nil
	}
	return &Proof{H: h, R: r, Why: why}, nil
}

// addMembers adds the transactions of a violation to its history.
func (j *aion) addMembers(p *aionPart, v *Violation, members []recalled) {
	session := v.Axiom == timestamp.SESSION.String()
	// For a conflict of two writers the writes suffice. A read whose writer is missing here would be accused.
	reads := v.Axiom != timestamp.NOCONFLICT.String()
	var in []sessionPlace
	for i, m := range members {
		p.note(m)
		at := int64(i) // for a violation of SESSION: the earlier one comes first
		if !session && m.head.StartTS != history.NoTime {
			at = m.head.StartTS
		}
		in = append(in, placeInSession(&m.head, at))
	}
	for i, rank := range ranks(in) {
		m := members[i]
		in[i].setOn(&m.head, rank)
		// A writer stands at its commit, a reader at its start.
		p.member(m, reads && m.id == v.Txn, m.id == v.Txn && j.o.Level.Serial(), session)
	}
}

// named finds transactions by the numbers that violations use for them: ids or, for lines without ids, numbers of
// lines after the header.
func (j *aion) named(log *Log, ids []int64) (map[int64]recalled, error) {
	known := map[int64]recalled{}
	var rest []int64
	for _, id := range ids {
		if n := plus(id, j.p.first); n >= 0 && id >= 0 && n < j.p.lines {
			line, err := log.Line(n)
			if err != nil && !errors.Is(err, ErrNotKept) {
				return nil, err
			}
			if w, is := parsed(line); err == nil && is && !w.head.HasID {
				w.id = id
				known[id] = w
				continue
			}
		}
		rest = append(rest, id)
	}
	if len(rest) == 0 {
		return known, nil
	}
	found, err := log.withIDs(rest)
	maps.Copy(known, found)
	return known, err
}

// source finds the writers of the version that an operation read, unless members has one: a transaction, or the
// initial one. why says why there is none.
func (j *aion) source(log *Log, me recalled, op uint32, members []recalled, b *history.Builder) (w []recalled,
	why string, err error) {
	lo, hi := me.h.TxnOps(me.t)
	if lo+op >= hi {
		return nil, "", nil
	}
	ver := me.h.Ops.Ver[lo+op]
	if me.h.Ops.Kind[lo+op] == history.ReadList {
		elems := me.h.Lists.Elem[me.h.Lists.Off[ver]:me.h.Lists.Off[ver+1]]
		if len(elems) == 0 {
			return nil, "", nil
		}
		ver = elems[len(elems)-1] // the last element shows how far it saw
	}
	name := versionOf(me.h, ver)
	val := me.h.VerValue(ver)
	if val.Kind == history.Null && b.Initial.Kind == history.Null ||
		string(me.h.Texts.AppendValue(nil, val)) == string(b.Texts.AppendValue(nil, b.Initial)) {
		return nil, "", nil
	}
	if slices.ContainsFunc(members, func(w recalled) bool { return w.wrote(name) }) {
		return nil, "", nil
	}
	if j.p.begins {
		line, err := log.Line(j.p.first)
		if err != nil && !errors.Is(err, ErrNotKept) {
			return nil, "", err
		}
		if w, is := parsed(line); err == nil && is && w.head.Init && w.wrote(name) {
			return []recalled{w}, "", nil
		}
	}
	x, any, err := log.writer(me.h, ver)
	if err != nil || any {
		if any && !x.head.HasID {
			x.id = -1 - me.id // a line without id, whose place is unknown
		}
		return []recalled{x}, "", err
	}
	return nil, fmt.Sprintf("no transaction in the last %d MiB of the log wrote the value read", searched>>20), nil
}

// aionPart builds a history of a violation's transactions.
type aionPart struct {
	b     *history.Builder
	key   string // as JSON; "": all
	wrote map[string]bool
	ids   []int64
}

func (p *aionPart) mine(h *history.History, key uint32) bool {
	return p.key == "" || h.KeyString(key) == p.key
}

func (p *aionPart) note(w recalled) {
	for op := range w.h.EachOp(w.t) {
		if w.h.Ops.Kind[op] == history.Append {
			p.wrote[versionOf(w.h, w.h.Ops.Ver[op])] = true
		}
	}
}

// member adds a transaction with its writes of the violation's key, or of all keys if writes is set, and with its
// reads of that key if reads is set. If session is set, it adds no operations. It leaves out the elements of lists
// that no member appended.
func (p *aionPart) member(w recalled, reads, writes, session bool) {
	h := w.h
	put := history.Copier{To: p.b, Elem: func(h *history.History, v uint32) bool { return p.wrote[versionOf(h, v)] }}
	for op := range h.EachOp(w.t) {
		switch k := h.OpKey(op); h.Ops.Kind[op] {
		case history.Write, history.Append:
			if !session && (writes || p.mine(h, k)) {
				put.Op(h, op)
			}
		case history.Read, history.ReadList:
			if !session && reads && p.mine(h, k) {
				put.Op(h, op)
			}
		}
	}
	head := w.head
	for slices.Contains(p.ids, w.id) {
		w.id++
	}
	p.ids = append(p.ids, w.id)
	head.ID, head.HasID = w.id, true
	head.Node, head.Name = history.None, history.None
	p.b.EndTxn(head)
}
