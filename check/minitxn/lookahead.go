package minitxn

import (
	"cmp"
	"math"
	"sort"

	"isovet/internal/sorts"
)

// patience is how many dead ends a search meets before it looks ahead: easy registers are decided sooner without.
var patience = 500

// demand lists the operations that must come and need a version, by the time when they must have ended.
type demand struct {
	ops []int32
	// swaps[i] counts the compare-and-sets in ops[:i], supply[i] the operations that install the version and begin
	// before ops[i] must have ended.
	swaps, supply []int32
	// spare[i] is the least of supply less compare-and-sets from ops[i] on.
	spare    []int32
	installs int32 // operations that install the version
}

// lookAhead prepares starves. Predicate operations need more than versions: with them there is no looking ahead.
func (s *search) lookAhead() {
	s.demands = map[uint32]*demand{}
	froms := map[uint32][]int64{} // by the version that is installed
	for i := range s.ops {
		op := &s.ops[i]
		if op.Sets != none {
			froms[op.Sets] = append(froms[op.Sets], op.From)
		}
		if op.Maybe || op.Need == none {
			continue
		}
		d := s.demands[op.Need]
		if d == nil {
			d = &demand{}
			s.demands[op.Need] = d
		}
		d.ops = append(d.ops, int32(i))
	}
	for ver, d := range s.demands {
		sorts.Stable(d.ops, func(a, b int32) int { return cmp.Compare(s.ops[a].Until, s.ops[b].Until) })
		n, from := len(d.ops), froms[ver]
		d.swaps, d.supply, d.spare = make([]int32, n+1), make([]int32, n), make([]int32, n+1)
		for i, at := range d.ops {
			op := &s.ops[at]
			d.swaps[i+1] = d.swaps[i]
			if op.Sets != none {
				d.swaps[i+1]++
			}
			d.supply[i] = int32(sort.Search(len(from), func(j int) bool { return from[j] > op.Until }))
		}
		d.spare[n] = math.MaxInt32
		for i := n - 1; i >= 0; i-- {
			d.spare[i] = min(d.spare[i+1], d.supply[i]-d.swaps[i+1])
		}
		d.installs = int32(len(from))
	}
}

// starves reports whether the register's version is missing later if an operation comes next. Each compare-and-set ends
// one appearance of the version that it needs, and each appearance but this one has its own operation that installs
// the version: until any time, as many must have begun as compare-and-sets must have ended. A read needs one
// appearance. Cost: linear in the operations under way that need the version.
func (s *search) starves(next int32, limit int64) bool {
	d := s.demands[s.cur]
	if d == nil {
		return false
	}
	installed := d.installs - int32(s.supply[s.cur])
	taken := len(d.ops) - s.needed[s.cur]
	if op := &s.ops[next]; !op.Maybe && op.Need == s.cur {
		taken++
	}
	at := sort.Search(len(d.ops), func(i int) bool { return s.ops[d.ops[i]].Until >= limit })
	swaps, passed := int32(0), at
	for ; at < len(d.ops) && passed < taken; at++ {
		i := d.ops[at]
		if i == next || s.done[i] {
			passed++
			continue
		}
		if s.ops[i].Sets != none {
			swaps++
		}
		if d.supply[at]-installed < max(swaps, 1) {
			return true
		}
	}
	if at < len(d.ops) && d.supply[at]-installed < 1 {
		return true
	}
	return d.spare[at] < installed-(d.swaps[at]-swaps)
}

// served is when an operation is wanted: when it must have ended, or when the first must that needs what it installs.
func (s *search) served(i int32, limit int64) int64 {
	op := &s.ops[i]
	at := op.Until
	if op.Maybe {
		at = math.MaxInt64
	}
	d := s.demands[op.Sets]
	if d == nil {
		return at
	}
	first := sort.Search(len(d.ops), func(j int) bool { return s.ops[d.ops[j]].Until >= limit })
	for ; first < len(d.ops); first++ {
		if j := d.ops[first]; j != i && !s.done[j] {
			return min(at, s.ops[j].Until)
		}
	}
	return at
}
