package online

import (
	"cmp"
	"math"

	"isovet/history"
	"isovet/level"
)

// Options tune an engine.
type Options struct {
	Level level.Level
	// Skew, in ns, widens client intervals at both ends, at the levels with real time.
	Skew int64
	// Lateness is the distance, in ns, of the watermark from the latest end. A read waits so long for its writer to be
	// placed; then it counts as a read without a writer.
	Lateness int64
	// Patience is how long, in ns of the stream, a transaction of unknown outcome can still be read; 0 means as long
	// as the pool has space.
	Patience int64
	// Horizon is the number of transactions of the order in memory; 0 means DefaultHorizon.
	Horizon int
	// Memory bounds the bytes of the transactions in memory by shrinking the horizon; 0 means no bound.
	Memory int64
}

// DefaultHorizon takes about 30 MB if transactions have eight operations.
const DefaultHorizon = 1 << 16

// Op is an operation of an arrival. At is its index in the transaction.
type Op struct {
	Key uint32
	At  uint32
	Val uint64 // 0: null
}

// Arrival is a transaction as it arrives. Reads has its first read of each key that it had not written before, Writes
// its last write of each key, and Lost the writes that it overwrote or undid itself.
type Arrival struct {
	Line       int64 // its number for findings; unique
	Start, End int64 // NoTime: missing
	Session    uint32
	Seq        int64 // order in the session
	Status     history.Status
	Reads      []Op
	Writes     []Op
	Lost       []Op
	// Impossible says that its outcome is unknown, but that it cannot have committed.
	Impossible bool
}

// NoSession is the session of a transaction without one.
const NoSession = math.MaxUint32

// Engine judges a stream. Only one goroutine may use it.
//
// Package freeze saves its state; there the fields of embedded groups count as the engine's own.
type Engine struct {
	o     Options `freeze:"-"`
	stats Stats
	// The state of keys, transactions and sessions, by their numbers; free slots; the last mark on slots.
	cells  []cell
	slots  []txn
	free   []uint32
	sess   []session
	stamp  uint32
	graves []grave // numGraves, or none before the first
	// pending has committed transactions that are not in the order yet.
	pending pendingHeap
	wrote   pendingWrites `freeze:"-"`
	mark    int64         // all transactions with an earlier end have arrived and stand in the order
	// The order, from position first on, and the number of its transactions.
	order  []event
	first  int64
	placed int

	stream  streamState  `freeze:"flat"`
	await   awaited      `freeze:"flat"`
	unknown unknownPool  `freeze:"flat"`
	weights weights      `freeze:"flat"`
	budget  budget       `freeze:"flat"`
	out     results      `freeze:"flat"`
	attempt attempt      `freeze:"flat"`
	call    interruption `freeze:"flat"`
	w       window       `freeze:"-"`
}

// streamState is the state of the stream as a whole.
type streamState struct {
	initial  uint64 // the initial value of keys that have no other one
	latest   []uint64
	origin   int64 // latest end of a transaction whose line was sent before the stream began
	closed   int64 // up to then a key's first version was overwritten and forgotten without being known
	past     int64 // up to then versions were overwritten whose graves are gone
	started  bool
	attached bool
	lost     bool // lines of the stream are lost
	repeated bool // values are written to a key more than once
	ended    bool // all transactions have arrived
	final    bool // no transaction arrives any more
}

// awaited has the reads that wait for a writer (waiting_reads.go).
type awaited struct {
	waits    map[kv][]*waiting
	waitq    queue[*waiting]
	suspects queue[suspect]
	nWaiting int
	orphans  int
	clock    int64
	patience int64 // of suspects, by the clock
}

// unknownPool has the transactions of unknown outcome (unknown_pool.go).
type unknownPool struct {
	pool  map[kv][]uint32
	poolq queue[pooled]
	nPool int
	news  []uint32 // those that entered the order
}

// weights has the memory of the transactions that are not final, of those in the order, of those only in the pool, and
// of free slots.
type weights struct {
	waitSize, orderSize, poolSize weight
	kept                          int64
}

// budget bounds searches and proofs (budget.go).
type budget struct {
	credit int64
	wrong  int64 // violations and undecided reads
	steps  int64 `freeze:"-"` // that searches may still use, see fuel
	spent  int64 `freeze:"-"` // that they have used since this was last 0
}

// results has the findings, and reads to examine again.
type results struct {
	found    []Finding
	told     map[ReadAt]bool // see suspects.go
	suspects []SuspectRead   `freeze:"-"`
	misfits  []misfit        `freeze:"-"`
	later    []postponed
	held     queue[heldProof] // see suspects.go
}

// attempt describes the last part that was tried: for which reads, and with what result.
type attempt struct {
	only   misfit `freeze:"-"` // the only read that it is made for; slot noSlot: all
	dead   bool   // a transaction of unknown outcome read a version that nobody wrote
	others int64  // the last end of possible writers that are not placed
	size   int    `freeze:"-"` // of the last proof
}

