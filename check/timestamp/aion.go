package timestamp

import (
	"math"
	"slices"

	"isovet/history"
	"isovet/internal/keyed"
	"isovet/internal/saved"
)

// Arrival is a transaction as it arrives at Aion. Keys and sessions are small numbers, chosen by the caller. Values are
// numbers too, equal if and only if the values are, such as version ids or hashes; 0 is null for a key that may be a
// list.
type Arrival struct {
	ID            int64  // the caller's name of it
	Session       uint32 // NoSession: none
	Seq           int64  // place in the session, from 0; NoSeq: the next that arrives is the next
	Start, Commit int64
	// NoPart says that it did not commit. It only takes a place in its session.
	NoPart bool
	Ops    []ArrivalOp
	Lists  [][]uint64    // what list reads saw
	Preds  []ArrivalPred // predicate operations
}

// ArrivalOp is any operation. Val of a list read is an index into Lists, Val of a predicate operation one into Preds;
// that has no key.
type ArrivalOp struct {
	Val  uint64
	Key  uint32
	Kind history.OpKind
}

const (
	// NoSession marks a transaction without session.
	NoSession = history.None
	// NoSeq marks a transaction whose place in its session follows from its arrival.
	NoSeq = -1
	// NoID means no transaction: it is the writer of the initial version.
	NoID = math.MinInt64
)

// Final is a violation that no later arrival can change.
type Final struct {
	Axiom Axiom
	Txn   int64
	Other int64 // as in Violation; NoID
	Key   uint32
	Op    uint32 // place in the transaction, from 0; history.None
	Got   uint64 // INT, EXT of a register
	Want  uint64
	// Kind is how EXT fails, as far as the window shows it: own, before, uncommitted, after; NoKind if the window does
	// not have the version; Phantom for a row of a predicate operation, whose Got is Missed if it was not returned.
	Kind    Kind
	Arrival int64 // EXT: the number of the reader's arrival
	// Unique, with Attach: it is a violation only if no transaction had written the value read before the stream began.
	Unique bool
}

// AionStats has the counts of Aion. Flips are changes of a read's tentative verdict.
type AionStats struct {
	Txns, Late int64
	Flips      int64
	FlipReads  int64    // reads (pairs of transaction and key) that flipped
	FlipTxns   [4]int64 // transactions that flipped once, twice, three times, more often
	Window     int      // transactions not final now
	MaxWindow  int
	Versions   int64 // installed
	Wrong      int   // reads that are wrong so far, but not final
	// Gaps counts runs of missing numbers in sessions, Found the missing transactions that arrived later, GapSessions
	// the sessions with missing numbers now.
	Gaps, Found int64
	GapSessions int
	Unjudged    int64 // see KeepRows
}

// Aion checks transactions as they arrive, in any order within the lateness that the caller declares by Advance.
// Tentative verdicts of reads flip as earlier writers arrive, and are final once the watermark has passed. It is not
// safe for concurrent use.
//
// Source: AION (Algorithm 3) with errata C10 to C19. Each key has the versions and the readers of the window by time. A
// version that arrives re-judges only the readers up to the next version, and is compared with the versions that it
// overlaps (C14 to C16). A verdict is one flag a read (C10); own operations are examined once, on arrival (C11). Behind
// the watermark, only the newest version of each key is kept (C17). Cost: a transaction's operations by their
// displacement among those of their keys. Memory: the window, and 144 bytes a key.
type Aion struct {
	o    Options    `freeze:"-"`
	hash *keyed.Key // of lists
	keys []onlineKey
	// slots is the window: transactions that are not final, in the order of arrival. Number n is at slots[n-first].
	slots    []slot
	head     int // slots before it are final
	first    int64
	reads    []uint32 // keys of the external reads of the slots, in sequence
	readHead int      // reads before it belong to final slots
	mark     int64    // the watermark
	closed   bool     // no more transactions will come
	sess     []onlineSession
	waiting  []uint32 // sessions with a transaction that waits for its turn
	nextDue  int64    // the least due of waiting transactions
	latest   int64    // the latest start that has arrived
	missing  int64    // see Missing
	attached          // see Attach
	rowed             // see KeepRows
	out      []Final
	stats    AionStats
	follow   func(n int64, op uint32, ok bool) `freeze:"-"` // see Follow
	lists    int64                             // bytes of the keys' versions and readers
	stamp    uint32
	wrote    []pendingWrite
}

