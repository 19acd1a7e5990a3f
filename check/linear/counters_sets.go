package linear

import (
	"cmp"
	"slices"
	"sort"

	"isovet/evidence"
)

// impossible returns a "no" with operations that have no order whatever the others did.
func impossible(why string, core ...int) (Answer, bool) {
	return Answer{Verdict: evidence.Violated, Core: core, Others: true, Why: why}, true
}

// bounds refutes a counter by a read that is lower or higher than any sum of the additions that may precede it. Cost:
// O(n log n).
func bounds(_ func() bool, ops []Op) (Answer, bool) {
	var added, tried [2]sums
	for i := range ops {
		if a := ops[i].Input.(Action); a.F == "add" {
			kind := 0
			if a.N < 0 {
				kind = 1
			}
			added[kind] = append(added[kind], [2]int64{ops[i].until(), a.N})
			tried[kind] = append(tried[kind], [2]int64{ops[i].Call, a.N})
		}
	}
	for kind := range added {
		added[kind].sort()
		tried[kind].sort()
	}
	for i := range ops {
		n, known := ops[i].Output.(int64)
		if ops[i].Maybe || !known || ops[i].Input.(Action).F == "add" {
			continue
		}
		low := added[0].of(ops[i].Call, false) + tried[1].of(ops[i].Return, true)
		high := tried[0].of(ops[i].Return, true) + added[1].of(ops[i].Call, false)
		if n >= low && n <= high {
			continue
		}
		// Of additions and subtractions: those that surely precede the read, their sum, and that of those that may.
		var sure [2][]int
		var open, sum [2]int64
		for j := range ops {
			op := &ops[j]
			a := op.Input.(Action)
			if a.F != "add" || op.Call > ops[i].Return {
				continue
			}
			kind := 0
			if a.N < 0 {
				kind = 1
			}
			if op.until() < ops[i].Call {
				sure[kind] = append(sure[kind], j)
				sum[kind] += a.N
			} else {
				open[kind] += a.N
			}
		}
		if n < sum[0]+sum[1]+open[1] {
			return impossible("bounds", enough(ops, i, sure[0], n-sum[1]-open[1], true)...)
		}
		if n > sum[0]+sum[1]+open[0] {
			return impossible("bounds", enough(ops, i, sure[1], n-sum[0]-open[0], false)...)
		}
	}
	return Answer{}, false
}

// sums are pairs of time and number. After sort, the number is the sum up to that time.
type sums [][2]int64

func (s sums) sort() {
	slices.SortFunc(s, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	for i := 1; i < len(s); i++ {
		s[i][1] += s[i-1][1]
	}
}

// of returns the sum of the numbers before a time, or with upTo at that time as well.
func (s sums) of(at int64, upTo bool) int64 {
	i := sort.Search(len(s), func(i int) bool { return s[i][0] > at || !upTo && s[i][0] == at })
	if i == 0 {
		return 0
	}
	return s[i-1][1]
}

// enough returns a read and the largest of some additions, as many as it takes to exceed a sum.
func enough(ops []Op, read int, of []int, sum int64, up bool) []int {
	n := func(i int) int64 { return ops[i].Input.(Action).N }
	slices.SortStableFunc(of, func(a, b int) int { return cmp.Compare(max(n(b), -n(b)), max(n(a), -n(a))) })
	core, have := []int{read}, int64(0)
	for _, i := range of {
		if up && have > sum || !up && have < sum {
			break
		}
		core, have = append(core, i), have+n(i)
	}
	return core
}

// members decides a set that only grows. It refutes others by a read that lacks a value which was added before and
// never removed, or that has a value which nobody added before its return.
func members(stop func() bool, ops []Op) (Answer, bool) {
	if a, known := growing(stop, ops); known {
		return a, true
	}
	added, removed := map[string]int{}, map[string]bool{}
	for i := range ops {
		switch a := ops[i].Input.(Action); {
		case a.F == "remove":
			removed[a.Value] = true
		case a.F == "add":
			if j, is := added[a.Value]; !is || ops[i].Call < ops[j].Call {
				added[a.Value] = i
			}
		}
	}
	for i := range ops {
		list, known := ops[i].Output.(List)
		if ops[i].Maybe || !known {
			continue
		}
		for _, v := range list {
			if j, is := added[v]; !is || ops[j].Call > ops[i].Return {
				return impossible("members", i)
			}
		}
		for j := range ops {
			a := ops[j].Input.(Action)
			if a.F != "add" || removed[a.Value] || ops[j].until() >= ops[i].Call {
				continue
			}
			if _, is := slices.BinarySearch(list, a.Value); !is {
				return impossible("members", j, i)
			}
		}
	}
	return Answer{}, false
}
