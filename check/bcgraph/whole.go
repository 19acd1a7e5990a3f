package bcgraph

import (
	"cmp"
	"slices"

	"isovet/check/events"
	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// Whole is a whole history in one graph, which decides several levels.
type Whole struct {
	in    Input
	c     *chains
	guess string
}

// NewWhole adds a history's transactions to one graph, which decides the given levels. It adds them by their commit
// timestamps, if each that writes has one, else by their clients' ends, else in the order of the file. Where the
// version order of a key is open, its chains are assumed to follow each other in that order (as in [Guess]). Input's
// level and orders are ignored. A level with real time needs the times of all committed transactions.
//
// stop, if not nil, ends the work when it returns true; NewWhole then returns nil. Cost: a sort, and that of
// family.edge for each read and each transaction.
func NewWhole(in Input, levels []level.Level, stop func() bool) *Whole {
	v, h := in.V, in.V.H
	w := &Whole{in: in, c: &chains{open: none, fork: [2]uint32{none, none}}}
	c := w.c
	timed := slices.ContainsFunc(levels, level.Level.RealTime)
	n := len(v.WKey)
	c.key, c.writer, c.next, c.after = v.WKey, none32(n), none32(n), none32(n)
	c.other = make([]uint32, n)
	c.reads = make([]int32, n)
	for i := range n {
		c.other[i], c.reads[i] = uint32(i), -1
	}
	c.initial, c.last = slice.Numbers[uint32](h.NumKeys()), slice.Numbers[uint32](h.NumKeys())
	for _, l := range levels { // each with and without guessed edges
		c.f.on[maskOf(l)], c.f.on[maskOf(l)|byGuess] = true, true
	}
	c.f.settle(nil)
	txns, by := inTime(v)
	w.guess = by
	before, number := none32(len(v.Counts)), none32(len(v.Counts))
	events.Sessions(h, v.Counts, false, func(t, u uint32) { before[u] = t })
	var late []uint32 // transactions added before their session's earlier ones
	var a arrival
	var writes []uint32
	for i, t := range txns {
		if i%1024 == 1023 && stop != nil && stop() {
			return nil
		}
		a = arrival{id: t, before: none, timed: timed, saw: v.RW[v.ROff[t]:v.ROff[t+1]]}
		a.start, a.end = h.Window(t, in.Skew)
		if b := before[t]; b != none {
			if a.before = number[b]; a.before == none {
				late = append(late, t)
			}
		}
		writes = writes[:0]
		for x := v.WOff[t]; x < v.WOff[t+1]; x++ {
			writes = append(writes, x)
		}
		a.writes = writes
		number[t] = c.add(&a)
	}
	for _, t := range late {
		c.session(number[before[t]], number[t])
	}
	return w
}

func none32(n int) []uint32 { return slices.Repeat([]uint32{none}, n) }

// inTime lists the counting transactions by time; by names the kind of time.
func inTime(v *prepass.View) (txns []uint32, by string) {
	h := v.H
	txns = slice.Places[uint32](v.Counts, func(counts bool) bool { return counts })
	first := func(times ...int64) int64 {
		for _, t := range times {
			if t != history.NoTime {
				return t
			}
		}
		return history.NoTime
	}
	stamp := func(t uint32) int64 { return first(h.CommitTS(t), h.StartTS(t)) } // a reader may have no commit
	time, by := stamp, "commit timestamps"
	if slices.ContainsFunc(txns, func(t uint32) bool {
		return stamp(t) == history.NoTime || v.WOff[t] < v.WOff[t+1] && h.CommitTS(t) == history.NoTime
	}) {
		time, by = func(t uint32) int64 { return first(h.End(t), h.Start(t)) }, "client times"
	}
	sorted := true
	for i := 1; i < len(txns); i++ {
		sorted = sorted && time(txns[i-1]) <= time(txns[i])
	}
	if !sorted {
		slices.SortStableFunc(txns, func(t, u uint32) int { return cmp.Compare(time(t), time(u)) })
	}
	return txns, by
}

// Verdict returns the verdict at a level. It is unknown if the guessed version orders fail and known edges close no
// cycle.
func (w *Whole) Verdict(l level.Level) evidence.Verdict { return w.c.f.verdict(maskOf(l)) }

// Order returns an order that explains the history at a level that holds (evidence.Result.Order).
func (w *Whole) Order(l level.Level) []uint32 { return w.c.order(l) }

// Violation returns a cycle of known edges in the graph of a violated level, and the cycles that exclude other version
// orders than it assumes. It returns nil if two transactions overwrote one version: see Fork.
func (w *Whole) Violation(l level.Level) (cycle []evidence.Edge, forcing [][]evidence.Edge) {
	found := w.c.f.cycles[maskOf(l)]
	if found == nil {
		return nil, nil
	}
	found = w.c.straight(found)
	tell := func(f []logged) []evidence.Edge { return told(f, w.c.ids, w.in.evidence) }
	return tell(found), slice.Map(w.c.forcing(found), tell)
}

// Fork returns two writes that overwrote one version, or none.
func (w *Whole) Fork() [2]uint32 { return w.c.fork }

// Open returns the first write whose place among the versions of its key is a guess, or none, and names the guess.
func (w *Whole) Open() (write uint32, by string) { return w.c.open, w.guess }

// Edges counts the edges of the graph.
func (w *Whole) Edges() int { return len(w.c.f.log) + int(w.c.f.txns) }