// interruption has the state of a call that returns early (Until).
type interruption struct {
	stop func() bool `freeze:"-"`
	cut  bool        `freeze:"-"`
	owes owed
}

type Stats struct {
	Txns, Late           int64
	Misfits, Windows     int64
	Largest              int
	Undecided, Skipped   int64
	Confirmed, Withdrawn int64 // suspect reads
	Window, Keys         int
	Pending, Suspects    int
	Unknown              int
	Forgotten, Watermark int64
}

// cell is the state of a key. val is its last forgotten version, or its first value; line, start and end are those of
// the writer of val.
type cell struct {
	hash       uint64
	head       ref // the last version in the order; none: val
	val        uint64
	line       int64
	start, end int64
	init       uint64
	doubt      uint64 // bits of values that it may still have, although they are forgotten
	waits      uint32 // reads that wait for a writer
	open       bool   // its first value is unknown
	forgotten  bool   // val is a version of the stream
	said       bool   // init was reported as its first value
	unseen     bool   // it had versions of writers outside the stream
	again      bool   // a value was written to it repeatedly
	nulled     bool   // null was written to it
}

// noLine is the line number of the writer of first values.
const noLine = -1

// New returns an engine for an empty stream.
func New(o Options) *Engine {
	o.Horizon = cmp.Or(o.Horizon, DefaultHorizon)
	return &Engine{o: o, mark: math.MinInt64,
		await: awaited{waits: map[kv][]*waiting{}}, unknown: unknownPool{pool: map[kv][]uint32{}},
		stream:  streamState{origin: math.MinInt64, closed: math.MinInt64, past: math.MinInt64},
		attempt: attempt{only: misfit{slot: noSlot}}, budget: budget{credit: int64(maxCredit)}}
}

// Name tells the engine which key has a number. After DropKey the number may get another key. hash identifies the key.
func (e *Engine) Name(key uint32, hash uint64) {
	for int(key) >= len(e.cells) {
		e.cells = append(e.cells, cell{head: none})
	}
	c := &e.cells[key]
	*c = cell{hash: hash, head: none, val: e.stream.initial, init: e.stream.initial, line: noLine, start: math.MinInt64,
		end: math.MinInt64}
	if e.stream.attached {
		c.val, c.init, c.open = unknowable, unknowable, true
	}
}

// SetInitial sets the first value of a key.
func (e *Engine) SetInitial(key uint32, val uint64) {
	c := &e.cells[key]
	c.val, c.init, c.open, c.said = val, val, false, true
}

// SetDefault sets the first value of keys without SetInitial. Call it before the first key.
func (e *Engine) SetDefault(val uint64) { e.stream.initial = val }

// Attach says that the first values of keys are unknown: a read that no write explains shows them. Call it before the
// first transaction.
func (e *Engine) Attach() {
	e.stream.attached = true
	for i := range e.cells {
		if c := &e.cells[i]; !c.said {
			c.val, c.init, c.open = unknowable, unknowable, true
		}
	}
}

// Lost says that lines of the stream are lost. From now on a read that no write explains may show a lost one.
func (e *Engine) Lost() { e.stream.lost = true }

// Add adds a transaction. If it ended before the watermark, Add returns true and does not judge it, but others may
// read its writes.
func (e *Engine) Add(a *Arrival) (late bool) {
	e.stats.Txns++
	e.stream.ended = false
	e.fuel()
	if at := max(a.Start, a.End); !e.stream.started && at != history.NoTime {
		e.stream.started = true
		e.stream.origin = Plus(Plus(at, e.o.Lateness), 2*e.o.Skew)
	}
	e.noteRepeats(a)
	if e.stream.attached || e.stream.lost {
		e.dismiss(a.Writes)
		e.dismiss(a.Lost)
	}
	switch {
	case a.Impossible:
		e.bury(a.Writes, a, impossible)
		e.bury(a.Lost, a, impossible)
		return false
	case a.Status == history.Aborted:
		e.bury(a.Writes, a, abortedWrite)
		e.bury(a.Lost, a, abortedWrite)
		return false
	case a.Status == history.Unknown:
		e.addPool(e.take(a))
		e.bury(a.Lost, a, lostWrite)
		return false
	case a.End < e.mark:
		e.stats.Late++
		e.foreign(a)
		return true
	}
	e.bury(a.Lost, a, lostWrite)
	t := e.take(a)
	e.slots[t].pending = true
	e.weights.waitSize.add(&e.slots[t], 1)
	e.pending.push(waitingTxn{a.End, a.Line, t})
	e.noteWrites(t)
	return false
}

// Foreign adds a transaction that is not judged. Others may read its writes.
func (e *Engine) Foreign(a *Arrival) {
	e.noteRepeats(a)
	e.foreign(a)
}

