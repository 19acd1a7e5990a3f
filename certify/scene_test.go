package certify_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"isovet/check"
	"isovet/check/oracle"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/histtest/oracletest"
	"isovet/internal/histtest/random"
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
		c, err := check.ByName("chronos")
		if err != nil {
			panic(err)
		}
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
		var err error
		if h, err = sp.build(); err != nil {
			panic(err)
		}
	}
	r, err := oracle.Check(h, oracle.Options{Level: ask, ClockSkew: s.skew, VerdictOnly: true, MaxTxns: maxOracle})
	if err != nil {
		panic(err)
	}
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
				var l []history.Value
				for _, e := range o.list {
					l = append(l, value(e))
				}
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

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

// far are times at the ends of what an int64 holds, and some that are close to one another.
var far = []int64{math.MinInt64 + 1, math.MinInt64 + 2, math.MinInt64 / 2, -1, 0, 1, math.MaxInt64 / 2,
	math.MaxInt64 - 1, math.MaxInt64}

// mutate changes one thing, so that the history can still be built.
func (s *spec) mutate(rng *rand.Rand) {
	if len(s.txns) == 0 {
		return
	}
	t := &s.txns[rng.IntN(len(s.txns))]
	u := &s.txns[rng.IntN(len(s.txns))]
	switch n := rng.IntN(20); {
	case n < 9 && len(t.ops) > 0:
		s.mutateOp(rng, t)
	case n < 11 && !t.head.Init:
		t.head.Status = history.Status(rng.IntN(3))
	case n == 11 && !t.head.Init && !u.head.Init:
		t.head.Session, u.head.Session = u.head.Session, t.head.Session
	case n == 12 && !t.head.Init && !u.head.Init:
		t.head.Session = u.head.Session
	case n == 13:
		t.place, u.place = u.place, t.place
	case n == 14:
		t.head.Start, t.head.End, u.head.Start, u.head.End = u.head.Start, u.head.End, t.head.Start, t.head.End
	case n == 15:
		t.head.StartTS, t.head.CommitTS, u.head.StartTS, u.head.CommitTS = u.head.StartTS, u.head.CommitTS,
			t.head.StartTS, t.head.CommitTS
	case n == 16:
		a, b := pick(rng, far), pick(rng, far)
		t.head.Start, t.head.End = min(a, b), max(a, b)
	case n == 17 && t.head.StartTS != history.NoTime:
		a, b := pick(rng, far), pick(rng, far)
		t.head.StartTS, t.head.CommitTS = min(a, b), max(a, b)
	case n == 18 && !t.head.Init:
		t.ops = nil
	case n == 19:
		t.head.ID, u.head.ID = u.head.ID, t.head.ID
	}
}

func (s *spec) mutateOp(rng *rand.Rand, t *specTxn) {
	i := rng.IntN(len(t.ops))
	o := &t.ops[i]
	other := pick(rng, s.txns)
	switch rng.IntN(6) {
	case 0:
		t.ops = slices.Delete(t.ops, i, i+1)
	case 1:
		j := rng.IntN(len(t.ops))
		t.ops[i], t.ops[j] = t.ops[j], t.ops[i]
	case 2:
		if len(other.ops) > 0 {
			x := pick(rng, other.ops)
			if !t.head.Init || x.kind == history.Write || x.kind == history.Append {
				t.ops = slices.Insert(t.ops, rng.IntN(len(t.ops)+1), x)
			}
		}
	default:
		switch o.kind {
		case history.Read:
			o.val = pick(rng, s.values(o.key))
			if rng.IntN(6) == 0 {
				o.kind = history.Write
			}
		case history.Write, history.Append:
			o.val = pick(rng, s.values(o.key))
		case history.ReadList:
			switch v := s.values(o.key); {
			case rng.IntN(2) == 0 || len(o.list) == 0:
				o.list = slices.Insert(o.list, rng.IntN(len(o.list)+1), pick(rng, v))
			case rng.IntN(2) == 0:
				j := rng.IntN(len(o.list))
				o.list = slices.Delete(o.list, j, j+1)
			default:
				j, k := rng.IntN(len(o.list)), rng.IntN(len(o.list))
				o.list[j], o.list[k] = o.list[k], o.list[j]
			}
		default:
			if len(o.rows) == 0 {
				return
			}
			j := rng.IntN(len(o.rows))
			switch rng.IntN(3) {
			case 0:
				o.rows = slices.Delete(o.rows, j, j+1)
			case 1:
				o.rows[j].old = pick(rng, s.values(o.rows[j].key))
			default:
				o.rows[j].new = pick(rng, s.values(o.rows[j].key))
			}
		}
	}
}

