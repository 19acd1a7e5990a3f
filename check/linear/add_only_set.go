package linear

import (
	"cmp"
	"slices"

	"isovet/evidence"
	"isovet/internal/slice"
)

// growing decides a set to which each value is added once, from which none is removed, and that is only read as a
// whole. The values that reads show only grow, so reads and additions form layers. Cost: linear in the values that
// reads show, but for sorting.
func growing(_ func() bool, ops []Op) (Answer, bool) {
	added := make(map[string]int, len(ops))
	var reads []int
	for i := range ops {
		a := ops[i].Input.(Action)
		_, again := added[a.Value]
		list, known := ops[i].Output.(List)
		switch {
		case a.F == "add" && !again && (ops[i].Maybe || ops[i].Output == nil || ops[i].Output == true):
			added[a.Value] = i
		case a.F == "read" && known && !ops[i].Maybe && slices.IsSorted(list):
			reads = append(reads, i)
		default:
			return Answer{}, false
		}
	}
	has := func(i int) List { return ops[i].Output.(List) }
	slices.SortStableFunc(reads, func(a, b int) int { return cmp.Compare(len(has(a)), len(has(b))) })
	g := layers{ops: ops, added: added, latest: -1, seen: -1}
	var have List
	for len(reads) > 0 {
		r, n := reads[0], 1
		for n < len(reads) && slices.Equal(has(r), has(reads[n])) {
			n++
		}
		more, ok := beyond(have, has(r))
		if !ok {
			return impossible("order", g.seen, r)
		}
		for _, v := range more {
			if _, is := added[v]; !is {
				return impossible("members", r)
			}
		}
		if !g.add(more) || !g.put(reads[:n]) {
			return impossible("order", g.core...)
		}
		have, g.seen, reads = has(r), r, reads[n:]
	}
	var rest []int // operations whose value no read has
	for v, i := range added {
		if _, in := slices.BinarySearch(have, v); !in && !ops[i].Maybe {
			rest = append(rest, i)
		}
	}
	if !g.put(rest) {
		return impossible("order", g.core...)
	}
	return Answer{Verdict: evidence.Holds, Order: g.order}, true
}

// beyond returns the values of list that are not in have. ok is false if list lacks a value of have. Both are sorted.
func beyond(have, list List) (more []string, ok bool) {
	for _, v := range list {
		if len(have) > 0 && have[0] == v {
			have = have[1:]
			continue
		}
		more = append(more, v)
	}
	return more, len(have) == 0
}

// layers builds an order, one layer after the other.
type layers struct {
	ops    []Op
	added  map[string]int
	order  []int
	latest int // the operation in the order that was called last, or -1
	seen   int // the last read; -1: none
	core   []int
}

// add appends the additions of some values as a layer.
func (g *layers) add(values []string) bool {
	return g.put(slice.Map(values, func(v string) int { return g.added[v] }))
}

// put appends operations as a layer, or returns false if one of them returned before an earlier one was called.
func (g *layers) put(list []int) bool {
	slices.SortFunc(list, func(a, b int) int {
		return cmp.Or(cmp.Compare(g.ops[a].Call, g.ops[b].Call), cmp.Compare(a, b))
	})
	for _, i := range list {
		if g.latest >= 0 && g.ops[i].until() < g.ops[g.latest].Call {
			g.core = []int{i, g.latest}
			if g.ops[i].Input.(Action).F == "add" && g.ops[g.latest].Input.(Action).F == "add" {
				// Only a read between two additions shows their order.
				g.core = append(g.core, g.seen)
			}
			return false
		}
	}
	for _, i := range list {
		if g.latest < 0 || g.ops[i].Call > g.ops[g.latest].Call {
			g.latest = i
		}
	}
	g.order = append(g.order, list...)
	return true
}
