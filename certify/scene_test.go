package certify_test

import (
	"context"
	"fmt"
	"math"
	"slices"

	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// A scene is a history with the clocks' skew, and what brute force says of it at each level, asked once.
type scene struct {
	h    *history.History
	skew int64
	says map[question]evidence.Verdict
}

type question struct {
	l               level.Level
	stamps, atStart bool
}

func newScene(h *history.History, skew int64) *scene {
	return &scene{h: h, skew: skew, says: map[question]evidence.Verdict{}}
}

// maxOracle is up to how many transactions brute force is asked.
const maxOracle = 6

// truth is the verdict at a level, Unknown where brute force has none. At levels that it does not know it is that of
// another which must be violated where the one asked for is, so that Holds refutes a violation; exact says that it is
// the level's own.
func (s *scene) truth(q question) (v evidence.Verdict, exact bool) {
	h := s.h
	ask, exact := q.l, true
	switch {
	case q.stamps:
	case q.l == level.RepeatableRead:
		ask, exact = level.Serializable, !h.HasPredicates() // which implies it
	case q.l == level.Linearizable:
		ask = level.StrictSerializable
	case q.l >= level.Causal && h.HasPredicates():
		ask, exact = level.SessionSnapshotIsolation, false
	}
	if v, ok := s.says[q]; ok {
		return v, exact
	}
	if q.stamps {
		c := must.Have(check.ByName("chronos"))
		r, err := c.Check(context.Background(), h, check.Options{Level: q.l, ReadOnlyAtStart: q.atStart})
		if err != nil { // timestamps that no database gives
			r = &evidence.Result{}
		}
		s.says[q] = r.Verdict
		return r.Verdict, true
	}
	if ask.RealTime() || q.l == level.Linearizable { // a missing time is no time: nothing is before or after
		sp := specOf(h)
		for i := range sp.txns {
			t := &sp.txns[i]
			if t.head.Status != history.Committed {
				continue
			}
			if t.head.Start == history.NoTime {
				t.head.Start = math.MinInt64 + 1
			}
			if t.head.End == history.NoTime {
				t.head.End = math.MaxInt64
			}
			if q.l == level.Linearizable {
				t.head.HasSess = false
			}
		}
		if q.l == level.Linearizable {
			for i := range sp.txns {
				sp.txns[i].head.HasSess = false
			}
		}
		h = must.Have(sp.build())
	}
	r := must.Have(oracle.Check(h, oracle.Options{Level: ask, ClockSkew: s.skew, VerdictOnly: true,
		MaxTxns: maxOracle}))
	s.says[q] = r.Verdict
	return r.Verdict, exact
}

// false says why a certificate that was accepted is false, "" if it is not.
func (s *scene) false(r *evidence.Result) string {
	q := question{r.Level, r.Timestamps, r.ReadOnlyAtStart}
	v, exact := s.truth(q)
	if v != evidence.Unknown && v != r.Verdict && (exact || v == evidence.Holds) {
		return fmt.Sprintf("brute force says that it %s %s", map[evidence.Verdict]string{evidence.Holds: "holds at",
			evidence.Violated: "violates"}[v], r.Label())
	}
	if r.Verdict != evidence.Violated || r.Timestamps {
		return ""
	}
	// Whatever forbids the kind is violated by the history, at whichever level it was found.
	for i := range r.Anomalies {
		for _, l := range level.All() {
			if l == level.Linearizable || !l.Forbids(r.Anomalies[i].Kind) {
				continue
			}
			if v, _ := s.truth(question{l: l}); v == evidence.Holds {
				return fmt.Sprintf("it is named %s, which %s forbids, and brute force says that that holds",
					r.Anomalies[i].Kind, l)
			}
		}
	}
	return ""
}

// spec is a history that can be changed.
type spec struct {
	of      *history.History // to which its texts belong
	initial history.Value
	keys    []history.Value
	txns    []specTxn
}

type specTxn struct {
	head  history.TxnHead
	place int // in its session
	ops   []specOp
}

type specOp struct {
	kind history.OpKind
	key  int
	val  history.Value
	list []history.Value
	pred []byte
	rows []specRow
}

type specRow struct {
	key      int
	blind    bool
	old, new history.Value
}

func specOf(h *history.History) *spec {
	s := &spec{of: h, initial: h.Initial, keys: h.Keys}
	place := make([]int, h.NumTxns())
	for i, t := range h.SessTxn {
		place[t] = i
	}
	for t := range uint32(h.NumTxns()) {
		head := history.NewTxnHead()
		head.ID, head.HasID = h.Txns.ID[t], true
		head.Session, head.HasSess = int64(h.Txns.Sess[t]), t != h.Init
		head.Start, head.End = h.Start(t), h.End(t)
		head.StartTS, head.CommitTS = h.StartTS(t), h.CommitTS(t)
		head.Status, head.Init = h.Txns.Status[t], t == h.Init
		x := specTxn{head: head, place: place[t]}
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			o := specOp{kind: h.Ops.Kind[op], key: int(h.OpKey(op))}
			v := h.Ops.Ver[op]
			switch o.kind {
			case history.ReadList:
				for _, e := range h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]] {
					o.list = append(o.list, h.VerValue(e))
				}
			case history.PredRead, history.PredWrite:
				o.key = 0
				o.pred = h.Texts.Text(h.Preds.Pred[v])
				for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
					row := specRow{blind: h.Preds.Old[r] == history.None}
					if !row.blind {
						row.key, row.old = int(h.VerKey[h.Preds.Old[r]]), h.VerValue(h.Preds.Old[r])
					}
					if n := h.Preds.New[r]; n != history.None {
						row.key, row.new = int(h.VerKey[n]), h.VerValue(n)
					}
					o.rows = append(o.rows, row)
				}
			default:
				o.val = h.VerValue(v)
			}
			x.ops = append(x.ops, o)
		}
		s.txns = append(s.txns, x)
	}
	return s
}

