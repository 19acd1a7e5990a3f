package replay

import (
	"math"
	"slices"

	"isovet/check/prepass"
	"isovet/history"
	"isovet/internal/graph"
)

// hint guesses when each transaction took effect, by the best times that all of them have. A transaction of unknown
// outcome has no end time; its guess is its start plus the usual duration.
func (e *engine) hint() func(t uint32) int64 {
	h := e.h
	if e.o.Hint != nil {
		return func(t uint32) int64 { return e.o.Hint[t] }
	}
	if !e.o.NoTimes {
		switch {
		case h.Txns.CommitTS != nil && e.all(h.CommitTS):
			return e.since(h.StartTS, h.CommitTS)
		case h.Txns.End != nil && e.all(h.End):
			return e.since(h.Start, h.End)
		}
	}
	place := make([]int64, h.NumTxns())
	for s := range h.NumSessions() {
		in := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
		for i, t := range in {
			place[t] = int64(i) << 40 / int64(len(in))
		}
	}
	return func(t uint32) int64 { return place[t] }
}

// Ordered returns the transactions that count or are open in the order in which they may have taken effect, as far as
// times or sessions tell.
func Ordered(v *prepass.View) []uint32 {
	e := &engine{v: v, h: v.H}
	e.number()
	return e.txn
}

// since returns a transaction's end, or if that is unknown its start plus the usual duration.
func (e *engine) since(start, end func(uint32) int64) func(uint32) int64 {
	usual := int64(-1)
	return func(t uint32) int64 {
		if x := end(t); x != history.NoTime {
			return x
		}
		x := start(t)
		if x == history.NoTime {
			return math.MaxInt64
		}
		if usual < 0 {
			usual = e.usual(start, end)
		}
		return max(x, min(x, math.MaxInt64-usual)+usual)
	}
}

// usual returns the median duration of a sample of transactions.
func (e *engine) usual(start, end func(uint32) int64) int64 {
	const some = 1000
	var took []int64
	for i := 0; i < len(e.txn); i += len(e.txn)/some + 1 {
		from, to := start(e.txn[i]), end(e.txn[i])
		if d := to - from; from != history.NoTime && to >= from && d >= 0 {
			took = append(took, d)
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// all reports whether all committed transactions have this time.
func (e *engine) all(at func(uint32) int64) bool {
	for _, t := range e.txn {
		if at(t) == history.NoTime && e.h.Txns.Status[t] == history.Committed {
			return false
		}
	}
	return len(e.txn) > 0
}

// rank sets rank to the hint of each graph node.
func (e *engine) rank(rank []int64) {
	if e.guess != nil {
		copy(rank, e.guess)
		return
	}
	h := e.h
	start := func(uint32) int64 { return history.NoTime }
	if e.o.Hint == nil && !e.o.NoTimes {
		switch {
		case h.Txns.CommitTS != nil && h.Txns.StartTS != nil:
			start = h.StartTS
		case h.Txns.Start != nil:
			start = h.Start
		}
	}
	if !e.si {
		e.guessed(rank, rank, e.hint(), start)
		return
	}
	n := len(e.txn)
	began, when := make([]int64, n), make([]int64, n)
	e.guessed(began, when, e.hint(), start)
	for i, c := range when {
		// At equal database times commits come before begins, except those of one transaction.
		b := min(began[i], c)
		rank[2*i+1] = sat2(c)
		rank[2*i] = sat2(b)
		if h.Txns.CommitTS != nil && b < c {
			rank[2*i]++
		}
	}
}

// guessed sets when to the guessed commit of each transaction node and, if that is another slice, began to its begin. A
// transaction of unknown outcome committed before its readers committed, or at the snapshot levels before they began,
// but not before its own start.
func (e *engine) guessed(began, when []int64, commit, start func(uint32) int64) {
	for i, t := range e.txn {
		when[i] = commit(t)
	}
	if e.si {
		for i, t := range e.txn {
			if began[i] = start(t); began[i] == history.NoTime || began[i] > when[i] || e.atCommit {
				began[i] = when[i]
			}
		}
	}
	if e.rdOff == nil {
		return
	}
	// Nodes are in the order of these guesses, so that a reader of unknown outcome is handled before its writer.
	v := e.v
	for i := len(e.txn) - 1; i >= 0; i-- {
		t := e.txn[i]
		if e.h.Txns.Status[t] != history.Unknown {
			continue
		}
		x := when[i]
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			for _, r := range e.readersOf(w) {
				x = min(x, max(began[r], math.MinInt64+1)-1)
			}
		}
		if x < when[i] {
			when[i] = max(x, start(t))
		}
	}
}

// ends guesses, by node, the end times that no client saw, from client times; nil if no end is missing.
func (e *engine) ends(due []int64) []int64 {
	for i := range int32(len(e.txn)) {
		if due[e.commit(i)] != graph.NoEnd {
			continue
		}
		began, when := make([]int64, len(e.txn)), make([]int64, len(e.txn))
		if !e.si {
			began = when
		}
		e.guessed(began, when, e.since(e.h.Start, e.h.End), e.h.Start)
		return when
	}
	return nil
}

// sat2 doubles without overflow.
func sat2(x int64) int64 {
	if x > math.MaxInt64/2-1 {
		return math.MaxInt64 - 1
	}
	if x < math.MinInt64/2 {
		return math.MinInt64
	}
	return 2 * x
}