// A version has the time of its commit. A reader sees the versions up to and including a timestamp: its start; or its
// commit, if everything happens there; or the timestamp before that, if it also writes there. Any timestamp except
// history.NoTime, the least of all, has one before it.

type onlineVersion struct {
	pos, start int64
	val        uint64 // what the key holds then; for a list, a hash of all elements
	elem       uint64 // of a list: a hash of what is appended
	by         int64
}

type onlineReader struct {
	upTo int64
	val  uint64
	want uint64
	by   int64
	n    int64 // number of arrival
	op   uint32
	ok   bool
	// excused, with Attach: the version it read may be by a transaction that was sent before the stream began
	excused bool
	unique  bool // see Final.Unique
	flips   uint8
}

type onlineKey struct {
	base     onlineVersion
	versions []onlineVersion
	readers  []onlineReader
	mine     uint32 // stamp of the arrival that touched it last
	dropAt   uint32 // number of versions at which invisible ones are dropped next
	wrote    bool   // by the arrival that touched it last
	list     bool
	row      bool // predicate operations look at it
	sure     bool // Attach: its value when the stream began is known, or no longer matters
	own      uint64
	initial  uint64 // initial value as a register
	over     int64  // Attach: from this arrival on, no transaction sees its value when the stream began
	horizon  int64  // Attach: reads at snapshots up to here, of values without a writer, are not judged
	torn     int64  // not 0: the list is unknown up to this time, see tear
}

type slot struct {
	upTo  int64
	id    int64
	bad   int32
	flips int32
	n     int32 // entries in reads; Rest: Arrival.Weight
	late  bool
}

type pendingWrite struct {
	key uint32
	val uint64
}

// NewAion returns a checker. Errors: a level that timestamps do not decide.
func NewAion(o Options) (*Aion, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Hash == nil {
		o.Hash = keyed.Draw()
	}
	return &Aion{o: o, hash: o.Hash, mark: math.MinInt64, nextDue: math.MaxInt64, latest: math.MinInt64,
		missing: math.MinInt64}, nil
}

// SetInitial sets the initial value of a register. Without it the value is 0.
func (a *Aion) SetInitial(key uint32, val uint64) {
	k := a.key(key)
	k.initial = val
	if !k.list {
		k.base.val = val
	}
}

// AppendInitial appends to the initial list of a key.
func (a *Aion) AppendInitial(key uint32, elem uint64) {
	k := a.key(key)
	a.asList(k)
	k.base.val = a.hash.Fold(k.base.val, elem)
}

// asList makes a key a list, once an operation shows that. Readers that saw null before, 0, saw an empty list.
func (a *Aion) asList(k *onlineKey) {
	if k.list || len(k.versions) > 0 || k.base.by != NoID { // a written register, whose null may look like a list
		return
	}
	k.list = true
	a.retell(k, a.hash.Empty(), 0, a.hash.Empty())
}

// asRegister makes a key a register again, if it was taken for a list only because reads of null elsewhere are of
// lists.
func (a *Aion) asRegister(k *onlineKey) {
	if k.list && len(k.versions) == 0 && k.base.by == NoID && k.base.val == a.hash.Empty() {
		k.list = false
		a.retell(k, k.initial, a.hash.Empty(), 0)
	}
}

// retell judges a key's readers again with another initial state, and replaces the value was that they read by is.
func (a *Aion) retell(k *onlineKey, base, was, is uint64) {
	k.base.val = base
	live := a.first + int64(a.head)
	for i := range k.readers {
		if r := &k.readers[i]; r.n >= live {
			if r.val == was {
				r.val = is
			}
			a.judge(r, base, k.base.by)
		}
	}
}