// build makes the history. It has a key that no operation names, if the spec says so.
func (s *spec) build() (*history.History, error) {
	b := history.NewBuilder()
	value := func(v history.Value) history.Value {
		switch v.Kind {
		case history.String:
			return b.StringValue(s.of.Texts.Text(uint32(v.N)))
		case history.Row:
			return b.RowValue(s.of.Texts.Text(uint32(v.N)))
		}
		return v
	}
	b.Initial = value(s.initial)
	key := func(k int) uint32 { return b.Key(value(s.keys[k])) }
	for k := range s.keys {
		key(k)
	}
	for i := range s.txns {
		t := &s.txns[i]
		for _, o := range t.ops {
			switch o.kind {
			case history.Read:
				b.Read(key(o.key), value(o.val))
			case history.Write:
				b.Write(key(o.key), value(o.val))
			case history.Append:
				b.Append(key(o.key), value(o.val))
			case history.ReadList:
				l := slice.Map(o.list, value)
				b.ReadList(key(o.key), l)
			default:
				var rows []history.PredRow
				for _, r := range o.rows {
					rows = append(rows, history.PredRow{Key: key(r.key), OldUnknown: r.blind, Old: value(r.old),
						New: value(r.new)})
				}
				b.Predicate(o.kind, o.pred, rows)
			}
		}
		head := t.head
		if head.HasSess && !head.Init {
			head.HasSeq = true
			for j := range s.txns {
				u := &s.txns[j]
				if u.head.HasSess && !u.head.Init && u.head.Session == head.Session && (u.place < t.place ||
					u.place == t.place && j < i) {
					head.Seq++
				}
			}
		}
		b.EndTxn(head)
	}
	return b.Build()
}

func (s *spec) clone() *spec {
	c := *s
	c.txns = slices.Clone(s.txns)
	for i := range c.txns {
		c.txns[i].ops = slices.Clone(c.txns[i].ops)
		for j := range c.txns[i].ops {
			o := &c.txns[i].ops[j]
			o.list, o.rows = slices.Clone(o.list), slices.Clone(o.rows)
		}
	}
	return &c
}

// values are those that operations of the history name at a key.
func (s *spec) values(k int) []history.Value {
	out := []history.Value{s.initial, {}}
	for _, t := range s.txns {
		for _, o := range t.ops {
			if len(o.rows) == 0 && o.key != k {
				continue
			}
			if o.key == k && o.pred == nil && o.kind != history.ReadList {
				out = append(out, o.val)
			}
			out = append(out, o.list...)
			for _, r := range o.rows {
				if r.key == k {
					out = append(out, r.old, r.new)
				}
			}
		}
	}
	return out
}