// randomScene makes a history of some kind: registers with equal values and deletes, lists whose elements are appended
// several times over initial ones, predicates, timestamps, one key, all with aborted transactions and such of unknown
// outcome; in half of them times, sessions, outcomes and operations changed at random.
func randomScene(seed uint64) *scene {
	rng := rand.New(rand.NewPCG(seed, 0xf04ce))
	var h *history.History
	some := func() bool { return rng.IntN(2) == 0 }
	switch rng.IntN(6) {
	case 0:
		h = oracletest.Random(seed, oracletest.Shape{Txns: 5, Keys: 2, Sessions: 3, Ops: 4, Duplicates: some(),
			Deletes: some(), Aborted: some(), Unknown: some(), Init: some(), Torn: some()})
	case 1:
		h = oracletest.Random(seed, oracletest.Shape{Txns: 5, Keys: 2, Sessions: 3, Ops: 4, Lists: true,
			Aborted: some(), Unknown: some(), Init: some(), Torn: some()})
	case 2:
		o := random.Options{Txns: 5, Aborted: some(), Unknown: some(), NoTimes: rng.IntN(4) == 0}
		if o.Lists = some(); !o.Lists {
			o.Single, o.Duplicates, o.Deletes = some(), some(), some()
		}
		h = random.Tiny(seed, o)
	case 3:
		h = random.Tiny(seed, random.Options{Txns: 4, Keys: 1 + rng.IntN(2), Predicates: true, Duplicates: some(),
			Deletes: some(), Aborted: some(), Unknown: some()})
	case 4:
		h = random.Stamped(seed, random.StampedOptions{Txns: 4, Ties: some(), Lists: some(),
			Predicates: rng.IntN(3) == 0, Duplicates: some(), Deletes: some(), Aborted: some(), Unknown: some(),
			Serial: some()})
	default:
		h = crowded(rng)
	}
	if some() {
		s := specOf(h)
		for range 1 + rng.IntN(3) {
			next := s.clone()
			next.mutate(rng)
			if _, err := next.build(); err == nil {
				s = next
			}
		}
		if some() { // all times far apart, or close to an end
			by, to := int64(1), int64(0)
			switch rng.IntN(3) {
			case 0:
				by = 1 << 52
			case 1:
				to = math.MaxInt64 - 1<<20
			default:
				to = math.MinInt64 + 1<<20
			}
			near := s.clone()
			for i := range near.txns {
				for _, at := range []*int64{&near.txns[i].head.Start, &near.txns[i].head.End} {
					if *at != history.NoTime && *at > -1<<10 && *at < 1<<10 {
						*at = *at*by + to
					}
				}
			}
			if _, err := near.build(); err == nil {
				s = near
			}
		}
		var err error
		if h, err = s.build(); err != nil {
			panic(err)
		}
	}
	return newScene(h, pick(rng, []int64{0, 0, 0, 1, 3, 20, 1 << 53, math.MaxInt64 / 2, math.MaxInt64}))
}

// crowded is a history of lists and registers whose values repeat, over initial ones, empty transactions among the
// others.
func crowded(rng *rand.Rand) *history.History {
	b := history.NewBuilder()
	if rng.IntN(2) == 0 {
		b.Initial = history.IntValue(int64(rng.IntN(2)))
	}
	keys, values := 1+rng.IntN(2), 1+rng.IntN(3)
	lists := rng.IntN(4) > 0
	state := make([][]history.Value, keys)
	cell := make([]history.Value, keys)
	for k := range cell {
		cell[k] = b.Initial
	}
	value := func() history.Value { return history.IntValue(int64(1 + rng.IntN(values))) }
	n := 1 + rng.IntN(5)
	id := int64(1)
	init := rng.IntN(3) == 0
	for i := range n {
		isInit := init && i == 0
		own := make([][]history.Value, keys)
		mine := slices.Clone(cell)
		for range rng.IntN(4) {
			k := rng.IntN(keys)
			isList := lists && k == 0
			switch {
			case isList && (isInit || rng.IntN(2) == 0):
				v := value()
				b.Append(b.Key(history.IntValue(int64(k))), v)
				own[k] = append(own[k], v)
			case isList:
				from := state[k]
				if rng.IntN(4) == 0 {
					from = from[:rng.IntN(len(from)+1)]
				}
				b.ReadList(b.Key(history.IntValue(int64(k))), append(slices.Clone(from), own[k]...))
			case isInit || rng.IntN(2) == 0:
				mine[k] = value()
				b.Write(b.Key(history.IntValue(int64(k))), mine[k])
			default:
				v := mine[k]
				if rng.IntN(4) == 0 {
					v = value()
				}
				b.Read(b.Key(history.IntValue(int64(k))), v)
			}
		}
		head := history.NewTxnHead()
		head.ID, head.HasID = id, true
		id++
		head.Init = isInit
		if !isInit {
			head.Session, head.HasSess = int64(rng.IntN(3)), rng.IntN(4) > 0
			if rng.IntN(2) == 0 {
				head.Status = history.Status(rng.IntN(3))
			}
			head.Start = int64(10*i - rng.IntN(15))
			head.End = head.Start + int64(rng.IntN(15))
		}
		b.EndTxn(head)
		if head.Status == history.Committed || head.Status == history.Unknown && rng.IntN(2) == 0 {
			for k := range own {
				state[k] = append(slices.Clone(state[k]), own[k]...)
			}
			cell = mine
		}
	}
	h, err := b.Build()
	if err != nil {
		panic(err)
	}
	return h
}
