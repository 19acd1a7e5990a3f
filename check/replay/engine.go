package replay

import (
	"context"
	"slices"

	"isovet/check/prepass"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/internal/graph/order"
	"isovet/internal/safego"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/solver"
	"isovet/solver/acyclic"
)

const none = history.None

// Options tune a run; the zero value is the default.
type Options struct {
	Level level.Level
	// Skew widens client intervals by this many ns at both ends, if the level uses real time.
	Skew int64
	// NoTimes ignores all times that the level does not require. Hints then come from sessions only.
	NoTimes bool
	// Hint, if set, replaces the guessed order: transactions with smaller numbers come first. It need not be right.
	Hint []int64
	// NoGuess skips the first search, for an order that keeps sessions although the level does not demand that.
	NoGuess bool
	// NoSettling never settles reads before the loop.
	NoSettling bool
	// SettleFirst settles reads before the first replay, even if times may give the order, or if few reads have several
	// possible writers.
	SettleFirst bool
	// NoSerial never looks for a serial order at the snapshot levels.
	NoSerial bool
	// SerialFirst looks for a serial order once a read fails, and not only after rounds without progress or many
	// conflicts.
	SerialFirst bool
	// NoSaturation never looks for edges that all orders obey.
	NoSaturation bool
	// SaturateAfter is the number of conflicts after which saturation begins, followed by all open choices. 0 means 500
	// plus one for each ten transactions.
	SaturateAfter int64
	// Cut are transactions that need not follow the earlier ones of their session, at levels with session order. An
	// order without session edges into them is enough at a level without sessions.
	Cut map[uint32]bool
	// AllAtOnce saturates at the first conflict, makes all open choices, and gives up if that gives no answer.
	AllAtOnce bool
	// GiveUpAfter, if not 0, bounds the conflicts of a search. Beyond it Run gives up (Answer.GaveUp).
	GiveUpAfter int64
	// serial marks a run that looks for a serial order for a snapshot level. Its "no" needs no seed, and it gives up if
	// all choices at once give no answer.
	serial bool
	// bounds replaces defaultBounds in tests, unless zero.
	bounds bounds
}

// Stats has the counts of a run.
type Stats struct {
	Rounds, Vars, Guards int
	Again                int // rounds that replayed only the keys of moved nodes
	KnownEdges, Backward int // edges of the history; those that go against the first order
	Failed               int // reads and writes that failed, over all rounds
	Facts                int // edges that saturation found
	Serial               int // snapshot levels: 1 if a serial order was looked for, 2 if that gave the answer
	Pairs                int // choices of dense
	// Astray counts orders by dense in which a read is wrong although saturation was complete: a fault of isovet, if
	// not 0.
	Astray int
	// Settled counts reads with several possible writers that settling left only one. Contradiction says that settling
	// refuted the level, so that the loop did not run.
	Settled                int
	Contradiction          bool
	Decisions, Conflicts   int64
	Propagations, Restarts int64
}

// Answer is the result of a run. If the level holds, Order is a serial order of transactions, or at the snapshot levels
// an order of events (t<<1 begin, t<<1|1 commit). Else Seed are transactions that violate the level by themselves,
// unless Mismatch is set.
type Answer struct {
	Status solver.Status // Sat: the level holds
	GaveUp bool          // Unknown, by Options.GiveUpAfter
	Order  []uint32
	Seed   []uint32
	// Mismatch are keys that a predicate operation of a counting transaction missed, or overwrote, though no version
	// that it may have seen allows that. Each violates the level by itself, and Seed is then empty.
	Mismatch []prepass.Miss
	Stats    Stats
}

