package large

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"sort"

	"isovet/level"
)

// at is a position in an order.
type at struct {
	t   int64
	n   uint64
	sub uint32
}

func (a at) compare(b at) int {
	return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.n, b.n), cmp.Compare(a.sub, b.sub))
}

func (a at) before(b at) bool {
	if a.t != b.t {
		return a.t < b.t
	}
	return a.compare(b) < 0
}

// exception is a transaction that is at another position than the rule gives it.
type exception struct {
	place         int64
	id            int64
	begin, commit at
	// The times that real time compares, with the smallest and the largest number for missing ones; until the
	// transaction is met in the history, those that the certificate gives.
	start, end int64
	met        bool
}

// verifier checks the order of a valid history's certificate.
type verifier struct {
	s     *Source
	o     Options
	level level.Level
	skew  int64
	// byPlace is set if transactions are ordered by their place in the history, not by their times.
	byPlace bool
	linear  bool // no sessions, transactions on one key
	stamps  stamped
	ops     int64

	ex []exception // by place
	// For real time: the exceptions by commit, with the earliest end from each one on; and by begin, with the latest
	// start up to each one.
	byCommit []at
	minEnd   []int64
	byBegin  []at
	maxStart []int64

	initial value
}

// read reads the exceptions from the certificate.
func (v *verifier) read(in *lines, n int64) error {
	if n < 0 || n > v.s.Txns {
		return in.errorf("exceptions", "%d of %d transactions", n, v.s.Txns)
	}
	for range n {
		line, err := in.next()
		if err != nil {
			return err
		}
		var x struct {
			Txn           int64
			Place         int64
			Begin, Commit *[3]json.Number
			Start, End    *int64
		}
		if err := json.Unmarshal(line, &x); err != nil {
			return in.errorf("", "%v; expected an exception", err)
		}
		e := exception{place: x.Place, id: x.Txn}
		for _, p := range []struct {
			from *[3]json.Number
			to   *at
			name string
		}{{x.Begin, &e.begin, "begin"}, {x.Commit, &e.commit, "commit"}} {
			if p.from == nil || !number(p.from[0], &p.to.t) || !number(p.from[1], &p.to.n) ||
				!number(p.from[2], &p.to.sub) {
				return in.errorf(p.name, "expected three numbers: time, place, and rank at this place")
			}
		}
		if x.Start == nil || x.End == nil {
			return in.errorf("start", "expected start and end")
		}
		e.start, e.end = *x.Start, *x.End
		if k := len(v.ex); k > 0 && v.ex[k-1].place >= e.place {
			return in.errorf("place", "%d follows %d; expected ascending numbers", e.place, v.ex[k-1].place)
		}
		v.ex = append(v.ex, e)
	}
	if err := in.end(); err != nil {
		return err
	}
	return v.apart()
}

func number[T int64 | uint64 | uint32](n json.Number, to *T) bool {
	return json.Unmarshal([]byte(n), to) == nil
}

// apart returns an error if two exceptions share a position.
func (v *verifier) apart() error {
	var all []at
	for i := range v.ex {
		e := &v.ex[i]
		if e.commit.before(e.begin) {
			return refute("transaction %d begins after its commit", e.id)
		}
		if e.begin != e.commit && v.level.Serial() {
			return refute("transaction %d begins and commits at different places, at a serializable level", e.id)
		}
		all = append(all, e.begin)
		if e.commit != e.begin {
			all = append(all, e.commit)
		}
		for _, a := range []at{e.begin, e.commit} { // the rule's positions belong to the transactions of these places
			if a.sub == 0 && a.n != uint64(e.place) || a.t == math.MinInt64 {
				return refute("transaction %d has a place that is reserved for another transaction", e.id)
			}
		}
	}
	slices.SortFunc(all, at.compare)
	for i := 1; i < len(all); i++ {
		if all[i] == all[i-1] {
			return refute("two transactions have the place [%d,%d,%d]", all[i].t, all[i].n, all[i].sub)
		}
	}
	return nil
}

func (v *verifier) find(place int64) *exception {
	i, ok := slices.BinarySearchFunc(v.ex, place, func(e exception, p int64) int { return cmp.Compare(e.place, p) })
	if !ok {
		return nil
	}
	return &v.ex[i]
}

// order checks the whole order in a pass over the history and a replay of the partitions.
func (v *verifier) order(ctx context.Context) error {
	if v.byPlace && v.level.RealTime() {
		return refute("the order follows places in the file; expected times, as the level asks for real time")
	}
	w := &records{v: v}
	defer w.close()
	// So many partitions that ten operations per transaction fit in a third of the memory.
	n := int(max(1, min(v.s.Txns*10*recordBytes/(v.o.Memory/3)+1, 512)))
	if err := w.create(n); err != nil {
		return err
	}
	if err := v.pass(ctx, n, w.put); err != nil {
		return err
	}
	for i := range v.ex {
		if e := &v.ex[i]; !e.met {
			return refute("exception %d names a transaction that is not in the order", e.id)
		}
	}
	return w.replay(ctx)
}

// times sorts the exceptions by commit and by begin for realTime.
func (v *verifier) times() {
	by := make([]*exception, len(v.ex))
	for i := range by {
		by[i] = &v.ex[i]
	}
	slices.SortFunc(by, func(a, b *exception) int { return a.commit.compare(b.commit) })
	v.minEnd = make([]int64, len(by)+1)
	v.minEnd[len(by)] = math.MaxInt64
	for i := len(by) - 1; i >= 0; i-- {
		_, end := v.widened(by[i])
		v.minEnd[i] = min(v.minEnd[i+1], end)
	}
	for _, e := range by {
		v.byCommit = append(v.byCommit, e.commit)
	}
	slices.SortFunc(by, func(a, b *exception) int { return a.begin.compare(b.begin) })
	v.maxStart = append(v.maxStart, math.MinInt64)
	for i, e := range by {
		v.byBegin = append(v.byBegin, e.begin)
		start, _ := v.widened(e)
		v.maxStart = append(v.maxStart, max(v.maxStart[i], start))
	}
}

// widened returns the earliest start and the latest end that an exception may have had if clocks are wrong by the skew.
func (v *verifier) widened(e *exception) (start, end int64) {
	return max(e.start, math.MinInt64+v.skew) - v.skew, min(e.end, math.MaxInt64-v.skew) + v.skew
}

// realTime compares a transaction with all exceptions: if one ended before the other began, it must come first.
// Transactions that are at their ends keep real time among themselves by construction.
func (v *verifier) realTime(id int64, begin, commit at, start, end int64) error {
	// the exceptions that commit after its begin
	i := sort.Search(len(v.byCommit), func(i int) bool { return begin.before(v.byCommit[i]) })
	if v.minEnd[i] < start {
		return refute("transaction %d comes before a transaction that had ended when it began", id)
	}
	// the exceptions that begin before its commit
	i = sort.Search(len(v.byBegin), func(i int) bool { return !v.byBegin[i].before(commit) })
	if v.maxStart[i] > end {
		return refute("transaction %d comes after a transaction that began when it had ended", id)
	}
	return nil
}