func (a *Aion) key(key uint32) *onlineKey {
	for int(key) >= len(a.keys) {
		a.keys = append(a.keys, a.newKey())
	}
	return &a.keys[key]
}

// sealed reports whether no version at ts or before can still arrive. A later arrival starts at the watermark or later,
// and so commits after it; at the serializable levels its version is at the watermark or later.
func (a *Aion) sealed(ts int64) bool {
	return ts < a.mark || ts == a.mark && !a.o.Level.Serial() || a.closed
}

// Stats returns the counts so far.
func (a *Aion) Stats() AionStats {
	s := a.stats
	s.Window = len(a.slots) - a.head
	return s
}

// Take returns the violations that have become final since the last call. The slice is valid until the next call of any
// method.
func (a *Aion) Take() []Final {
	out := a.out
	a.out = a.out[:0]
	return out
}

// Add takes a transaction. If it starts before the watermark, it is late: its writes are installed, but its reads are
// not judged. A LATE violation says so, because final transactions may have been judged without it.
func (a *Aion) Add(t *Arrival) (late bool) {
	a.stats.Txns++
	serial := a.o.Level.Serial()
	writer := false
	for i := range t.Ops {
		switch op := &t.Ops[i]; op.Kind {
		case history.PredRead, history.PredWrite:
			writer = a.nameRows(&t.Preds[op.Val], op.Kind == history.PredWrite) || writer
			continue
		case history.Append:
			writer = true
			a.asList(a.key(op.Key)) // even if it does not commit: then reads of null are list reads
		case history.Write:
			writer = true
			a.asRegister(a.key(op.Key))
		case history.ReadList:
			a.asList(a.key(op.Key))
		}
		a.Name(t.Ops[i].Key)
	}
	if t.NoPart {
		a.session(t, 0, 0, false, writer)
		return false
	}
	looks := !writer
	start, commit := t.Start, t.Commit
	atStart := !serial || a.o.ReadOnlyAtStart && looks
	if !atStart {
		start = commit
	}
	if commit == history.NoTime || start == history.NoTime || start > commit || !serial && writer && start == commit {
		a.final(Final{Axiom: TIMESTAMPS, Txn: t.ID, Other: NoID, Key: history.None, Op: history.None})
		a.session(t, 0, 0, false, writer)
		return false
	}
	upTo := start
	if !atStart && writer {
		upTo--
	}
	end := commit
	if serial {
		end = start
	}
	a.session(t, start, end, true, writer)
	late = start < a.mark
	if a.attach && !late {
		a.arrived(commit)
	}
	if late {
		a.stats.Late++
		a.final(Final{Axiom: LATE, Txn: t.ID, Other: NoID, Key: history.None, Op: history.None})
	}
	n := a.first + int64(len(a.slots))
	a.slots = append(a.slots, slot{upTo: upTo, id: t.ID, late: late})
	a.stats.MaxWindow = max(a.stats.MaxWindow, len(a.slots)-a.head)
	a.look(t, n, upTo, late)
	for _, w := range a.wrote {
		a.install(w.key, onlineVersion{pos: commit, start: start, val: w.val, elem: w.val, by: t.ID}, serial)
	}
	return late
}

func (a *Aion) final(f Final) { a.out = append(a.out, f) }

