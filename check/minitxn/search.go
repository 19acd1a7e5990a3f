package minitxn

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"isovet/internal/slice"
	"isovet/internal/sorts"
)

// ErrBudget ends a search that exceeds its memory, ErrStopped one that Stop ended.
var (
	ErrBudget  = errors.New("the search visited more states than its memory bound allows")
	ErrStopped = errors.New("the search was stopped")
)

// SearchOptions are the parameters of Search. The zero value is the default.
type SearchOptions struct {
	// True reports whether the result of a predicate operation agrees with a version of the register. It is required if
	// operations have predicates.
	True func(op, ver uint32) bool
	// Stop, if set, is polled during a search.
	Stop func() bool
	// MaxStates bounds the states that a search remembers; 0 means ten million.
	MaxStates int
}

// Search looks for an order of a register's operations that explains every read and respects real time. Operations that
// may not have happened may be left out. It returns their transactions, or ok = false if there is no order.
//
// Source:  Wing and Gong, "Testing and verifying concurrent objects" (1993), with the memory of visited states of Lowe,
// "Testing for linearizability" (2017), §3. Differs: a read is taken as soon as its version is current, which loses no
// order. A version that is still to be read and will not be written again is not overwritten; with unique values, that
// leaves few choices. Among operations that may not have happened and do the same, the one that began first is taken.
// Cost: exponential in the number of concurrent writes at worst, linear without choices.
func Search(reg *Register, o SearchOptions) (txns []uint32, ok bool, err error) {
	s := newSearch(reg, o)
	ok, err = s.run()
	if !ok {
		return nil, false, err
	}
	return slice.Map(s.trail, func(i int) uint32 { return s.ops[i].Txn }), true, nil
}

// Prefix returns the part of a register up to a time: without operations that began later, and operations that ended
// later may not have happened. If a register has an order, each prefix has one: the order cut after the last operation
// that ended by then.
func (reg *Register) Prefix(until int64) *Register {
	n := sort.Search(len(reg.Ops), func(i int) bool { return reg.Ops[i].From > until })
	p := &Register{Key: reg.Key, Initial: reg.Initial, Ops: make([]Op, 0, n)}
	for _, op := range reg.Ops[:n] {
		op.Maybe = op.Maybe || op.Until > until
		p.Ops = append(p.Ops, op)
	}
	return p
}

// FirstFailure returns, for a register without an order, the operation whose end is the first time at which the prefix
// has no order. Cost: logarithmically many searches.
func FirstFailure(reg *Register, o SearchOptions) (Op, error) {
	ended := slice.Filter(reg.Ops, func(op Op) bool { return !op.Maybe })
	sorts.Stable(ended, func(a, b Op) int { return cmp.Or(cmp.Compare(a.Until, b.Until), cmp.Compare(a.End, b.End)) })
	var err error
	lo := sort.Search(len(ended)-1, func(i int) bool {
		ok := err != nil
		if !ok {
			_, ok, err = Search(reg.Prefix(ended[i].Until), o)
		}
		return !ok
	})
	for lo+1 < len(ended) && ended[lo+1].Until == ended[lo].Until { // all operations with this deadline
		lo++
	}
	return ended[lo], err
}

type frame struct {
	trail int // its length before
	cur   uint32
	high  int32
	cand  []int32 // what may come next, and has not been tried
}

// search is the state of a search. Operations are numbered by start.
type search struct {
	ops   []Op
	opt   SearchOptions
	done  []bool
	cur   uint32
	trail []int // those taken, in order
	// next and prev link the operations that must take effect and have not, by start, in a ring through len(ops), so
	// that a long write does not keep later ones in view. high is the last such operation taken, or -1.
	next, prev []int32
	high       int32
	// maybe lists the operations that may not have happened, by class: those that need and set the same.
	maybe [][]int32
	// needed and supply count by version the operations left that must and need it, and that install it.
	needed, supply map[uint32]int
	preds          bool
	seen           map[string][][]int32 // how many of each class were taken, by the rest of a state
	states         int                  // remembered
	key            []byte
	cand           []int32 // what candidates returned last
	wanted         []int32 // running operations that need a version
	frames         []frame
	steps          int
	deadEnds       int
	foresighted
}

// foresighted is the part of a search that it needs once it looks ahead.
type foresighted struct {
	outlooks map[uint32]*outlook // by version
	place    []int32             // operation → its place in outlook.installs
	ready    []int64
	// At until dead ends the search gives up giveUp choices, the next time after pause more. deepest is the most taken.
	until, pause, giveUp, deepest int
	rng                           *rand.Rand
	odds                          int // one choice in odds is made in another order
}

