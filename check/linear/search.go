package linear

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"

	"isovet/internal/slice"
)

// search is the search for an order by Wing and Gong, with Lowe's memory of visited states.
//
// Source: Wing and Gong, "Testing and verifying concurrent objects" (1993); Lowe, "Testing for linearizability" (2017),
// §3. Differs: an operation that only observes is taken as soon as it can be, which loses no order. Among operations
// with the same input that may not have happened, the one called first is taken, and only if it changes the state.
type search[S any] struct {
	m     *Model[S]
	ops   []Op  // by their calls
	place []int // index of each in the caller's list
	state S
	done  []bool
	trail []int
	// next and prev link the operations that must take effect and have not, by call, in a ring through len(ops). high
	// is the last such operation taken, or -1.
	next, prev []int32
	high       int32
	maybe      [][]int32 // operations that may not have happened, by input
	class      []int32   // operation → its index in maybe; -1: it must take effect
	taken      []int     // by class
	seen       map[string][]visited[S]
	states     int // number of states remembered, a large one counting as several
	most       int
	key        []byte
	frames     []frame[S]
}

type choice[S any] struct {
	op int32
	to S
}

// frame is a moment with several possible next operations, and those not yet tried.
type frame[S any] struct {
	trail int
	state S
	high  int32
	left  []choice[S]
}

// search returns an order of all operations that must take effect and some that may. ok is false if there is none.
func (m *Model[S]) search(ctx context.Context, ops []Op, most int) (order []int, ok bool, err error) {
	if m.foresee != nil {
		m = m.foresee(ops)
	}
	s := m.newSearch(ops, most)
	if ok, err = s.run(ctx); !ok {
		return nil, false, err
	}
	return slice.Pick(s.place, s.trail), true, nil
}

func (m *Model[S]) newSearch(ops []Op, most int) *search[S] {
	s := &search[S]{m: m, state: m.Init(), seen: map[string][]visited[S]{}, most: most, high: -1}
	for i := range ops {
		if ops[i].Maybe && m.observes(&ops[i]) {
			continue // it shows nothing
		}
		s.place = append(s.place, i)
	}
	slices.SortStableFunc(s.place, func(a, b int) int { return cmp.Compare(ops[a].Call, ops[b].Call) })
	s.ops = slice.Pick(ops, s.place)
	n := len(s.ops)
	s.done, s.class = make([]bool, n), make([]int32, n)
	s.next, s.prev = make([]int32, n+1), make([]int32, n+1)
	classes := map[string]int32{}
	last := int32(n)
	for i := range s.ops {
		s.class[i] = -1
		if !s.ops[i].Maybe {
			s.next[last], s.prev[i], last = int32(i), last, int32(i)
			continue
		}
		text := fmt.Sprintf("%T %#v", s.ops[i].Input, s.ops[i].Input)
		c, is := classes[text]
		if !is {
			c = int32(len(s.maybe))
			classes[text], s.maybe = c, append(s.maybe, nil)
		}
		s.class[i], s.maybe[c] = c, append(s.maybe[c], int32(i))
	}
	s.next[last], s.prev[n] = int32(n), last
	s.taken = make([]int, len(s.maybe))
	return s
}

func (s *search[S]) take(i int32, to S) {
	s.done[i], s.state = true, to
	s.trail = append(s.trail, int(i))
	if c := s.class[i]; c >= 0 {
		s.taken[c]++
		return
	}
	s.next[s.prev[i]], s.prev[s.next[i]] = s.next[i], s.prev[i]
	s.high = max(s.high, i)
}

// back undoes all operations taken since a frame.
func (s *search[S]) back(f *frame[S]) {
	for _, i := range slices.Backward(s.trail[f.trail:]) { // undo links, last first
		s.done[i] = false
		if c := s.class[i]; c >= 0 {
			s.taken[c]--
			continue
		}
		s.next[s.prev[i]], s.prev[s.next[i]] = int32(i), int32(i)
	}
	s.trail, s.state, s.high = s.trail[:f.trail], f.state, f.high
}

