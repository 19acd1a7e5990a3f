package minitxn

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"isovet/internal/ddmin"
	"isovet/internal/slice"
	"isovet/internal/sorts"
)

// other represents all versions except one.
const other = none - 1

// maxCoreSteps bounds the steps of a search for a core.
var maxCoreSteps = 20_000_000

// Core returns a few operations of a register that have no order, even if every other operation takes effect any number
// of times while it runs, or never. It is minimal: without any one of them there may be an order. First come those that
// had ended when no state is left, latest end first; the others took effect once at most. If last is known to end
// without an order, only operations up to its end are examined. Core returns nil if it finds none soon, and always for
// a register that has an order.
//
// Because other operations may take effect again, a moment is only the register's version and which running operations
// of the core took effect. So one pass decides a set, in time linear for few values and small cores. A pass with all
// operations that end shows when no state is left. Then the last 2, 4, 8, … that ended by then are tried until they
// have no order, and delta debugging removes the rest.
func Core(reg *Register, last *Op, o SearchOptions) []Op {
	s := &sweep{opt: o, core: make([]bool, len(reg.Ops)), bit: make([]uint64, len(reg.Ops)),
		twin: make([]int32, len(reg.Ops))}
	until := int64(math.MaxInt64 - 1)
	if last != nil {
		until = min(until, last.Until)
	}
	var open []int32
	twins := map[[2]uint32]int32{}
	for i, op := range reg.Ops {
		if op.Sets == op.Need {
			op.Sets = none
		}
		s.ops, s.twin[i] = append(s.ops, op), -1
		if !op.Maybe && op.Until <= until {
			s.ends = append(s.ends, int32(i))
		} else if op.From <= until && op.Sets != none && op.Sets != other {
			open = append(open, int32(i))
			if len(op.Preds) > 0 {
				continue
			}
			if t, is := twins[[2]uint32{op.Need, op.Sets}]; is {
				s.twin[i] = t
			}
			twins[[2]uint32{op.Need, op.Sets}] = int32(i)
		}
	}
	sorts.Stable(s.ends, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.ops[a].Until, s.ops[b].Until), cmp.Compare(s.ops[a].End, s.ops[b].End))
	})
	list := s.window(reg.Initial, nil, last != nil)
	if list == nil {
		if list = s.window(reg.Initial, open, last != nil); list == nil {
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
	core := slice.Pick(s.ops, slice.Filter(list, func(i int32) bool { return s.core[i] }))
	if len(core) == 1 { // a proof by these alone needs two that ended
		for at := s.at; at >= 0; at-- {
			if op := s.ops[s.ends[at]]; op.End < core[0].End {
				return append(core, op)
			}
		}
	}
	return core
}

// window returns the last operations to end before no state is left: as few as have no order with the open ones. It
// returns nil if all have one, or it takes too long. sure says that none is left when the last ends.
func (s *sweep) window(initial uint32, open []int32, sure bool) []int32 {
	first := start{now: []uint32{initial}}
	s.from, s.to = first, len(s.ends)
	if !sure {
		if s.take(s.ends, open); !s.contradict() {
			return nil
		}
		s.to = s.at + 1
		end := s.ops[s.ends[s.at]].Until
		open = open[:sort.Search(len(open), func(i int) bool { return s.ops[open[i]].From > end })]
	}
	latest := slices.Clone(s.ends[:s.to])
	slices.Reverse(latest)
	for n := 2; s.to > 0 && s.steps <= maxCoreSteps; n *= 2 {
		list := slices.Concat(latest[:min(n, len(latest))], open)
		s.from = s.before(first, list)
		s.take(list)
		if s.contradict() {
			return list
		}
		if n >= len(latest) {
			break
		}
	}
	return nil
}

func (s *sweep) take(lists ...[]int32) {
	clear(s.core)
	for _, i := range slices.Concat(lists...) {
		s.core[i] = true
	}
}

// sweep walks through time with all possible states of the register.
type sweep struct {
	opt   SearchOptions
	ops   []Op    // by their starts
	ends  []int32 // those that end in time, by their ends
	core  []bool  // those that take effect once, if they end in time
	bit   []uint64
	twin  []int32 // open operation → an earlier one that does the same, or -1
	steps int
	from  start
	to    int // how many ends to walk
	at    int // the end that no state survived

	now, last moments
}

// start is the state at which a sweep begins, before any operation of the core does.
type start struct {
	end  int     // the first end after it
	next int32   // the first operation that has not begun
	live []int32 // running operations that write
	now  []uint32
}

// moment is the register's version, and which running operations of the core took effect.
type moment struct {
	cur  uint32
	done uint64
}

// before runs from a start to the moment before the first operation of a list begins.
func (s *sweep) before(from start, list []int32) start {
	first, to := slices.Min(list), from.end
	for to < len(s.ends) && s.ops[s.ends[to]].Until < s.ops[first].From {
		to++
	}
	clear(s.core)
	now, live, next := s.run(from, to)
	if now == nil {
		return from
	}
	out := start{end: to, next: next, live: live}
	out.now = slice.Map(now, func(m moment) uint32 { return m.cur })
	return out
}

// contradict reports whether the core has no order.
func (s *sweep) contradict() bool {
	now, _, _ := s.run(s.from, s.to)
	return now != nil && len(now) == 0
}

// run walks the ends up to number to, and returns the remaining states, the running operations, and the next to begin.
// Without a state it stops at s.at. It returns nil if it takes too long or too many of the core run at once.
func (s *sweep) run(from start, to int) (now []moment, live []int32, next int32) {
	live, next = slices.Clone(from.live), from.next
	s.now.clear()
	for _, v := range from.now {
		s.now.add(moment{cur: v})
	}
	used := uint64(0)
	for at := from.end; at < to; at++ {
		e, came := s.ends[at], false
		for ; int(next) < len(s.ops) && s.ops[next].From <= s.ops[e].Until; next++ {
			if s.core[next] {
				s.bit[next] = ^used & (used + 1)
				if used |= s.bit[next]; s.bit[next] == 0 {
					return nil, nil, 0
				}
			} else if s.bit[next] = 0; s.ops[next].Sets == none || s.twin[next] >= 0 && !s.core[s.twin[next]] {
				continue
			}
			live, came = append(live, next), true
		}
		if came && !s.follow(live) {
			return nil, nil, 0
		}
		if s.core[e] {
			s.last, s.now = s.now, s.last
			s.now.clear()
			for _, m := range s.last.list {
				if m.done&s.bit[e] != 0 {
					s.now.add(moment{m.cur, m.done &^ s.bit[e]})
				}
			}
			if len(s.now.list) == 0 {
				s.at = at
				return []moment{}, nil, 0
			}
			used &^= s.bit[e]
		}
		live = slices.DeleteFunc(live, func(i int32) bool { return i == e })
	}
	return s.now.list, live, next
}

// follow adds the moments that running operations lead to. It returns false if that takes too long.
func (s *sweep) follow(live []int32) bool {
	var reads, writes []int32
	for _, i := range live {
		if s.ops[i].Sets == none {
			reads = append(reads, i)
		} else {
			writes = append(writes, i)
		}
	}
	add := func(m moment) {
		for _, i := range reads { // let reads take effect as soon as possible, which excludes no order
			if s.opt.fits(&s.ops[i], m.cur) {
				m.done |= s.bit[i]
			}
		}
		s.now.add(m)
	}
	s.last, s.now = s.now, s.last
	s.now.clear()
	for _, m := range s.last.list {
		add(m)
	}
	for n := 0; n < len(s.now.list); n++ {
		m := s.now.list[n]
		if s.steps += len(writes); s.steps > maxCoreSteps || s.opt.Stop != nil && n&1023 == 0 && s.opt.Stop() {
			return false
		}
		for _, i := range writes {
			if op := &s.ops[i]; m.done&s.bit[i] != 0 || !s.opt.fits(op, m.cur) {
				continue
			}
			if t := s.twin[i]; t < 0 || !s.core[i] || s.core[t] && m.done&s.bit[t] != 0 { // else use the twin
				add(moment{s.ops[i].Sets, m.done | s.bit[i]})
			}
		}
	}
	return true
}

// moments is a set of moments, in the order of insertion.
type moments struct {
	list []moment
	slot []uint32 // operation → 1 + its place in the list
}

func (s *moments) clear() {
	s.list = s.list[:0]
	clear(s.slot)
}

func (s *moments) add(m moment) {
	if 2*len(s.list) >= len(s.slot) {
		s.slot = make([]uint32, max(16, 2*len(s.slot)))
		for i, m := range s.list {
			*s.find(m) = uint32(i) + 1
		}
	}
	if at := s.find(m); *at == 0 {
		s.list = append(s.list, m)
		*at = uint32(len(s.list))
	}
}

// find returns the slot of a moment, or the free slot for it.
func (s *moments) find(m moment) *uint32 {
	mask := uint64(len(s.slot) - 1)
	for h := (m.done ^ uint64(m.cur)<<40) * 0x9e3779b97f4a7c15 >> 20; ; h++ {
		if at := &s.slot[h&mask]; *at == 0 || s.list[*at-1] == m {
			return at
		}
	}
}