// install inserts a version. It checks NOCONFLICT with the versions that it overlaps, and judges its readers again.
func (a *Aion) install(key uint32, v onlineVersion, serial bool) {
	k := &a.keys[key]
	a.stats.Versions++
	if n := len(k.versions); n > 0 && n >= int(k.dropAt) {
		a.dropVersions(k)
	}
	i := len(k.versions)
	for i > 0 && k.versions[i-1].pos > v.pos {
		i--
	}
	// the same transaction appends once more, or two writers tie (errata C3)
	again := i > 0 && k.versions[i-1].pos == v.pos && k.versions[i-1].by != NoID
	if again && k.versions[i-1].by != v.by {
		a.final(Final{Axiom: TIMESTAMPS, Txn: v.by, Other: k.versions[i-1].by, Key: key, Op: history.None})
		return
	}
	if !serial && !again {
		// A transaction that appends several times has several versions at one place, but is one conflict.
		for j := i - 1; j >= 0 && k.versions[j].pos > v.start; j-- {
			if w := &k.versions[j]; w.by != NoID && (j+1 == i || w.by != k.versions[j+1].by) {
				a.final(Final{Axiom: NOCONFLICT, Txn: v.by, Other: k.versions[j].by, Key: key, Op: history.None})
			}
		}
		for j := i; j < len(k.versions); j++ {
			if k.versions[j].start < v.pos && (j == i || k.versions[j].by != k.versions[j-1].by) {
				a.final(Final{Axiom: NOCONFLICT, Txn: k.versions[j].by, Other: v.by, Key: key, Op: history.None})
			}
		}
	}
	if i == 0 && v.pos <= k.base.pos && k.base.by != v.by {
		if k.list {
			a.tear(k)
		}
		return // older than the version that all later arrivals see
	}
	a.lists -= int64(cap(k.versions)) * versionBytes
	k.versions = append(k.versions, v)
	a.lists += int64(cap(k.versions)) * versionBytes
	copy(k.versions[i+1:], k.versions[i:])
	k.versions[i] = v
	a.rejudge(k, i)
}

// dropVersions forgets the versions that no later arrival can see (errata C17).
func (a *Aion) dropVersions(k *onlineKey) {
	n := len(k.versions)
	for n > 0 && !a.sealed(k.versions[n-1].pos) {
		n--
	}
	if n > 0 {
		k.base = k.versions[n-1]
		k.versions = k.versions[:copy(k.versions, k.versions[n:])]
	}
	if n := uint32(len(k.versions)); n > k.dropAt/2 {
		k.dropAt = max(2, 2*k.dropAt, n+1) // so that this is not repeated soon
	}
}

// dropReaders forgets the readers that are final.
func (a *Aion) dropReaders(k *onlineKey) {
	live := a.first + int64(a.head)
	k.readers = slices.DeleteFunc(k.readers, func(r onlineReader) bool { return r.n < live })
	if len(k.readers) > cap(k.readers)/2 {
		a.lists -= int64(cap(k.readers)) * readerBytes
		k.readers = slices.Grow(k.readers, cap(k.readers))
		a.lists += int64(cap(k.readers)) * readerBytes
	}
}

// Advance declares that no later arrival starts before ts; at the serializable levels, that none is placed before it.
// Results that can no longer change become final: those of the first transactions in the order of arrival, as far as
// the watermark has passed them.
func (a *Aion) Advance(ts int64) {
	if ts >= a.mark {
		a.mark = ts
		a.settle()
	}
}

// Close ends the stream: everything is final.
func (a *Aion) Close() {
	a.mark, a.closed = math.MaxInt64, true
	a.settle()
	a.flushSessions()
}

// Settle makes all arrived transactions final, and returns the watermark after them. The stream may continue.
func (a *Aion) Settle() int64 {
	a.mark, a.closed = a.Oldest(1), true
	a.settle()
	a.flushSessions()
	a.closed = false
	return a.mark
}

func (a *Aion) settle() {
	a.settlePredicates()
	for a.head < len(a.slots) {
		s := &a.slots[a.head]
		if !s.late && !a.sealed(s.upTo) {
			break
		}
		if (a.attach || a.torn > 0 || len(a.kept) > 0) && s.n > 0 {
			a.attachReads(s, a.first+int64(a.head))
		}
		if s.bad > 0 {
			a.stats.Wrong -= int(s.bad)
			a.reportReads(s, a.first+int64(a.head))
		}
		if s.flips > 0 {
			a.stats.FlipTxns[min(s.flips, 4)-1]++
		}
		a.readHead += int(s.n)
		a.head++
	}
	a.first += int64(saved.Drop(&a.slots, &a.head, 4096))
	saved.Drop(&a.reads, &a.readHead, 4096)
}