func newSearch(reg *Register, o SearchOptions) *search {
	o.MaxStates = cmp.Or(o.MaxStates, 10_000_000)
	s := &search{opt: o, cur: reg.Initial, needed: map[uint32]int{}, supply: map[uint32]int{},
		seen: map[string][][]int32{}, ops: make([]Op, 0, len(reg.Ops)), trail: make([]int, 0, len(reg.Ops)),
		foresighted: foresighted{until: patience, pause: 2 * patience, giveUp: fewChoices}}
	type class struct{ need, sets uint32 }
	classes := map[class]int{}
	for _, op := range reg.Ops {
		if op.Sets == op.Need {
			op.Sets = none // a compare-and-set that changes nothing is a read
		}
		if op.Maybe && op.Sets == none {
			continue // it shows nothing
		}
		i := len(s.ops)
		s.ops = append(s.ops, op)
		s.preds = s.preds || len(op.Preds) > 0
		if op.Sets != none {
			s.supply[op.Sets]++
		}
		if !op.Maybe {
			if op.Need != none {
				s.needed[op.Need]++
			}
			continue
		}
		c := class{op.Need, op.Sets}
		if len(op.Preds) > 0 {
			c.need = uint32(i) | 1<<31 // it forms its own class
		}
		at, ok := classes[c]
		if !ok {
			at = len(s.maybe)
			classes[c] = at
			s.maybe = append(s.maybe, nil)
		}
		s.maybe[at] = append(s.maybe[at], int32(i))
	}
	n := len(s.ops)
	s.done = make([]bool, n)
	s.next, s.prev, s.high = make([]int32, n+1), make([]int32, n+1), -1
	last := int32(n)
	for i := range s.ops {
		if !s.ops[i].Maybe {
			s.next[last], s.prev[i], last = int32(i), last, int32(i)
		}
	}
	s.next[last], s.prev[n] = int32(n), last
	return s
}

// fits reports whether an operation can take effect on a version.
func (o *SearchOptions) fits(op *Op, cur uint32) bool {
	if op.Need != none && op.Need != cur {
		return false
	}
	for _, p := range op.Preds {
		if !o.True(p, cur) {
			return false
		}
	}
	return true
}

func (s *search) take(i int) {
	op := &s.ops[i]
	s.done[i] = true
	s.trail = append(s.trail, i)
	if op.Sets != none {
		s.cur = op.Sets
		s.supply[op.Sets]--
	}
	if !op.Maybe && op.Need != none {
		s.needed[op.Need]--
	}
	if !op.Maybe {
		s.next[s.prev[i]], s.prev[s.next[i]] = s.next[i], s.prev[i]
		s.high = max(s.high, int32(i))
	}
}

// low returns the first operation that must take effect and has not, or len(ops).
func (s *search) low() int { return int(s.next[len(s.ops)]) }

// back undoes all operations taken since a frame.
func (s *search) back(f *frame) {
	for _, i := range slices.Backward(s.trail[f.trail:]) { // undo links, last first
		op := &s.ops[i]
		s.done[i] = false
		if op.Sets != none {
			s.supply[op.Sets]++
			if s.outlooks != nil {
				d := s.outlooks[op.Sets]
				d.first = min(d.first, int(s.place[i]))
			}
		}
		if !op.Maybe {
			if op.Need != none {
				s.needed[op.Need]++
			}
			s.next[s.prev[i]], s.prev[s.next[i]] = int32(i), int32(i)
		}
	}
	s.trail = s.trail[:f.trail]
	s.cur, s.high = f.cur, f.high
}

func (s *search) run() (bool, error) {
	for {
		if s.steps++; s.steps%1024 == 0 && s.opt.Stop != nil && s.opt.Stop() {
			return false, ErrStopped
		}
		cand, done := s.candidates()
		if done {
			return true, nil
		}
		switch {
		case len(cand) == 1:
			s.take(int(cand[0]))
			continue
		case len(cand) > 1 && s.remember():
			if s.states > s.opt.MaxStates {
				return false, ErrBudget
			}
			if s.rng != nil && s.rng.IntN(s.odds) == 0 {
				j := 1 + s.rng.IntN(len(cand)-1)
				cand[0], cand[j] = cand[j], cand[0]
			}
			s.frames = append(s.frames, frame{len(s.trail), s.cur, s.high, slices.Clone(cand)})
		}
		for { // try the next candidate
			if len(s.frames) == 0 {
				return false, nil
			}
			if s.outlooks != nil && len(s.trail) > s.deepest {
				s.deepest, s.giveUp, s.until = len(s.trail), fewChoices, s.deadEnds+s.pause
			}
			if s.deadEnds++; s.deadEnds >= s.until && !s.preds {
				s.again()
				break
			}
			f := &s.frames[len(s.frames)-1]
			s.back(f)
			if len(f.cand) == 0 {
				s.frames = s.frames[:len(s.frames)-1]
				continue
			}
			i := f.cand[0]
			f.cand = f.cand[1:]
			s.take(int(i))
			break
		}
	}
}

