// Package frontier decides serializability with session order by a search through the prefixes of a history, as Biswas
// and Enea do.
//
// # Problem
//
// A serial order that keeps the sessions executes, step by step, the next transaction of some session. The executed
// transactions are a frontier: a position in each session. Whether a frontier can be completed does not depend on how
// it was reached, so each is visited once. There are at most Π(nᵢ+1) frontiers for sessions of n₁, …, n_k transactions:
// polynomial for a fixed number of sessions, but far too many for many sessions.
//
// # When a transaction may be next
//
// All writers that it reads from have been executed, and no other transaction still has to read an executed version of
// a key that it writes. Then each read sees the current version: its writer was executed before it, and no transaction
// could overwrite the version in between. So a step only depends on the frontier and the history.
//
// Source: [BiswasEnea], the check of serializability for a bounded number of sessions. Differs: a count of waiting
// readers for each key replaces a search for them. A transaction of unknown outcome that counts is a session of its own
// after the earlier ones of its session, since it may take effect late (docs/levels.md).
//
// # Reads with several possible writers
//
// The paper's histories have none. Such a read needs the current version of its key to have its value. The frontier
// does not say which version that is, so the current versions of the keys of such reads become part of the frontier. A
// transaction of unknown outcome that only such reads could have seen may be executed or not; if it is, its reads must
// see current versions.
//
// Files: frontier.go (the search), loose.go (reads with several possible writers), visited.go (the set of frontiers).
//
// Experimental: this package may still change.
package frontier

import (
	"context"

	"isovet/check/prepass"
	"isovet/history"
)

// Options bound a search. The zero value sets no bound.
type Options struct {
	// MaxBytes bounds the memory for visited frontiers.
	MaxBytes int
}

// Status is how a search ended.
type Status uint8

const (
	Stopped   Status = iota // the context ended
	Exhausted               // MaxBytes
	Found                   // an order
	None                    // there is no order
)

// Answer is the result of a search.
type Answer struct {
	Status Status
	// Order, with Found, has each counting transaction once, and the executed ones of open outcome.
	Order []uint32
	// Frontiers is the number of visited frontiers.
	Frontiers int
}

// lane is a sequence to execute in order: a session without its transactions of unknown outcome, or one of those.
type lane struct {
	txns []uint32
	// The first after transactions of lane behind must be executed before this lane. behind is -1 if there is no such
	// lane.
	behind, after int32
}

// search is the state of a search. Its frontier is at: the positions in the lanes, followed by the current versions of
// loose keys. The other fields follow from that.
type search struct {
	v       *prepass.View
	lanes   []lane
	at      []uint32 // lane → transactions executed; followed by loose's part
	done    []bool   // transaction → executed
	waiting []uint32 // key → reads of executed versions by transactions not executed
	readers []uint32 // write → transactions that read it
	readsIt []uint32 // scratch: key → transaction+1 that reads it, for the one in question
	todo    int      // transactions that count and are not executed
	*loose           // nil: no read has several possible writers
}

// Search looks for an order. Cost: a frontier takes the operations of the sessions' next transactions, and a byte or
// two a session of memory.
func Search(ctx context.Context, v *prepass.View, o Options) Answer {
	s := newSearch(v)
	most := 0
	for _, l := range s.lanes {
		most = max(most, len(l.txns))
	}
	if s.loose != nil {
		most = max(most, s.versions)
	}
	seen := newVisited(len(s.at), most)
	seen.add(s.at)
	a := Answer{}
	// path[i] is the lane of the i-th executed transaction; next is the first lane not yet tried at the current
	// frontier.
	path, next := make([]int32, 0, v.NumCounts), int32(0)
	for step := 0; ; step++ {
		if s.todo == 0 {
			at := make([]uint32, len(s.lanes))
			for _, i := range path {
				a.Order = append(a.Order, s.lanes[i].txns[at[i]])
				at[i]++
			}
			a.Status, a.Frontiers = Found, seen.n
			return a
		}
		if step&1023 == 0 {
			if ctx.Err() != nil {
				a.Status, a.Frontiers = Stopped, seen.n
				return a
			}
			if o.MaxBytes > 0 && len(seen.slab)+4*len(seen.table) > o.MaxBytes {
				a.Status, a.Frontiers = Exhausted, seen.n
				return a
			}
		}
		moved := false
		for ; next < int32(len(s.lanes)); next++ {
			if !s.enabled(next) {
				continue
			}
			t := s.lanes[next].txns[s.at[next]]
			s.at[next]++
			s.install(t)
			isNew := seen.add(s.at)
			s.uninstall(t)
			s.at[next]--
			if isNew {
				s.execute(next)
				path, next, moved = append(path, next), 0, true
				break
			}
		}
		if moved {
			continue
		}
		if len(path) == 0 {
			a.Status, a.Frontiers = None, seen.n
			return a
		}
		last := path[len(path)-1]
		path = path[:len(path)-1]
		s.undo(last)
		next = last + 1
	}
}

