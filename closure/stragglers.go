package closure

import "isovet/internal/graph"

// Limits of the automatic choice: for rows of up to narrow words on average, stragglers are not worth their cost; more
// than manyStragglers would be no exceptions any more, and every added edge looks at all of them.
const (
	narrow         = 4
	manyStragglers = 1024
)

// layout is a choice of stragglers, with the tables that turn bounds into rows.
type layout struct {
	count     int
	straggler []bool  // by place
	due       []int32 // by place
	rank      []int32 // by place, n+1 entries: rank of the first non-straggler at or after the place
	first     []int32 // by place L: first rank from which on a non-straggler is due after L starts
	rowWords  int
	wordsAll  int // rows and columns
}

// measure computes the tables for the chosen stragglers.
//
// Cost: O(n), four passes over int32 arrays.
func (l *layout) measure(b bounds) {
	n := len(l.due)
	next := int32(l.count)
	for i := range n {
		l.rank[i] = next
		if !l.straggler[i] {
			next++
		}
	}
	l.rank[n] = next
	// first[L]: the non-stragglers below it end before place L starts (their due place is at most L).
	high, x := int32(0), int32(l.count) // x: rank of the next non-straggler; high: largest due below it
	place := 0
	for L := range int32(n) {
		for place < n {
			if !l.straggler[place] {
				if max(high, l.due[place]) > L {
					break
				}
				high = max(high, l.due[place])
				x++
			}
			place++
		}
		l.first[L] = x
	}
	l.rowWords = 0
	for v := range n {
		l.rowWords += row{lo: l.first[b.latest[v]], hi: l.rank[b.earliest[v]]}.words()
	}
	l.wordsAll = l.rowWords
	if l.count > 0 {
		l.wordsAll += l.count*((n+63)/64) + n/2
	}
}

// chooseStragglers decides which transactions leave the start order: none if rows are narrow, else the number of
// longest ones that makes rows and columns smallest, searched first by powers of two, then between the neighbours of
// the best. wanted > 0 forces a number, wanted < 0 forces none.
//
// Stragglers that run side by side widen all rows until the last of them is out, so the words need not decrease step by
// step; a first try with the most allowed tells whether the search is worthwhile.
// Cost:   O(n) for each number tried.
func chooseStragglers(t *timeline, b bounds, wanted int) *layout {
	n := len(t.nodes)
	l := &layout{straggler: make([]bool, n), due: make([]int32, n), rank: make([]int32, n+1), first: make([]int32, n)}
	for place, v := range t.nodes {
		l.due[place] = t.due[v]
	}
	if wanted <= 0 {
		l.measure(b)
		if wanted < 0 || l.rowWords <= narrow*n {
			return l
		}
	}
	span := make([]int32, n)
	for place, due := range l.due {
		span[place] = max(0, due-int32(place))
	}
	_, bySpan := graph.Group(span, n+1) // places, shortest first
	try := func(count int) int {
		clear(l.straggler)
		for _, place := range bySpan[n-count:] {
			l.straggler[place] = true
		}
		l.count = count
		l.measure(b)
		return l.wordsAll
	}
	if wanted > 0 {
		try(min(wanted, n))
		return l
	}
	best, bestWords := 0, l.wordsAll
	consider := func(count int) {
		if words := try(count); words < bestWords {
			best, bestWords = count, words
		}
	}
	most := min(manyStragglers, n)
	if try(most); l.rowWords-most*((n+63)/64) < bestWords/2 {
		for count := 1; count < most; count *= 2 {
			consider(count)
		}
		for step := best / 2; step > 0; step /= 2 {
			at := best
			if at-step > 0 {
				consider(at - step)
			}
			consider(min(most, at+step))
		}
	}
	try(best)
	return l
}
