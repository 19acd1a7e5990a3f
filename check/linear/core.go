package linear

import (
	"cmp"
	"context"
	"slices"

	"isovet/evidence"
	"isovet/internal/ddmin"
	"isovet/internal/slice"
)

// coreShare: each search for a smaller core may remember MaxStates / coreShare states.
const coreShare = 2_000

// maxCore bounds how many of the last operations are tried as a core, maxTries how often a core is made smaller.
const (
	maxCore  = 256
	maxTries = 100
)

// ghost returns an operation that may take effect while it runs, with any answer, or never. The search even lets it
// take effect later, which is sound: if that has no order, the operations have none.
func ghost(op Op) Op {
	op.ghost = !op.Maybe
	op.Maybe = true
	return op
}

// core returns a few operations that have no order, from operations that have none.
func (m *Model[S]) core(ctx context.Context, ops []Op, most int) Answer {
	most = max(most/coreShare, 1)
	a := m.coreOfGroups(ctx, ops, most)
	if a.Core == nil {
		a = m.coreBefore(ctx, ops, most)
	}
	slices.SortStableFunc(a.Core, func(i, j int) int { return cmp.Compare(ops[i].Call, ops[j].Call) })
	return a
}

// none reports whether operations are known to have no order.
func (m *Model[S]) none(ctx context.Context, ops []Op, most int) bool {
	_, ok, err := m.search(ctx, ops, most)
	return !ok && err == nil
}

// coreOfGroups removes whole groups, and single operations that only observe. Core is nil if the model has no groups.
func (m *Model[S]) coreOfGroups(ctx context.Context, ops []Op, most int) Answer {
	if m.Group == nil {
		return Answer{}
	}
	// units are the parts that can be removed by themselves: groups, and single observers.
	var units [][]int
	group := map[string]int{}
	for i := range ops {
		name := m.Group(ops[i].Input, ops[i].output())
		at, is := group[name]
		switch {
		case m.observes(&ops[i]):
			units = append(units, []int{i})
			continue
		case name == "":
			continue // it is never removed
		case !is:
			at = len(units)
			group[name], units = at, append(units, nil)
		}
		units[at] = append(units[at], i)
	}
	// An observer of a group is removed with it: otherwise, removing the group first would not be possible.
	for u, list := range units {
		if i := list[0]; len(list) == 1 && m.observes(&ops[i]) {
			if at, is := group[m.Group(ops[i].Input, ops[i].output())]; is && at != u {
				units[at] = append(units[at], i)
			}
		}
	}
	gone := make([]int, len(ops)) // operation → how many of its units are gone
	left := func() []int { return slice.Places[int](gone, func(n int) bool { return n == 0 }) }
	in := slices.Repeat([]bool{true}, len(units))
	ddmin.Sweep(len(units), func(u int) bool { return in[u] }, func(run []int) bool {
		mark := func(by int) {
			for _, u := range run {
				in[u] = by < 0
				for _, i := range units[u] {
					gone[i] += by
				}
			}
		}
		mark(1)
		if m.none(ctx, slice.Pick(ops, left()), most) {
			return true
		}
		mark(-1)
		return false
	}, func() bool { return ctx.Err() != nil })
	return Answer{Verdict: evidence.Violated, Core: left()}
}

// coreBefore finds the first return by which there is no order. From the operations that returned by then, it selects a
// few that have no order whatever the others did.
func (m *Model[S]) coreBefore(ctx context.Context, ops []Op, most int) Answer {
	must := make([]bool, len(ops))
	none := func(list []int) bool {
		clear(must)
		mark(must, list, true)
		return m.noneOf(ctx, ops, must, most)
	}
	ended := slice.Places[int](ops, func(op Op) bool { return !op.Maybe })
	slices.SortStableFunc(ended, func(a, b int) int { return cmp.Compare(ops[a].Return, ops[b].Return) })
	lo, hi := 1, len(ended)
	for lo < hi { // search the smallest number of units without an order
		if n := (lo + hi) / 2; none(ended[:n]) {
			hi = n
		} else {
			lo = n + 1
		}
	}
	// Try the last 2, 4, 8, … operations that returned, until they have no order by themselves.
	latest := slices.Clone(ended[:lo])
	slices.Reverse(latest)
	list := latest
	for n := 2; n < len(latest) && n <= maxCore; n *= 2 {
		if none(latest[:n]) {
			list = latest[:n]
			break
		}
	}
	return Answer{Verdict: evidence.Violated, Others: true, Core: m.fewer(ctx, ops, list, most)}
}

// noneOf reports whether operations are known to have no order if those outside must are ghosts.
func (m *Model[S]) noneOf(ctx context.Context, ops []Op, must []bool, most int) bool {
	out := slices.Clone(ops)
	for i := range out {
		if !must[i] {
			out[i] = ghost(out[i])
		}
	}
	return m.none(ctx, out, most)
}

// fewer removes operations from a list that has no order whatever the others did, as long as it has none. It returns
// the rest in the order of the history.
func (m *Model[S]) fewer(ctx context.Context, ops []Op, list []int, most int) (core []int) {
	must := make([]bool, len(ops))
	mark(must, list, true)
	tries := 0
	ddmin.Sweep(len(list), func(i int) bool { return must[list[i]] }, func(run []int) bool {
		tries++
		out := slice.Pick(list, run)
		mark(must, out, false)
		if m.noneOf(ctx, ops, must, most) {
			return true
		}
		mark(must, out, true)
		return false
	}, func() bool { return ctx.Err() != nil || tries > maxTries })
	return slice.Places[int](must, func(is bool) bool { return is })
}

// mark sets the flags at the given places.
func mark(flags []bool, at []int, to bool) {
	for _, i := range at {
		flags[i] = to
	}
}
