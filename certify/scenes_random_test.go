package certify_test

import (
	"math"
	"math/rand/v2"
	"slices"

	"isovet/history"
	"isovet/internal/test/histtest/oracletest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
)

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
		h = must.Have(s.build())
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
	return must.Have(b.Build())
}
