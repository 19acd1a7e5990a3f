package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"isovet/check"
	"isovet/check/mechanism"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
)

// proof makes a small history of a violation. If the transactions prove that the level is violated, it has a
// certificate; otherwise it is returned only if these transactions alone violate the profile too.
func (c *court) proof(v mechanism.Violation) (*Proof, error) {
	ws, _, gone, err := c.witnesses(v)
	if err != nil {
		return nil, err
	}
	if len(gone) > 0 {
		return &Proof{Why: fmt.Sprintf("--keep deleted lines %v of the stream, from 0", gone)}, nil
	}
	if id, is := twice(ws); is {
		return &Proof{Why: fmt.Sprintf("the stream has transaction %d twice", id)}, nil
	}
	if len(ws) <= maxWitnesses {
		if p, _, err := c.prove(ws); err != nil || p != nil {
			return p, err
		}
	}
	key := c.stream.Key(v.Key)
	for _, of := range []func(string) bool{func(k string) bool { return k == key }, func(string) bool { return true }} {
		h, err := c.copy(ws, of)
		if err != nil {
			return nil, err
		}
		r, err := mechanism.Verify(context.Background(), h, mechanism.Options{Profile: *c.profile, Skew: c.skew})
		if err != nil {
			return &Proof{Why: err.Error()}, nil
		}
		if slices.ContainsFunc(r.Violations, func(x mechanism.Violation) bool {
			return x.Mechanism == v.Mechanism && x.Kind == v.Kind
		}) {
			return &Proof{H: h, Why: "the violation depends on the profile, so it has no certificate; to check it " +
				"again: isovet check " +
				"--checker leopard --profile " + c.profile.Name()}, nil
		}
	}
	return &Proof{Why: "these transactions alone do not show the violation; isovet shrink finds the ones that do"}, nil
}

// witnesses reads the transactions of a violation from the log. of maps numbers in the stream to indexes in ws. gone
// lists the transactions that the log no longer has.
func (c *court) witnesses(v mechanism.Violation) (ws []witness, of map[uint64]uint32, gone []int64, err error) {
	txns := slices.Clone(v.Txns)
	for _, t := range v.Uninstalled {
		if !slices.Contains(txns, t) {
			txns = append(txns, t)
		}
	}
	of = map[uint64]uint32{}
	for _, t := range txns {
		if _, there := of[t]; there {
			continue
		}
		w, err := c.recall(t)
		if errors.Is(err, ErrNotKept) {
			gone = append(gone, int64(t))
			continue
		}
		if err != nil {
			return nil, nil, nil, err
		}
		of[t] = uint32(len(ws))
		ws = append(ws, w)
	}
	return ws, of, gone, nil
}

// twice returns an id that two of the transactions share.
func twice(ws []witness) (id int64, is bool) {
	for i, w := range ws {
		if slices.ContainsFunc(ws[:i], func(o witness) bool { return o.id == w.id }) {
			return w.id, true
		}
	}
	return 0, false
}

// try checks the transactions alone at the level. If no checker decides the level, it returns no result. why names a
// value whose writer is uncertain.
func (c *court) try(ws []witness) (h *history.History, r *evidence.Result, why string, err error) {
	h, why, err = c.part(ws)
	if err != nil || h == nil || why != "" && len(ws) > maxAmbiguous {
		return nil, nil, why, err
	}
	at := c.level
	checker, ok := check.Auto(h, at)
	if !ok {
		at = implied
		if checker, ok = check.Auto(h, at); !ok {
			return h, nil, why, nil
		}
	}
	r, err = check.Run(context.Background(), checker, h, check.Options{Level: at, ClockSkew: c.skew})
	return h, r, why, err
}

func (j *leopard) tell(n int64, f finding) ([]byte, error) {
	if f.v != nil {
		return j.court.tell(n, *f.v)
	}
	v := Violation{N: n, Axiom: late, Txn: f.txn}
	if f.ahead != nil {
		v = *f.ahead
		v.N = n
	}
	if r := f.read; r != nil {
		w, err := j.recall(r.Reader)
		if errors.Is(err, ErrNotKept) {
			w.id, err = -1, nil
		}
		if err != nil {
			return nil, err
		}
		v.Txn, v.Key, v.Op = w.id, json.RawMessage(j.stream.Key(r.Key)), &r.Op
		if !r.None {
			if w, err = j.recall(r.Writer); errors.Is(err, ErrNotKept) {
				w.id, err = -1, nil
			}
			if err != nil {
				return nil, err
			}
			v.Other = &w.id
		}
	}
	return json.Marshal(&v)
}

// recall reads a transaction from the log.
func (j *leopard) recall(id uint64) (witness, error) {
	n := int64(id)
	line, err := j.line(n)
	if err != nil {
		return witness{}, err
	}
	h, err := jsonl.ReadPiece(append(append([]byte(nil), j.header...), line...))
	if err != nil { // it is not understood: its understood part was taken
		if h, err := jsonl.ReadPiece(append(append([]byte(nil), j.header...), understood(line)...)); err == nil {
			return witness{h: h, id: j.id(false, 0, n), line: n}, nil
		}
	}
	if err != nil {
		return witness{}, fmt.Errorf("line %d of the log cannot be read again: %w", n, err)
	}
	w := witness{h: h, id: j.id(!jsonl.Unnamed(h.Txns.ID[0]), h.Txns.ID[0], n), line: n}
	b := NewBatch(1, [][]byte{line}) // the number is its place in the session
	if len(j.header) > 0 {
		b = NewBatch(0, [][]byte{j.header[:len(j.header)-1], line})
	}
	if l := &b.Lines[len(b.Lines)-1]; l.Err == nil && l.Txn != history.None {
		w.place = placeInSession(&b.Heads[l.Txn], n)
	}
	return w, nil
}

// jsonValue returns the value of a JSON text.
func jsonValue(b *history.Builder, text string) history.Value {
	v := b.StringValue([]byte(text))
	switch c := text[0]; {
	case c == '-' || c >= '0' && c <= '9':
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			v = history.Value{Kind: history.Int, N: n}
		}
	case c == '"':
		var s string
		if json.Unmarshal([]byte(text), &s) == nil {
			v = b.StringValue([]byte(s))
		}
	case c == '{':
		v = b.RowValue([]byte(text))
	}
	if string(b.Texts.AppendValue(nil, v)) != text { // it has no such form, but different texts stay different
		return b.StringValue([]byte(text))
	}
	return v
}