func (e *Engine) foreign(a *Arrival) {
	t := e.take(a)
	x := &e.slots[t]
	x.status, x.reads, x.sess, x.end = history.Unknown, x.reads[:0], NoSession, history.NoTime
	x.start = history.NoTime
	x.foreign = true
	e.addPool(t)
}

// take stores an arrival in a slot.
func (e *Engine) take(a *Arrival) uint32 {
	var t uint32
	if n := len(e.free); n > 0 {
		t, e.free = e.free[n-1], e.free[:n-1]
	} else {
		t = uint32(len(e.slots))
		e.slots = append(e.slots, txn{})
	}
	x := &e.slots[t]
	e.weights.kept -= room(x)
	*x = txn{line: a.Line, start: a.Start, end: a.End, sess: a.Session, seq: a.Seq, status: a.Status,
		reads: x.reads[:0], writes: x.writes[:0], begin: nowhere, commit: nowhere, sprev: noSlot, snext: noSlot}
	for _, o := range a.Reads {
		x.reads = append(x.reads, read{val: o.Val, key: o.Key, at: o.At})
	}
	for _, o := range a.Writes {
		x.writes = append(x.writes, write{val: o.Val, key: o.Key, prev: none, next: none})
	}
	x.ops = uint32(len(x.reads) + len(x.writes))
	x.size = uint32(min(txnBytes+int64(len(x.reads))*readBytes+int64(len(x.writes))*writeBytes, math.MaxUint32))
	return t
}

func (e *Engine) release(t uint32) {
	x := &e.slots[t]
	x.line, x.begin, x.commit = gone, nowhere, nowhere
	if cap(x.reads)+cap(x.writes) > 256 || e.o.Memory > 0 && e.weights.kept > e.o.Memory/4 {
		x.reads, x.writes = nil, nil
	}
	e.weights.kept += room(x)
	e.free = append(e.free, t)
}

// Advance says that all transactions that ended before the mark have arrived.
func (e *Engine) Advance(mark int64) {
	if e.call.cut = false; mark <= e.mark && !e.call.owes.advance {
		return
	}
	e.mark = max(e.mark, mark)
	e.call.owes.advance = true
	for e.pending.len() > 0 && e.pending.at(0).end < e.mark {
		if e.stops() {
			return
		}
		e.placeNext()
	}
	if e.ripen(e.mark) {
		e.expirePool(e.mark)
		e.call.owes.advance = false
	}
}

func (e *Engine) placeNext() {
	e.place(e.pending.pop().slot)
	if e.full() {
		e.forget()
	}
}

// Settle says that all transactions have arrived.
func (e *Engine) Settle() {
	e.call.cut, e.stream.ended = false, true
	for e.pending.len() > 0 {
		if e.stops() {
			return
		}
		e.mark = max(e.mark, Plus(e.pending.at(0).end, 1))
		e.placeNext()
	}
	if !e.call.owes.waits {
		e.fuel()
		e.revisit(math.MaxInt64)
	}
	e.endWaits()
}

// owed is the work that remains when a call returns early.
type owed struct {
	advance         bool // placing the transactions before the mark
	waits           bool // ending waits; the number of waiting reads, and suspects, to examine
	waitq, suspects int
}

// Until makes Advance, Settle, EndWaits and Clock return early when stop returns true. They call stop before they
// place a transaction or end a wait; maxSteps bounds the work in between.
func (e *Engine) Until(stop func() bool) { e.call.stop = stop }

// Cut reports whether the last of these calls returned early. If the caller repeats it before any other call, it
// continues.
func (e *Engine) Cut() bool { return e.call.cut }

// stops reports whether the call must return before its next step.
func (e *Engine) stops() bool {
	e.call.cut = e.call.cut || e.call.stop != nil && e.call.stop()
	return e.call.cut
}

// Latest returns a mark after the ends of all arrivals, or false if there are none.
func (e *Engine) Latest() (int64, bool) {
	if !e.stream.started {
		return 0, false
	}
	m := e.mark
	for _, t := range e.pending.all {
		m = max(m, Plus(t.end, 1))
	}
	return m, m != math.MinInt64
}

// Take returns the findings since its last call.
func (e *Engine) Take() []Finding {
	out := e.out.found
	e.out.found = nil
	e.budget.wrong += int64(len(out))
	return out
}

// Stats returns the counts.
func (e *Engine) Stats() Stats {
	s := e.stats
	s.Window, s.Keys, s.Pending, s.Watermark = e.placed, len(e.cells), e.pending.len(), e.mark
	s.Unknown = e.unknown.nPool
	s.Suspects = e.await.nWaiting + e.await.orphans
	return s
}

// Plus adds, and limits the result to the range of int64.
func Plus(a, b int64) int64 {
	s := a + b
	switch {
	case a > 0 && b > 0 && s < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && s >= 0:
		return math.MinInt64
	}
	return s
}
