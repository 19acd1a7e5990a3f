package minitxn

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"

	"isovet/internal/slice"
	"isovet/internal/sorts"
)

// patience is the number of dead ends after which a search looks ahead. Easy registers are faster without.
var patience = 500

// fewChoices is how many choices a search gives up first if it makes no progress.
var fewChoices = 16

// foresight bounds how many later appearances of a version a search looks ahead.
var foresight = 16

// outlook is the future of a version: the operations that must take effect and need it, by deadline (Until), and those
// that install it, by start.
type outlook struct {
	needs, installs []int32
	// For needs[i], consider the operations that must take effect and before or after which the register has another
	// version. since is the latest start among those that end before needs[i] begins, and apart the earliest end among
	// those that begin after it must have ended. So an operation that installs the version for needs[i] ends no earlier
	// than since, and needs that begin after apart need a new appearance of it.
	since, apart []int64
	// swaps[i] counts the compare-and-sets in needs[:i], supply[i] the operations that install the version and begin
	// before the deadline of needs[i]. spare[i] is the least supply minus compare-and-sets, from needs[i] on.
	swaps, supply, spare []int32
	first                int // installs[:first] are done
}

// lookAhead computes the outlook of each version, for starves and served.
func (s *search) lookAhead() {
	s.outlooks, s.place = map[uint32]*outlook{}, make([]int32, len(s.ops))
	of := func(ver uint32) *outlook {
		d := s.outlooks[ver]
		if d == nil {
			d = &outlook{}
			s.outlooks[ver] = d
		}
		return d
	}
	for i := range s.ops {
		op := &s.ops[i]
		if op.Sets != none {
			d := of(op.Sets)
			s.place[i] = int32(len(d.installs))
			d.installs = append(d.installs, int32(i))
		}
		if !op.Maybe && op.Need != none {
			d := of(op.Need)
			d.needs = append(d.needs, int32(i))
		}
	}
	for ver, d := range s.outlooks {
		n := len(d.needs)
		sorts.Stable(d.needs, func(a, b int32) int { return cmp.Compare(s.ops[a].Until, s.ops[b].Until) })
		s.separate(ver, d)
		d.swaps, d.supply, d.spare = make([]int32, n+1), make([]int32, n), make([]int32, n+1)
		for i, at := range d.needs {
			op := &s.ops[at]
			d.swaps[i+1] = d.swaps[i]
			if op.Sets != none {
				d.swaps[i+1]++
			}
			d.supply[i] = int32(sort.Search(len(d.installs), func(j int) bool {
				return s.ops[d.installs[j]].From > op.Until
			}))
		}
		d.spare[n] = math.MaxInt32
		for i := n - 1; i >= 0; i-- {
			d.spare[i] = min(d.spare[i+1], d.supply[i]-d.swaps[i+1])
		}
	}
}

// displaces reports whether the register has another version than ver just before or just after an operation.
func (op *Op) displaces(ver uint32) bool {
	return !op.Maybe && (op.Need != none && op.Need != ver || op.Sets != none && op.Sets != ver)
}

// separate fills since and apart.
func (s *search) separate(ver uint32, d *outlook) {
	var others []int32 // by their starts
	for i := range s.ops {
		if s.ops[i].displaces(ver) {
			others = append(others, int32(i))
		}
	}
	n := len(others)
	firstEnd := make([]int64, n+1) // of others[i:]
	firstEnd[n] = math.MaxInt64
	for i, o := range slices.Backward(others) {
		firstEnd[i] = min(firstEnd[i+1], s.ops[o].Until)
	}
	d.apart = make([]int64, len(d.needs))
	for i, at := range d.needs {
		d.apart[i] = firstEnd[sort.Search(n, func(j int) bool { return s.ops[others[j]].From > s.ops[at].Until })]
	}
	sorts.Stable(others, func(a, b int32) int { return cmp.Compare(s.ops[a].Until, s.ops[b].Until) })
	lastStart := make([]int64, n+1) // of others[:i]
	lastStart[0] = math.MinInt64
	for i, o := range others {
		lastStart[i+1] = max(lastStart[i], s.ops[o].From)
	}
	d.since = make([]int64, len(d.needs))
	for i, at := range d.needs {
		d.since[i] = lastStart[sort.Search(n, func(j int) bool { return s.ops[others[j]].Until >= s.ops[at].From })]
	}
}

// starves reports whether operations that must take effect will miss their version if next comes next: the version that
// next overwrites, or the one that it installs, if that cannot last until an operation needs it.
func (s *search) starves(next int32, limit int64) bool {
	op := &s.ops[next]
	if op.Sets == s.cur {
		return s.short(s.cur, next, limit, 1)
	}
	return s.short(s.cur, next, limit, 0) || s.short(op.Sets, next, limit, 0) && s.early(next)
}

// early reports whether the version that next installs will be overwritten before an operation needs it, because
// another operation must end before. Cost: linear in the running operations.
func (s *search) early(next int32) bool {
	ver, until := s.ops[next].Sets, int64(math.MaxInt64)
	for i := int32(s.low()); int(i) < len(s.ops); i = s.next[i] {
		op := &s.ops[i]
		switch {
		case op.From > until:
			return true
		case i == next:
		case op.Need == ver:
			return false
		case op.Need != none || op.Sets != ver:
			until = min(until, op.Until)
		}
	}
	return false
}

