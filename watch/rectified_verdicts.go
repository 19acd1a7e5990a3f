package watch

import (
	"slices"
	"time"
)

// rectified measures how long wrong verdicts about reads lasted before later arrivals corrected them (AION, Figure
// 13b), by the process's clock. It covers this run only and does not influence judging.
type rectified struct {
	wrong map[followedRead]time.Time
	n     [len(RectifiedBounds) + 1]int64
	sum   time.Duration
	now   func() time.Time
}

type followedRead struct {
	n  int64 // number of the arrival
	op uint32
}

// RectifiedBounds are the upper bounds of Rectified.Counts.
var RectifiedBounds = [...]time.Duration{time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond,
	500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, time.Minute}

// Rectified has the durations of wrong verdicts that later arrivals corrected.
type Rectified struct {
	Counts []int64 // cumulative, for each of RectifiedBounds
	All    int64
	Sum    time.Duration
}

const (
	// followAll is the number of wrong reads up to which each is followed. Beyond it, only one in eight transactions
	// is followed, so that a stream out of order does not cost more.
	followAll = 1024
	// followMost bounds the followed reads. If there are more, they are dropped: so many never become right.
	followMost = 1 << 16
)

// follow notes that a read is wrong or, if ok is set, right after all.
func (r *rectified) follow(n int64, op uint32, ok bool) {
	x := followedRead{n, op}
	if !ok {
		if len(r.wrong) >= followAll && n%8 != 0 {
			return
		}
		if r.wrong == nil || len(r.wrong) >= followMost {
			r.wrong = map[followedRead]time.Time{}
		}
		r.wrong[x] = r.now()
		return
	}
	since, is := r.wrong[x]
	if !is {
		return
	}
	delete(r.wrong, x)
	d := max(r.now().Sub(since), 0)
	i, _ := slices.BinarySearch(RectifiedBounds[:], d)
	r.n[i]++
	r.sum += d
}

// add adds the measured durations to s.
func (r *rectified) add(s *Rectified) {
	if s.Counts == nil {
		s.Counts = make([]int64, len(RectifiedBounds))
	}
	upTo := int64(0)
	for i, n := range r.n {
		if upTo += n; i < len(s.Counts) {
			s.Counts[i] += upTo
		}
	}
	s.All += upTo
	s.Sum += r.sum
}
