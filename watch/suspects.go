package watch

import (
	"isovet/check/timestamp"
	"isovet/history"
)

// suspects are reads that are final, and of what nobody who has arrived wrote: a writer that comes late may explain
// them, for a while.
type suspects struct {
	queue []*suspect            // by when the wait is over
	of    map[uint64][]*suspect // by hashes of keys
	n     int
}

type suspect struct {
	f    timestamp.Final // its key has no number any more
	key  string
	sum  uint64 // of key
	due  int64
	done bool
}

// maxWaiting bounds those that wait; the first is a violation when there are more.
const maxWaiting = 1 << 16

// add has a read wait, and returns one that is to wait no longer, if there are too many.
func (s *suspects) add(f timestamp.Final, key string, sum uint64, due int64) (out *suspect) {
	if s.of == nil {
		s.of = map[uint64][]*suspect{}
	}
	for i := 0; s.n == maxWaiting; i++ {
		if x := s.queue[i]; !x.done {
			s.end(x)
			out = x
		}
	}
	x := &suspect{f: f, key: key, sum: sum, due: due}
	s.queue = append(s.queue, x)
	s.of[sum] = append(s.of[sum], x)
	s.n++
	return out
}

// late settles what a transaction that has come late explains: reads of what it wrote, and of lists that it appended
// to.
func (s *suspects) late(t *timestamp.Arrival, sum func(key uint32) uint64, explained func(x *suspect)) {
	if s.n == 0 {
		return
	}
	for i := range t.Ops {
		o := &t.Ops[i]
		if o.Kind != history.Write && o.Kind != history.Append {
			continue
		}
		for _, x := range s.of[sum(o.Key)] {
			if !x.done && (o.Kind == history.Append || x.f.Got == o.Val) {
				s.end(x)
				explained(x)
			}
		}
	}
}

func (s *suspects) end(x *suspect) {
	x.done = true
	s.n--
	left := s.of[x.sum][:0:0]
	for _, y := range s.of[x.sum] {
		if !y.done {
			left = append(left, y)
		}
	}
	if s.of[x.sum] = left; len(left) == 0 {
		delete(s.of, x.sum)
	}
}

// expire ends the wait of those that are due by the clock.
func (s *suspects) expire(clock int64, convict func(x *suspect)) {
	n := 0
	for n < len(s.queue) && s.queue[n].due <= clock {
		if x := s.queue[n]; !x.done {
			s.end(x)
			convict(x)
		}
		n++
	}
	s.queue = s.queue[:copy(s.queue, s.queue[n:])]
}
