package linear

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"isovet/evidence"
)

// permits decides a semaphore. All acquires are alike, and all releases. So among concurrent ones the one that returns
// first may always come first. None has to take effect before one returns, or before that one needs it. If one cannot
// take effect, the operations in a window of time show why. Cost: O(n log n), and more with many concurrent operations.
func permits(most int) decider {
	return func(_ func() bool, ops []Op) (Answer, bool) {
		events := make([]int, 0, 2*len(ops)) // calls as they are, returns as their complements
		for i := range ops {
			if events = append(events, i); !ops[i].Maybe {
				events = append(events, ^i)
			}
		}
		at := func(e int) int64 {
			if e < 0 {
				return ops[^e].Return
			}
			return ops[e].Call
		}
		slices.SortStableFunc(events, func(a, b int) int {
			return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(min(b, 0), min(a, 0))) // calls first
		})
		var open [2][]int // acquires and releases under way, by their returns
		var order []int
		held, done := 0, make([]bool, len(ops))
		take := func(kind int) bool {
			if len(open[kind]) == 0 {
				return false
			}
			i := open[kind][0]
			open[kind], order, done[i] = open[kind][1:], append(order, i), true
			held += 1 - 2*kind
			return true
		}
		for _, e := range events {
			if e >= 0 {
				kind := kindOf(&ops[e])
				have := open[kind]
				n := sort.Search(len(have), func(n int) bool { return ops[have[n]].until() > ops[e].until() })
				open[kind] = slices.Insert(have, n, e)
				continue
			}
			kind := kindOf(&ops[^e])
			for !done[^e] {
				if held == most*(1-kind) && !take(1-kind) {
					core := window(ops, ^e, most)
					return Answer{Verdict: evidence.Violated, Core: core, Others: true, Why: "window"}, core != nil
				}
				take(kind)
			}
		}
		return Answer{Verdict: evidence.Holds, Order: order}, true
	}
}

// kindOf returns 0 for an acquire and 1 for a release.
func kindOf(op *Op) int {
	if op.Input.(Action).F == "acquire" {
		return 0
	}
	return 1
}

// window finds operations of one kind, with last the last, that exceed the number of operations of the other kind that
// may have taken effect in the same time; or nil.
func window(ops []Op, last, most int) (core []int) {
	kind, end := kindOf(&ops[last]), ops[last].Return
	var inside []int
	var ends []int64 // returns of the other kind's operations called by then
	for i := range ops {
		switch {
		case kindOf(&ops[i]) == kind && !ops[i].Maybe && ops[i].Return <= end:
			inside = append(inside, i)
		case kindOf(&ops[i]) != kind && ops[i].Call <= end:
			ends = append(ends, ops[i].until())
		}
	}
	slices.SortStableFunc(inside, func(a, b int) int { return cmp.Compare(ops[b].Call, ops[a].Call) })
	slices.Sort(ends)
	for n, i := range inside {
		from := ops[i].Call
		other := len(ends) - sort.Search(len(ends), func(j int) bool { return ends[j] >= from })
		if n+1 > most+other {
			return inside[:n+1]
		}
	}
	if kind == 1 && len(inside) > len(ends) {
		return inside
	}
	return nil
}

// tooMany is the second opinion on such a core. From the first call to the last return of its operations, there are
// more of them than permits and operations of the other kind together; or more releases than acquires were ever called.
func tooMany(most int) func(ops []Op, a *Answer) bool {
	return func(ops []Op, a *Answer) bool {
		from, to := int64(math.MaxInt64), int64(math.MinInt64)
		for _, i := range a.Core {
			if ops[i].Maybe || kindOf(&ops[i]) != kindOf(&ops[a.Core[0]]) {
				return false
			}
			from, to = min(from, ops[i].Call), max(to, ops[i].Return)
		}
		others, before := 0, 0
		for i := range ops {
			if kindOf(&ops[i]) != kindOf(&ops[a.Core[0]]) && ops[i].Call <= to {
				if before++; ops[i].until() >= from {
					others++
				}
			}
		}
		return len(a.Core) > most+others || kindOf(&ops[a.Core[0]]) == 1 && len(a.Core) > before
	}
}