func newSearch(v *prepass.View) *search {
	h := v.H
	s := &search{v: v, done: make([]bool, h.NumTxns()), waiting: make([]uint32, h.NumKeys()), readers: make([]uint32,
		len(v.WKey)), readsIt: make([]uint32, h.NumKeys()), todo: v.NumCounts, loose: newLoose(v)}
	for i := range h.NumSessions() {
		main, own := lane{behind: -1}, int32(len(s.lanes))
		var late []lane
		for _, t := range h.SessTxn[h.SessOff[i]:h.SessOff[i+1]] {
			switch {
			case !v.Counts[t] && !s.mayCount(t):
			case h.Txns.Status[t] == history.Unknown:
				late = append(late, lane{txns: []uint32{t}, behind: own, after: int32(len(main.txns))})
			default:
				main.txns = append(main.txns, t)
			}
		}
		if len(main.txns) > 0 || len(late) > 0 {
			s.lanes = append(append(s.lanes, main), late...)
		}
	}
	s.at = make([]uint32, len(s.lanes))
	if s.loose != nil {
		s.at = append(s.at, s.start...)
	}
	for t := range uint32(h.NumTxns()) {
		if s.mayCount(t) {
			continue
		}
		for _, w := range v.RW[v.ROff[t]:v.ROff[t+1]] {
			if w != history.None {
				s.readers[w]++
			}
		}
	}
	for k := range s.waiting {
		s.waiting[k] = s.readers[k] // write k is key k's initial version
	}
	return s
}

// enabled reports whether a lane's next transaction may be executed now.
func (s *search) enabled(i int32) bool {
	l := &s.lanes[i]
	if int(s.at[i]) == len(l.txns) || l.behind >= 0 && s.at[l.behind] < uint32(l.after) {
		return false
	}
	v, t := s.v, l.txns[s.at[i]]
	for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
		w := v.RW[r]
		if s.loose != nil && !s.exact(t, r) {
			if s.at[len(s.lanes)+int(s.slot[v.RKey[r]])] != s.number[v.RVer(r)] { // not the current version
				return false
			}
			continue
		}
		if from := v.WTxn[w]; from != history.None && !s.done[from] {
			return false
		}
		s.readsIt[v.WKey[w]] = t + 1
	}
	for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
		k := v.WKey[w]
		own := uint32(0)
		if s.readsIt[k] == t+1 {
			own = 1
		}
		if s.waiting[k] > own {
			return false
		}
	}
	return true
}

func (s *search) execute(i int32) {
	v, t := s.v, s.lanes[i].txns[s.at[i]]
	for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
		if s.exact(t, r) {
			s.waiting[v.WKey[v.RW[r]]]--
		}
	}
	for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
		s.waiting[v.WKey[w]] += s.readers[w]
	}
	s.install(t)
	s.done[t] = true
	s.at[i]++
	if v.Counts[t] {
		s.todo--
	}
}

func (s *search) undo(i int32) {
	s.at[i]--
	v, t := s.v, s.lanes[i].txns[s.at[i]]
	for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
		s.waiting[v.WKey[w]] -= s.readers[w]
	}
	for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
		if s.exact(t, r) {
			s.waiting[v.WKey[v.RW[r]]]++
		}
	}
	s.uninstall(t)
	s.done[t] = false
	if v.Counts[t] {
		s.todo++
	}
}
