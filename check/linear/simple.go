package linear

import (
	"cmp"
	"slices"

	"isovet/evidence"
)

// impossible is a "no" by a few operations, whatever the others did.
func impossible(why string, core ...int) (Answer, bool) {
	return Answer{Verdict: evidence.Violated, Core: core, Others: true, Why: why}, true
}

// bounds refutes a counter by a read that is less than all that was surely added before it, or more than all that may
// have been. Cost: quadratic at worst.
func bounds(ops []Op) (Answer, bool) {
	for i := range ops {
		n, known := ops[i].Output.(int64)
		if ops[i].Maybe || !known || ops[i].Input.(Action).F == "add" {
			continue
		}
		// what is sure to be in it, and what may be: of additions, and of what was taken away
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

// enough are a read and the largest of some additions that go beyond a sum.
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

// members refutes a set by a read that lacks what was added before it and never removed, or has what nobody added.
func members(ops []Op) (Answer, bool) {
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
