package watch

import (
	"isovet/check/timestamp"
	"isovet/history"
)

// suspects are reads that are final, and of what nobody who has arrived wrote: a writer that comes late may explain
// them, for a while.
type suspects struct {
	queue []*suspect // by when the wait is over
	of    map[uint32][]*suspect
	n     int
}

type suspect struct {
	f    timestamp.Final
	due  int64
	done bool
}

// maxWaiting bounds those that wait; the first is a violation when there are more.
const maxWaiting = 1 << 16

// add has a read wait, and returns one that is to wait no longer, if there are too many.
func (s *suspects) add(f timestamp.Final, due int64) (out *timestamp.Final) {
	if s.of == nil {
		s.of = map[uint32][]*suspect{}
	}
	for i := 0; s.n == maxWaiting; i++ {
		if x := s.queue[i]; !x.done {
			s.end(x)
			out = &x.f
		}
	}
	x := &suspect{f: f, due: due}
	s.queue = append(s.queue, x)
	s.of[f.Key] = append(s.of[f.Key], x)
	s.n++
	return out
}

// late settles what a transaction that has come late explains: reads of what it wrote, and of lists that it appended
// to.
func (s *suspects) late(t *timestamp.Arrival, explained func(f *timestamp.Final)) {
	if s.n == 0 {
		return
	}
	for i := range t.Ops {
		o := &t.Ops[i]
		if o.Kind != history.Write && o.Kind != history.Append {
			continue
		}
		for _, x := range s.of[o.Key] {
			if !x.done && (o.Kind == history.Append || x.f.Got == o.Val) {
				s.end(x)
				explained(&x.f)
			}
		}
	}
}

func (s *suspects) end(x *suspect) {
	x.done = true
	s.n--
	left := s.of[x.f.Key][:0:0]
	for _, y := range s.of[x.f.Key] {
		if !y.done {
			left = append(left, y)
		}
	}
	if s.of[x.f.Key] = left; len(left) == 0 {
		delete(s.of, x.f.Key)
	}
}

// expire ends the wait of those that are due by the clock.
func (s *suspects) expire(clock int64, convict func(f *timestamp.Final)) {
	n := 0
	for n < len(s.queue) && s.queue[n].due <= clock {
		if x := s.queue[n]; !x.done {
			s.end(x)
			convict(&x.f)
		}
		n++
	}
	s.queue = s.queue[:copy(s.queue, s.queue[n:])]
}
