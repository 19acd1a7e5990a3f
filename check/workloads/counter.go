package workloads

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"isovet/evidence"
	"isovet/history/operations"
)

// sums holds the sums of additions up to each moment.
type sums struct {
	at  []int64
	sum []int64 // of the first n
}

func newSums(steps [][2]int64) *sums {
	slices.SortFunc(steps, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	s := &sums{sum: []int64{0}}
	for i, x := range steps {
		s.at = append(s.at, x[0])
		s.sum = append(s.sum, s.sum[i]+x[1])
	}
	return s
}

// before returns the sum of the additions before a moment; through includes those at the moment.
func (s *sums) before(at int64) int64 {
	return s.sum[sort.Search(len(s.at), func(i int) bool { return s.at[i] >= at })]
}

func (s *sums) through(at int64) int64 {
	return s.sum[sort.Search(len(s.at), func(i int) bool { return s.at[i] > at })]
}

// tooLarge leaves the verdict open if a sum of additions may not fit in 64 bits.
func (j *judge) tooLarge() bool {
	size := uint64(0)
	for _, op := range j.each("add", operations.OK, operations.Unknown) {
		n, _ := op.In.(int64)
		if size += uint64(max(n, -n)); n == math.MinInt64 || size > math.MaxInt64 {
			j.unknown("line %d: the sum of the additions may exceed 64 bits", op.Line)
			return true
		}
	}
	return false
}

// counter is Jepsen's counter: a read is at least what was added by operations that returned before its call, at most
// what was added by those called before its return. Subtractions, which Jepsen's does not know, count the other way
// round. If reads are marked :final?, as Maelstrom marks them, only they are judged: each gives all that was surely
// added, plus any part of what may have been.
func counter(_ context.Context, j *judge) error {
	if j.tooLarge() {
		return nil
	}
	var done, tried, less, lessTried [][2]int64 // by returns and calls; of additions, and of what was taken away
	var sure int64
	var open []int64
	for _, op := range j.each("add", operations.OK, operations.Unknown) {
		n, ok := op.In.(int64)
		if !ok {
			return j.bad(op, "value", op.In, "an integer to add")
		}
		to, calls := &done, &tried
		if n < 0 {
			to, calls = &less, &lessTried
		}
		*calls = append(*calls, [2]int64{op.Call, n})
		if op.Status == operations.OK {
			*to = append(*to, [2]int64{op.Return, n})
			sure += n
		} else {
			open = append(open, n)
		}
	}
	up, most, down, least := newSums(done), newSums(tried), newSums(less), newSums(lessTried)
	reads, skipped, finals := 0, 0, false
	for _, op := range j.each("read") {
		finals = finals || op.Extra.Get("final?") == true
	}
	for i, op := range j.each("read", operations.OK) {
		if finals && op.Extra.Get("final?") != true {
			continue
		}
		if op.Out == nil {
			skipped++
			continue
		}
		n, ok := op.Out.(int64)
		if !ok {
			return j.bad(op, "value", op.Out, "an integer, the counter's value")
		}
		reads++
		if finals {
			if known, is := reachable(open, n-sure); known && !is {
				j.found("wrong-final-read", []int{i}, "the final read returns %d, but the acknowledged additions "+
					"sum to %d, and no choice of those of unknown outcome explains the difference", n, sure)
			} else if !known {
				j.unknown("a final read depends on too many additions of unknown outcome")
				return nil
			}
			continue
		}
		low, high := up.before(op.Call)+least.through(op.Return), most.through(op.Return)+down.before(op.Call)
		if n < low || n > high {
			j.found("out-of-bounds", []int{i}, "a read returns %d; expected %d to %d: adds that ended before the "+
				"read's call count, and adds called before its return may count", n, low, high)
		}
	}
	j.stat("read-count", reads)
	if skipped > 0 {
		j.stat("not-judged", skipped)
	}
	if reads == 0 && j.a.Verdict != evidence.Violated {
		j.unknown("inconclusive: the counter was never read")
	}
	return nil
}

// maxReachable bounds the number of sums that reachable keeps.
const maxReachable = 1 << 20

// reachable reports whether some of the numbers add up to sum; known is false if there are too many sums to tell.
func reachable(of []int64, sum int64) (known, is bool) {
	all := map[int64]bool{0: true}
	for _, n := range of {
		next := make(map[int64]bool, 2*len(all))
		for s := range all {
			next[s], next[s+n] = true, true
		}
		if all = next; len(all) > maxReachable {
			return all[sum], all[sum]
		}
	}
	return true, all[sum]
}