func (s *search[S]) run(ctx context.Context) (bool, error) {
	for steps := 0; ; steps++ {
		if steps%256 == 0 && ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		ways, done := s.ways()
		if done {
			return true, nil
		}
		if len(ways) == 1 {
			s.take(ways[0].op, ways[0].to)
			continue
		}
		if len(ways) > 1 && s.remember() {
			for _, w := range ways { // the frame holds them
				s.states += weight(w.to) - 1
			}
			if s.states > s.most {
				return false, errBudget
			}
			s.frames = append(s.frames, frame[S]{len(s.trail), s.state, s.high, ways})
		}
		for { // try the next candidate
			if len(s.frames) == 0 {
				return false, nil
			}
			f := &s.frames[len(s.frames)-1]
			s.back(f)
			if len(f.left) == 0 {
				s.frames = s.frames[:len(s.frames)-1]
				continue
			}
			w := f.left[0]
			f.left = f.left[1:]
			s.take(w.op, w.to)
			break
		}
	}
}

// ways takes the observing operations that it can, and returns the possible next ones, the one with the earliest return
// first. done means that all operations that must take effect have.
func (s *search[S]) ways() (ways []choice[S], done bool) {
again:
	end := int32(len(s.ops))
	low := s.next[end]
	if low == end {
		return nil, true
	}
	limit := s.ops[low].Return
	for i := low; i < end && s.ops[i].Call <= limit; i = s.next[i] {
		limit = min(limit, s.ops[i].Return)
	}
	for i := low; i < end && s.ops[i].Call <= limit; i = s.next[i] {
		to := s.m.next(s.state, &s.ops[i])
		if len(to) > 0 && s.m.observes(&s.ops[i]) {
			s.take(i, s.state)
			ways = ways[:0]
			goto again
		}
		for _, t := range to {
			ways = append(ways, choice[S]{i, t})
		}
	}
	slices.SortStableFunc(ways, func(a, b choice[S]) int { return cmp.Compare(s.ops[a.op].Return, s.ops[b.op].Return) })
	for c, class := range s.maybe {
		if s.taken[c] == len(class) {
			continue
		}
		if i := class[s.taken[c]]; s.ops[i].Call <= limit {
			for _, t := range s.m.next(s.state, &s.ops[i]) {
				if !s.m.equal(t, s.state) {
					ways = append(ways, choice[S]{i, t})
				}
			}
		}
	}
	return ways, false
}

// visited is a moment that the search has reached: its state, and how many operations of each class were taken.
type visited[S any] struct {
	state S
	taken []int
}

// remember reports whether the current moment is new, and remembers it: the state, and the operations taken. For
// operations that must take effect, high and the earlier ones not taken describe these; all of those run concurrently.
// A moment is not new either if one with the same state had taken no more of any class: anything possible now was
// possible there.
func (s *search[S]) remember() bool {
	k := binary.AppendUvarint(s.key[:0], uint64(s.high+1))
	for i := s.next[len(s.ops)]; i < s.high; i = s.next[i] {
		k = binary.AppendUvarint(k, uint64(s.high-i))
	}
	s.key = k
	have := s.seen[string(k)]
next:
	for i := range have {
		for c, n := range have[i].taken {
			if n > s.taken[c] {
				continue next
			}
		}
		if s.m.equal(have[i].state, s.state) {
			return false
		}
	}
	s.seen[string(k)] = append(have, visited[S]{s.state, slices.Clone(s.taken)})
	s.states += 1 + (len(k)+8*len(s.taken))/stateBytes
	return true
}

// stateBytes is the size, in bytes, of a state that counts once; a larger state counts several times.
const stateBytes = 200

// weight returns how many states a state counts as, by its length.
func weight(state any) int {
	const item = 16
	switch v := reflect.ValueOf(state); v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return 1 + item*v.Len()/stateBytes
	}
	return 1
}