// short reports whether a version will be missing later if next comes next. held counts its appearances now. By any
// time, operations that install the version must have begun as often as compare-and-sets that need it must have ended,
// because each compare-and-set ends an appearance. And two reads that another version separates need two appearances,
// by operations that end late enough. Cost: linear in the running operations that need the version, and in foresight.
func (s *search) short(ver uint32, next int32, limit int64, held int) bool {
	d := s.outlooks[ver]
	if d == nil || len(d.needs) == 0 { // the initial version may have no writer
		return false
	}
	op := &s.ops[next]
	installed := int32(len(d.installs) - s.supply[ver] - held)
	if op.Sets == ver {
		installed++
	}
	taken := len(d.needs) - s.needed[ver]
	if !op.Maybe && op.Need == ver {
		taken++
	}
	from := sort.Search(len(d.needs), func(i int) bool { return s.ops[d.needs[i]].Until >= limit })
	at, swaps, passed := from, int32(0), from
	for ; at < len(d.needs) && passed < taken; at++ {
		i := d.needs[at]
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
	return d.spare[at] < installed-(d.swaps[at]-swaps) || s.lacks(d, next, from, held, foresight) >= 0
}

// lacks returns the index of an operation in needs[from:] for which no operation can install the version, or -1. Each
// appearance is matched with the operation that must end first. held counts the appearances now.
func (s *search) lacks(d *outlook, next int32, from, held, most int) int {
	for d.first < len(d.installs) && s.done[d.installs[d.first]] {
		d.first++
	}
	at, apart := d.first, int64(math.MinInt64)
	ready, open := s.ready[:0], held // operations under way: their deadlines, and how many have none
	defer func() { s.ready = ready }()
	for n := 0; from < len(d.needs) && n < most; from++ {
		i := d.needs[from]
		op := &s.ops[i]
		if i == next || s.done[i] || op.From <= apart {
			continue
		}
		for ; at < len(d.installs) && s.ops[d.installs[at]].From <= op.Until; at++ {
			switch w := d.installs[at]; {
			case w == next || s.done[w]:
			case s.ops[w].Maybe:
				open++
			default:
				ready = append(ready, s.ops[w].Until)
			}
		}
		best := -1
		for j, until := range ready {
			if until >= d.since[from] && (best < 0 || until < ready[best]) {
				best = j
			}
		}
		switch {
		case best >= 0:
			ready[best] = ready[len(ready)-1]
			ready = ready[:len(ready)-1]
		case open > 0:
			open--
		default:
			return from
		}
		if n, apart = n+1, d.apart[from]; apart == math.MaxInt64 {
			break
		}
	}
	return -1
}

// served returns the time by which an operation is needed: its own deadline, or the deadline of the first operation
// that needs its version.
func (s *search) served(i int32, limit int64) int64 {
	op := &s.ops[i]
	at := op.Until
	if op.Maybe {
		at = math.MaxInt64
	}
	d := s.outlooks[op.Sets]
	first := sort.Search(len(d.needs), func(j int) bool { return s.ops[d.needs[j]].Until >= limit })
	for ; first < len(d.needs); first++ {
		if j := d.needs[first]; j != i && !s.done[j] {
			return min(at, s.ops[j].Until)
		}
	}
	return at
}

// Scarce returns a few operations that prove that a register has no order, because they need a version more often than
// operations can install it. If it returns nil, there may be an order or not. Cost: O(n log n) for each version that is
// needed.
func Scarce(reg *Register, o SearchOptions) []Op {
	s := newSearch(reg, o)
	if s.preds {
		return nil
	}
	s.lookAhead()
	for _, ver := range slices.Sorted(maps.Keys(s.outlooks)) {
		held := 0
		if ver == s.cur {
			held = 1
		}
		d := s.outlooks[ver]
		if at := s.lacks(d, -1, 0, held, len(d.needs)); at >= 0 {
			return s.scarce(ver, d, at, reg)
		}
	}
	return nil
}

// scarce returns the operations that leave needs[last] without an operation that installs its version.
func (s *search) scarce(ver uint32, d *outlook, last int, reg *Register) (core []Op) {
	until := s.ops[d.needs[last]].Until
	picked := make([]bool, len(s.ops))
	for _, w := range d.installs {
		picked[w] = s.ops[w].From <= until
	}
	for at, i := range d.needs[:last+1] {
		picked[i] = true
		for j := range s.ops {
			if o := &s.ops[j]; o.displaces(ver) && (o.From > s.ops[i].Until && o.Until == d.apart[at] ||
				o.Until < s.ops[i].From && o.From == d.since[at]) {
				picked[j] = true
			}
		}
	}
	// For this version all others are alike: they become one version, other, which may be installed at any time.
	seen := func(v uint32) uint32 {
		if v == ver || v == none {
			return v
		}
		return other
	}
	few := &Register{Key: reg.Key, Initial: seen(reg.Initial),
		Ops: []Op{{Txn: none, From: math.MinInt64, Until: math.MaxInt64, Need: none, Sets: other, Maybe: true}}}
	byTxn := map[uint32]Op{}
	for i, op := range s.ops {
		if picked[i] {
			byTxn[op.Txn] = op
			op.Need, op.Sets = seen(op.Need), seen(op.Sets)
			few.Ops = append(few.Ops, op)
		}
	}
	return slice.Map(Core(few, nil, s.opt), func(op Op) Op { return byTxn[op.Txn] })
}