// again gives up choices and makes them anew, some in another order. So a search recovers from a wrong choice that many
// dead ends hide. At its first call it turns on looking ahead. It gives up all choices if they are few. Else it gives
// up the latest, and twice as many each time, until the search gets further than ever.
func (s *search) again() {
	keep := 0
	if s.outlooks == nil {
		s.lookAhead()
	} else {
		if s.rng == nil {
			s.rng = rand.New(rand.NewPCG(1, 2))
		}
		s.odds = 3 + s.rng.IntN(6)
		if len(s.frames) > s.pause {
			keep = max(0, len(s.frames)-s.giveUp)
			s.giveUp = min(2*s.giveUp, len(s.ops))
		}
	}
	s.pause += s.pause/16 + 1 // without an order, one search must be completed
	s.until = s.deadEnds + s.pause
	s.back(&s.frames[keep])
	s.frames, s.seen = s.frames[:keep], map[string][][]int32{}
}

// candidates takes the reads that it can, and returns the possible next operations, the one needed first at the front.
// done means that all operations that must take effect have. The slice is valid until the next call.
func (s *search) candidates() (cand []int32, done bool) {
again:
	cand = s.cand[:0]
	low := s.low()
	if low >= len(s.ops) {
		return nil, true
	}
	limit := s.ops[low].Until
	for i := low; i < len(s.ops) && s.ops[i].From <= limit; i = int(s.next[i]) {
		limit = min(limit, s.ops[i].Until)
	}
	for i := low; i < len(s.ops) && s.ops[i].From <= limit; i = int(s.next[i]) {
		op := &s.ops[i]
		if !s.opt.fits(op, s.cur) {
			continue
		}
		if op.Sets == none {
			s.take(i)
			goto again
		}
		if !s.strands(int32(i), limit) {
			cand = append(cand, int32(i))
		}
	}
	for _, class := range s.maybe {
		for _, i := range class {
			if s.done[i] {
				continue
			}
			op := &s.ops[i]
			if op.From <= limit && op.Sets != s.cur && s.useful(op) && s.opt.fits(op, s.cur) && !s.strands(i, limit) {
				cand = append(cand, i)
			}
			break
		}
	}
	due := s.due(low, limit)
	sorts.Stable(cand, func(a, b int32) int {
		return cmp.Or(cmp.Compare(due(a), due(b)), cmp.Compare(s.ops[a].Until, s.ops[b].Until))
	})
	s.cand = cand
	return cand, false
}

// due returns a function for the time by which an operation is needed: its deadline, or that of the first running
// operation that reads the version which it installs.
func (s *search) due(low int, limit int64) func(i int32) int64 {
	if s.outlooks != nil {
		return func(i int32) int64 { return s.served(i, limit) }
	}
	s.wanted = s.wanted[:0]
	for i := low; i < len(s.ops) && s.ops[i].From <= limit; i = int(s.next[i]) {
		if op := &s.ops[i]; op.Need != none {
			s.wanted = append(s.wanted, int32(i))
		}
	}
	return func(i int32) int64 {
		op := &s.ops[i]
		at := op.Until
		if op.Maybe {
			at = math.MaxInt64
		}
		for _, r := range s.wanted {
			if s.ops[r].Need == op.Sets && r != i {
				at = min(at, s.ops[r].Until)
			}
		}
		return at
	}
}

// strands reports whether an operation overwrites for ever a version that another must still read.
func (s *search) strands(i int32, limit int64) bool {
	if s.outlooks != nil {
		return s.starves(i, limit)
	}
	n, op := s.needed[s.cur], &s.ops[i]
	if !op.Maybe && op.Need == s.cur {
		n--
	}
	return n > 0 && s.supply[s.cur] == 0
}

// useful reports whether another operation may need the version that op, which may not have happened, installs.
func (s *search) useful(op *Op) bool {
	if s.preds || s.needed[op.Sets] > 0 {
		return true
	}
	return slices.ContainsFunc(s.maybe, func(class []int32) bool { return s.ops[class[0]].Need == op.Sets })
}

// remember reports whether the current state is new, and remembers it: the version, and the operations taken. For
// operations that must take effect, high and the earlier ones not taken describe these; all of those run concurrently.
// A state is not new either if an earlier one with the same version had taken no more of any class of operations that
// may not have happened: anything possible now was possible there.
func (s *search) remember() bool {
	k := binary.LittleEndian.AppendUint32(s.key[:0], s.cur)
	k = binary.AppendUvarint(k, uint64(s.high+1))
	for i := int32(s.low()); i < s.high; i = s.next[i] {
		k = binary.AppendUvarint(k, uint64(s.high-i))
	}
	s.key = k
	used := make([]int32, len(s.maybe))
	for c, class := range s.maybe {
		for int(used[c]) < len(class) && s.done[class[used[c]]] {
			used[c]++
		}
	}
	have := s.seen[string(k)]
next:
	for _, before := range have {
		for c, n := range before {
			if n > used[c] {
				continue next
			}
		}
		return false
	}
	s.seen[string(k)] = append(have, used)
	s.states++
	return true
}