// engine is a run's state.
type engine struct {
	v  *prepass.View
	h  *history.History
	o  Options
	si bool
	// sessions says that session order is among the known edges, because the level demands it, or as a guess.
	sessions bool

	txn  []uint32 // node of a transaction i → transaction
	node []int32  // transaction → i, -1
	open []bool   // i → the outcome is open

	rdOff []uint32 // readers of each write, as in the polygraph
	rd    []int32

	next     []int32      // of successors; nil but while edges are listed
	lost     []uint32     // two read-modify-writes of one version, if any; see known
	facts    []graph.Edge // edges of saturation
	guess    []int64      // graph node → its time as saturation guesses it; nil before
	preds    *predReads   // nil: no predicate operations
	later    bool         // settling is possible if the loop gets stuck
	settling *settling    // the findings that were settled before the loop; nil if none were
	// atCommit says that the hint places each transaction's begin at its commit.
	atCommit bool

	total int // graph nodes, auxiliary ones included
	ord   *order.Order
	late  []graph.Edge // known edges against the first order
	// failed has the failures of the first order, if they are known before the first round.
	failed []failure
	// again replays only the keys of moved nodes. It is nil before round againFrom, and when everything is replayed.
	again     *again
	againFrom int
	s         *solver.Solver
	pk        *acyclic.PK
	log       lemmaLog

	top   solver.Var               // always true
	pair  map[[2]uint32]solver.Var // writes (a, b), a < b → "a before b"
	extra map[[3]uint32]bool       // guards of single readers: literal, reader, target
	sel   map[uint32]selection     // ambiguous read → its literals
	// (read, write, later write) → "the read saw this write, which is before the later one"
	via    map[[3]uint32]solver.Var
	counts []solver.Var    // i → "counts"; only for open ones
	guards []acyclic.Guard // not yet passed to pk
	about  []about         // guard → the writes that it orders
	stats  Stats

	saturated bool // saturation was tried
	needSeed  bool // a refutation must be the level's own
}

// about names the writes that a guard orders, for the seed of an explanation. read is set if the guard belongs to the
// selection of that read.
type about struct{ a, b, read uint32 }

func (e *engine) begin(i int32) int32 {
	if e.si {
		return 2 * i
	}
	return i
}

func (e *engine) commit(i int32) int32 {
	if e.si {
		return 2*i + 1
	}
	return i
}

// Run decides whether the view satisfies the level. The view must have no anomalies. It returns Unknown only if ctx
// ends, if it gives up (Options), or if a solver's memory is full.
//
// If the level does not demand session order, Run first looks for an order that keeps it. Databases mostly do, and
// without times these edges leave far fewer choices open. Only if there is no such order does it search without them.
// Cost: linear for building the graph and for each round; see the package comment for the rest.
func Run(ctx context.Context, v *prepass.View, o Options) (Answer, error) {
	m, err := newMatcher(v)
	if err != nil {
		return Answer{}, err
	}
	if !o.NoGuess || o.Level.Sessions() {
		if a, err := run(ctx, v, o, m, true); err != nil || o.Level.Sessions() || a.Status != solver.Unsat {
			return a, err
		}
	}
	return run(ctx, v, o, m, false)
}

func run(ctx context.Context, v *prepass.View, o Options, m matcher, sessions bool) (Answer, error) {
	if o.bounds == (bounds{}) {
		o.bounds = defaultBounds
		if o.AllAtOnce {
			o.bounds.scans, o.bounds.guards = fewScans, fewGuards
		}
	}
	e := &engine{v: v, h: v.H, o: o, si: o.Level.Snapshot(), sessions: sessions}
	e.needSeed = sessions == o.Level.Sessions() && !o.serial
	e.number()
	e.rdOff, e.rd = v.Readers(e.txn)
	ready := func() {}
	switch {
	case m != nil && e.si: // the first order depends on these
		e.preds = newPredReads(e, m)
	case m != nil:
		var g safego.Group
		var preds *predReads
		g.Go(func() { preds = newPredReads(e, m) })
		ready = func() {
			g.Wait()
			e.preds = preds
		}
	}
	var a Answer
	var err error
	when := e.whenToSettle()
	asItWas := *e
	if when == settleFirst {
		a, err = e.runSettled(ctx)
	} else {
		e.later = when == settleLater
		a, err = e.run(ctx, ready)
	}
	if err == errLater {
		e.count(e.s)
		stats := e.stats
		*e = asItWas
		e.stats = stats
		a, err = e.runSettled(ctx)
	}
	e.stats.Vars, e.stats.Guards = 0, len(e.about)
	if e.s != nil {
		e.stats.Vars = e.s.NumVars() + e.stats.Pairs
		e.count(e.s)
	}
	a.Stats = e.stats
	return a, err
}

