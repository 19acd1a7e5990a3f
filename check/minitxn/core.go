package minitxn

import (
	"cmp"
	"maps"
	"slices"

	"isovet/internal/ddmin"
	"isovet/internal/sorts"
)

// maxCoreSteps bounds the tries of operations in a search for a core.
var maxCoreSteps = 20_000_000

// Core returns, of a register whose operations run out of orders when last ends, a few that have none by themselves:
// even if every other operation takes effect as often as it likes while it is under way, or never. None of them can go.
// Those that had ended by then come first, the last to end before all; of the others no more is said than that they
// took effect once at most. Core returns nil where it finds none soon.
//
// Since others may take effect again, a moment is described by the register's version and by who of the core took
// effect of those under way: a pass over the operations decides a set, in time linear for a few values and cores.
// The last 2, 4, 8, … that ended are tried until they have no order, and then delta debugging leaves out the rest.
func Core(reg *Register, last Op, o SearchOptions) []Op {
	s := &sweep{opt: o, initial: reg.Initial, core: make([]bool, len(reg.Ops)), bit: make([]uint64, len(reg.Ops))}
	var open []int32
	for i, op := range reg.Ops {
		if op.Sets == op.Need {
			op.Sets = none
		}
		s.ops = append(s.ops, op)
		if op.Until <= last.Until {
			s.ends = append(s.ends, int32(i))
		} else if op.From <= last.Until && op.Sets != none {
			open = append(open, int32(i))
		}
	}
	sorts.Stable(s.ends, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.ops[a].Until, s.ops[b].Until), cmp.Compare(s.ops[a].End, s.ops[b].End))
	})
	latest := slices.Clone(s.ends)
	slices.Reverse(latest)
	list := s.window(latest, nil)
	if list == nil {
		if list = s.window(latest, open); list == nil {
			return nil
		}
	}
	ddmin.Sweep(len(list), func(i int) bool { return s.core[list[i]] }, func(run []int) bool {
		for _, i := range run {
			s.core[list[i]] = false
		}
		if s.contradict() {
			return true
		}
		for _, i := range run {
			s.core[list[i]] = true
		}
		return false
	}, func() bool { return s.steps > maxCoreSteps })
	var core []Op
	for _, i := range list {
		if s.core[i] {
			core = append(core, s.ops[i])
		}
	}
	return core
}

// window returns the last that ended, as few as have no order together with the open ones; nil if all have one, or it
// takes too long.
func (s *sweep) window(latest, open []int32) []int32 {
	for n := 2; s.steps <= maxCoreSteps; n *= 2 {
		list := slices.Concat(latest[:min(n, len(latest))], open)
		clear(s.core)
		for _, i := range list {
			s.core[i] = true
		}
		if s.contradict() {
			return list
		}
		if n >= len(latest) {
			break
		}
	}
	return nil
}

// sweep goes through time with all that the register may be.
type sweep struct {
	opt     SearchOptions
	initial uint32
	ops     []Op    // by their starts
	ends    []int32 // those that end in time, by their ends
	core    []bool  // those that take effect once, if they end in time
	bit     []uint64
	steps   int
}

// moment is the register's version, and who took effect of the core's under way.
type moment struct {
	cur  uint32
	done uint64
}

// contradict reports whether the core has no order.
func (s *sweep) contradict() bool {
	now := map[moment]bool{{cur: s.initial}: true}
	var live []int32
	used, next := uint64(0), int32(0)
	for _, e := range s.ends {
		came := false
		for ; int(next) < len(s.ops) && s.ops[next].From <= s.ops[e].Until; next++ {
			if s.core[next] {
				s.bit[next] = ^used & (used + 1)
				if used |= s.bit[next]; s.bit[next] == 0 { // more than it can tell apart
					return false
				}
			} else if s.bit[next] = 0; s.ops[next].Sets == none {
				continue
			}
			live, came = append(live, next), true
		}
		if came && !s.follow(now, live) {
			return false
		}
		if s.core[e] {
			after := make(map[moment]bool, len(now))
			for m := range now {
				if m.done&s.bit[e] != 0 {
					after[moment{m.cur, m.done &^ s.bit[e]}] = true
				}
			}
			if now = after; len(now) == 0 {
				return true
			}
			used &^= s.bit[e]
		}
		live = slices.DeleteFunc(live, func(i int32) bool { return i == e })
	}
	return false
}

// follow adds what can follow by operations under way; false: that takes too long.
func (s *sweep) follow(now map[moment]bool, live []int32) bool {
	var work []moment
	add := func(m moment) {
		for _, i := range live { // a read takes effect as soon as it can, which closes no way
			if op := &s.ops[i]; op.Sets == none && s.opt.fits(op, m.cur) {
				m.done |= s.bit[i]
			}
		}
		if !now[m] {
			now[m] = true
			work = append(work, m)
		}
	}
	all := slices.Collect(maps.Keys(now))
	clear(now)
	for _, m := range all {
		add(m)
	}
	for len(work) > 0 {
		m := work[len(work)-1]
		work = work[:len(work)-1]
		if s.steps += len(live); s.steps > maxCoreSteps || s.opt.Stop != nil && len(work) == 0 && s.opt.Stop() {
			return false
		}
		for _, i := range live {
			if op := &s.ops[i]; op.Sets != none && m.done&s.bit[i] == 0 && s.opt.fits(op, m.cur) {
				add(moment{op.Sets, m.done | s.bit[i]})
			}
		}
	}
	return true
}