// number numbers the nodes in the order of the hint, so that neighbours in the order are neighbours in memory.
func (e *engine) number() {
	v, h := e.v, e.h
	e.node = make([]int32, h.NumTxns())
	isOpen := slice.Set(v.Open)
	e.txn = make([]uint32, 0, v.NumCounts+len(v.Open))
	for t, c := range v.Counts {
		e.node[t] = -1
		if c || len(isOpen) > 0 && isOpen[uint32(t)] {
			e.txn = append(e.txn, uint32(t))
		}
	}
	keys := slice.Map(e.txn, e.hint())
	if !slices.IsSorted(keys) {
		e.txn = slice.Pick(e.txn, graph.SortIndex(keys))
	}
	e.open = make([]bool, len(e.txn))
	for i, t := range e.txn {
		e.node[t] = int32(i)
		e.open[i] = !v.Counts[t]
	}
}

func (e *engine) readersOf(w uint32) []int32 { return e.rd[e.rdOff[w]:e.rdOff[w+1]] }

// writer returns the node of a write's transaction, or -1 for an initial version.
func (e *engine) writer(w uint32) int32 {
	if t := e.v.WTxn[w]; t != none {
		return e.node[t]
	}
	return -1
}

// known calls f for every known edge except those of real time: reads, sessions, and from readers of a version to the
// transaction that read and replaced it. If two transactions read and replaced one version, lost has them: a lost
// update. Cost: linear, because it takes only the first transaction that replaced a version.
func (e *engine) known(f func(u, v int32)) (lost []uint32) {
	e.shown(f)
	return e.successors(f)
}

// shown calls f for the edges of reads and sessions.
func (e *engine) shown(f func(u, v int32)) {
	v := e.v
	if e.si {
		for i := range int32(len(e.txn)) {
			f(2*i, 2*i+1)
		}
	}
	for i, t := range e.txn {
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			if w := v.RW[r]; w != none && !v.Initial(w) {
				f(e.commit(e.writer(w)), e.begin(int32(i)))
			}
		}
	}
	e.inSessions(func(last, i int32) { f(e.commit(last), e.begin(i)) })
}

// inSessions calls f for each two nodes of which one follows the other in its session, if the engine knows sessions.
func (e *engine) inSessions(f func(last, i int32)) {
	h := e.h
	for s := 0; e.sessions && s < h.NumSessions(); s++ {
		last := int32(-1)
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			i := e.node[t]
			if i < 0 {
				continue
			}
			if last >= 0 && !e.o.Cut[t] {
				f(last, i)
			}
			if h.Txns.Status[t] != history.Unknown {
				last = i
			}
		}
	}
}

// successors calls f for the edges from the readers of a version to the transaction that read and replaced it.
func (e *engine) successors(f func(u, v int32)) (lost []uint32) {
	v := e.v
	stamp := make([]int32, e.h.NumKeys())
	if e.next == nil {
		e.next = make([]int32, len(v.WKey))
	}
	next := e.next // 1 + the node that read and replaced this write
	clear(next)
	for i, t := range e.txn {
		if e.open[i] || v.ROff[t] == v.ROff[t+1] || v.WOff[t] == v.WOff[t+1] {
			continue
		}
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			stamp[v.WKey[w]] = int32(i) + 1
		}
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			a := v.RW[r]
			if a == none || stamp[v.WKey[a]] != int32(i)+1 {
				continue
			}
			if next[a] != 0 {
				if lost == nil {
					lost = []uint32{e.txn[next[a]-1], t}
					if x := v.WTxn[a]; x != none {
						lost = append(lost, x)
					}
				}
				continue
			}
			next[a] = int32(i) + 1
			for _, x := range e.readersOf(a) {
				if x != int32(i) && !e.open[x] {
					f(e.begin(x), e.commit(int32(i)))
				}
			}
		}
	}
	return lost
}

// windows returns the real-time windows of the graph nodes: a begin is released at its transaction's start, a commit is
// due at its end.
func (e *engine) windows() (rel, due []int64) {
	n := len(e.txn)
	if e.si {
		n *= 2
	}
	rel, due = make([]int64, n), make([]int64, n)
	for i := range rel {
		rel[i], due[i] = graph.NoStart, graph.NoEnd
	}
	for i, t := range e.txn {
		start, end := e.h.Window(t, e.o.Skew)
		rel[e.begin(int32(i))] = start
		due[e.commit(int32(i))] = end
	}
	return rel, due
}
