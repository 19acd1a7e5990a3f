package mechanism

import (
	"cmp"

	"isovet/evidence"
	"isovet/internal/slice"
)

// Options are the parameters of a verification.
type Options struct {
	Profile Profile
	// Skew, in ns, widens every interval at both ends: clocks differ by no more than twice that.
	Skew int64
	// Initial returns the initial value of a key; nil: 0.
	Initial func(key uint32) uint64 `freeze:"-"`
	// Duplicates says that a value may be written twice to a key.
	Duplicates bool
	// NoPrune forgets nothing; memory is then not bounded.
	NoPrune bool
	every   int    // transactions between two computations of the floor; 0: pruneEvery
	from    uint64 // the number of earlier transactions, in tests
	// MaxViolations bounds the listed violations; 0: 1000.
	MaxViolations int
	// KeepEdges lists all deduced dependencies.
	KeepEdges bool
	// Attach says that the traces begin in the middle of a stream, with unknown values of keys: the first read of a
	// value that nobody has written shows it. Within is the time, in ns, by which a transaction may come late.
	Attach bool
	Within int64
	// Late says that transactions may come too late to be verified (Verifier.Late). A read of a value without a
	// known writer is then a violation only once the writer has come in time, or Close says that it never will.
	Late bool
}

// Verifier mirrors a database's mechanisms. Traces come in the order of Bef, over all clients; Close ends the run.
//
// Invariant: when a transaction is verified, all commits that its snapshots may see have been dispatched.
type Verifier struct {
	o          Options
	p          Profile
	r          *Report
	keys       []keyState
	clients    []client
	queue      []pending // from head on: committed, not verified yet
	head       int
	reads      []Trace // their reads, from readHead on
	readHead   int
	numRead    int           // number of reads ever removed from the front of reads
	before     []predecessor // those of transactions in the queue, from beforeHead on
	beforeHead int
	places     []int32    // scratch of consistent: the version of each read; -1: none, or one of several
	together   []together // scratch of whole
	g          certifier
	readers    []reader
	freeRead   int32
	// The number of waiting readers from which dropDead runs.
	readersMost int
	number      uint64 // of ended transactions
	serial      uint64 // of committed ones
	now         int64  // Bef of the trace being dispatched
	floor       int64  // nothing that will be verified began before
	due         int    // transactions until floor is computed again
	versions    int
	trimmed     int // versions left by the last Trim
	locks       int
	graves      graveyard
	suspects    suspects
	attached    attached
	lost        bool   // see Online.Lost
	stage       uint64 // passes over operations and ends of waits so far
}

// client has the open transaction of a client.
type client struct {
	ops   []Trace
	start int64
	open  bool
}

// pending is a committed transaction whose reads wait for the watermark.
type pending struct {
	serial, id uint64
	from, to   int // its reads, as numbers of all reads
	before     int // how many of Verifier.before belong to it
	a, b       int64
	least      int64 // no snapshot or read of it is before
	ready      int64
}

// predecessor is a writer of a key that by first updater wins committed before the snapshot of a later writer, although
// their intervals overlap.
type predecessor struct {
	txn, id       uint64
	key, op, mine uint32
}

// together is a transaction that had certainly committed when a snapshot was taken, with the proof: a read of its
// write, or a predecessor.
type together struct {
	txn, id uint64
	read    int // -1: by first updater wins
	by      predecessor
}

// reader waits for the version after the one that it read.
type reader struct {
	txn  uint64
	id   uint64
	aft  int64
	next int32
}

// NewVerifier returns a verifier for traces of this many clients.
func NewVerifier(clients int, o Options) *Verifier {
	o.MaxViolations = cmp.Or(o.MaxViolations, 1000)
	o.every = cmp.Or(o.every, pruneEvery)
	v := &Verifier{o: o, p: o.Profile, r: &Report{Profile: o.Profile}, clients: make([]client, clients), freeRead: -1,
		floor: -Forever, due: o.every}
	v.number, v.serial, v.g.base, v.g.next = o.from, o.from, o.from, o.from
	v.graves.most = fewGraves
	if o.Late {
		v.graves.most = manyGraves
	}
	v.g.init(o.Profile.Certifier == CycleCheck || o.Profile.Certifier == SSICertifier)
	return v
}

// Dispatch takes the next traces of one client; it may change them, and keeps none. Cost: near constant a trace, and
// O(log versions of the key) a read.
func (v *Verifier) Dispatch(from int, traces []Trace) {
	if from >= len(v.clients) {
		v.clients = append(v.clients, make([]client, from+1-len(v.clients))...)
	}
	c := &v.clients[from]
	v.r.Traces += len(traces)
	for i := 0; i < len(traces); i++ {
		t := &traces[i]
		switch t.Kind {
		case Begin:
			c.ops = c.ops[:0]
			c.start, c.open = earlier(t.Bef, v.o.Skew), true
		case Read, LockedRead, Write, Statement:
			// A transaction that is complete in traces is used in place, without a copy.
			n := i + 1
			for n < len(traces) && traces[n].Kind <= Statement && traces[n].Kind != Begin {
				n++
			}
			ops := traces[i:n]
			if s := v.o.Skew; s != 0 {
				for j := range ops {
					ops[j].Bef, ops[j].Aft = earlier(ops[j].Bef, s), later(ops[j].Aft, s)
				}
			}
			i = n - 1
			if len(c.ops) > 0 || n == len(traces) || traces[n].Kind == Begin {
				c.ops = append(c.ops, ops...)
				continue
			}
			i = n
			v.ended(c, ops, &traces[n])
		default:
			v.ended(c, c.ops, t)
			c.ops = c.ops[:0]
		}
	}
}

// ended processes a transaction that has ended, and verifies the transactions that waited for that moment.
func (v *Verifier) ended(c *client, ops []Trace, t *Trace) {
	v.now = earlier(t.Bef, v.o.Skew)
	v.end(c.start, ops, t)
	c.open = false
	if v.head < len(v.queue) {
		v.verify(v.now)
	}
}

// earlier and later move a time, within the range of times.
func earlier(t, by int64) int64 {
	if t < by-Forever {
		return -Forever
	}
	return t - by
}

func later(t, by int64) int64 {
	if t > Forever-by {
		return Forever
	}
	return t + by
}

// Close verifies the rest and returns the report. Transactions without an end take no part.
func (v *Verifier) Close() *Report {
	v.verify(Forever)
	v.convict()
	v.peaks()
	return v.r
}

func (v *Verifier) key(key uint32) *keyState {
	if int(key) >= len(v.keys) {
		v.keys = append(v.keys, make([]keyState, int(key)+1-len(v.keys))...)
	}
	s := &v.keys[key]
	if s.vers == nil {
		val := uint64(0)
		if v.o.Initial != nil {
			val = v.o.Initial(key)
		}
		s.vers = append(make([]version, 0, 2), version{c: -Forever, d: -Forever, maxC: -Forever, acqBef: -Forever,
			acqAft: -Forever, snapBef: -Forever, snapAft: -Forever,
			val: val, txn: none, succ: none, id: none, op: noneOp, readers: -1})
		s.last = -1
		s.versLimit, s.locksLimit = 6, 6
		v.versions++
	}
	return s
}

// end processes a transaction's end, from which its versions and locks are known.
func (v *Verifier) end(start int64, ops []Trace, t *Trace) {
	v.number++
	v.r.Txns++
	if v.due--; v.due <= 0 {
		v.prune()
	}
	if t.Kind != Commit {
		v.endOpen(start, ops, t)
		return
	}
	v.r.Verified++
	me := v.serial
	v.serial++
	cBef, cAft := earlier(t.Bef, v.o.Skew), later(t.Aft, v.o.Skew)
	a, b := v.snapshot(start, ops, cBef)
	v.g.add(me, t.Txn(), a, b, cBef, cAft)
	before := len(v.before)
	p := pending{serial: me, id: t.Txn(), from: v.numRead + len(v.reads) - v.readHead, a: a, b: b, least: a, ready: b}
	v.stage++
	for i := range ops {
		op := &ops[i]
		if op.Kind == Statement {
			continue
		}
		if op.Kind != Write {
			p.least = min(p.least, op.Bef)
			if v.p.Reads == StatementReads {
				p.ready = max(p.ready, op.Aft)
			}
		}
		k := v.key(op.Key)
		if op.Kind == Write {
			if k.wrote == v.number {
				if o := &ops[k.wroteAt]; o.Val != op.Val {
					v.buryUninstalled(k, o, t.Txn())
					o.Val = op.Val // the first write took the lock, the last one set the value
				}
			} else {
				k.wrote, k.wroteAt = v.number, int32(i)
			}
			continue
		}
		if k.wrote == v.number {
			if w := &ops[k.wroteAt]; w.Val != op.Val && op.Kind == Read && v.p.Reads != NoReads {
				v.violation(Violation{Mechanism: ConsistentRead, Kind: OwnWrite, Txns: []uint64{t.Txn()},
					Ops: []uint32{op.Op}, Key: op.Key, Val: op.Val})
			}
			continue
		}
		if k.read != v.number {
			k.read, k.readAt = v.number, int32(len(v.reads)-v.readHead)
			if v.p.ReadLocks && op.Kind == Read {
				v.share(op.Key, k, &lock{rel: cBef, acqBef: op.Bef, acqAft: op.Aft, txn: me, id: t.Txn(), op: op.Op})
			}
		}
		v.reads = append(v.reads, *op)
		v.reads[len(v.reads)-1].at = uint32(i)
	}
	v.stage++
	for i := range ops {
		op := &ops[i]
		if op.Kind != Write {
			continue
		}
		k := &v.keys[op.Key]
		if k.wroteAt != int32(i) || k.wrote != v.number {
			continue
		}
		w := version{c: cBef, d: cAft, acqBef: op.Bef, acqAft: op.Aft, snapBef: a, snapAft: b, val: op.Val, txn: me,
			succ: none, id: t.Txn(), op: op.Op, readers: -1}
		if k.read == v.number {
			if r := &v.reads[v.readHead+int(k.readAt)]; r.Kind == Read {
				r.Kind = readBeforeWrite
			} else if r.Kind == LockedRead {
				r.Kind = lockedBeforeWrite
			}
		}
		v.order(op.Key, k, &w)
		if v.p.WriteLocks && len(k.locks) > 0 {
			v.exclude(op.Key, k, &w)
		}
		k.last = int32(k.install(&w))
		v.versions++
		v.appeared(op.Key, op.Val, t.Txn())
		v.pruneVersions(k)
	}
	p.to = v.numRead + len(v.reads) - v.readHead
	p.before = len(v.before) - before
	v.queue = append(v.queue, p)
}

// endOpen takes the end of a transaction that did not commit, or may not have. Its last write may have failed, and then
// never held its lock (errata L8); the server may have released its locks at that failure.
func (v *Verifier) endOpen(start int64, ops []Trace, t *Trace) {
	last := -1
	rel := start
	for i := range ops {
		if ops[i].Kind == Write {
			last = i
		}
		rel = ops[i].Bef
	}
	v.stage++
	for i := range ops {
		op := &ops[i]
		if op.Kind == Statement {
			continue
		}
		if op.Kind != Write {
			if v.p.ReadLocks && op.Kind == Read {
				if k := v.key(op.Key); k.wrote != v.number {
					v.share(op.Key, k, &lock{rel: rel, acqBef: op.Bef, acqAft: op.Aft, txn: none, id: t.Txn(),
						op: op.Op})
				}
			}
			continue
		}
		k := v.key(op.Key)
		if k.wrote != v.number {
			k.wrote, k.wroteAt = v.number, int32(i)
			if v.p.WriteLocks && i != last {
				v.hold(op.Key, k, &lock{rel: rel, acqBef: op.Bef, acqAft: op.Aft, txn: none, id: t.Txn(), op: op.Op,
					exclusive: true})
			}
		} else {
			k.wroteAt = int32(i)
		}
		if t.Kind == Abort {
			v.buryUninstalled(k, op, t.Txn())
		}
	}
	if t.Kind != Unknown {
		return
	}
	v.stage++
	for i := range ops {
		op := &ops[i]
		if op.Kind != Write {
			continue
		}
		if k := v.key(op.Key); k.wroteAt == int32(i) && k.wrote == v.number {
			k.install(&version{c: earlier(t.Bef, v.o.Skew), d: Forever, acqBef: -Forever, acqAft: Forever,
				snapBef: -Forever, snapAft: Forever,
				val: op.Val, txn: none, succ: none, id: t.Txn(), op: op.Op, readers: -1, open: true})
			v.versions++
			v.dropOpen(k)
			v.appeared(op.Key, op.Val, t.Txn())
		}
	}
}

// readBeforeWrite and lockedBeforeWrite mark reads of keys that the transaction writes later on.
const (
	readBeforeWrite Kind = iota + Unknown + 1
	lockedBeforeWrite
)

// snapshot returns the interval in which the transaction's snapshot is taken (errata L3).
func (v *Verifier) snapshot(start int64, ops []Trace, commit int64) (a, b int64) {
	if len(ops) == 0 {
		return start, commit
	}
	switch v.p.Snapshot {
	case AtFirstRead:
		a, b = ops[0].Bef, max(commit, ops[0].Aft) // a transaction without reads has none that could be wrong
		for i := range ops {
			if op := &ops[i]; op.Kind == Read || op.Kind == Statement && op.Val == 1 {
				a, b = ops[i].Bef, ops[i].Aft
				break
			}
		}
	case AtBegin:
		a, b = start, ops[0].Aft
	default:
		a, b = ops[0].Bef, ops[0].Aft
	}
	return a, b
}

// verify checks the transactions that no trace after now can affect.
func (v *Verifier) verify(now int64) {
	for v.head < len(v.queue) && (v.queue[v.head].ready < now || now == Forever) {
		p := v.queue[v.head]
		at := v.readHead + p.from - v.numRead
		reads := v.reads[at : at+p.to-p.from]
		before := v.before[v.beforeHead : v.beforeHead+p.before]
		v.stage++
		if len(reads) > 0 {
			v.consistent(&p, reads, before)
		}
		v.verified(&p, len(reads))
	}
	v.tidy()
}

func (v *Verifier) violation(x Violation) {
	v.r.Found[x.Mechanism]++
	if len(v.r.Violations) < v.o.MaxViolations {
		v.r.Violations = append(v.r.Violations, x)
	}
}

var depOf = [3]evidence.Dep{evidence.WR, evidence.WW, evidence.RW}

// depend adds a dependency between two committed transactions.
func (v *Verifier) depend(from, to uint64, key uint32, fromID, toID uint64, kind int, why Reason, overlap bool) {
	v.r.Deps[kind][why]++
	if overlap {
		v.r.Overlaps[kind]++
	}
	if v.o.KeepEdges {
		v.r.Edges = append(v.r.Edges, Dependency{From: fromID, To: toID, Key: key, Dep: depOf[kind], Reason: why})
	}
	if !v.g.on {
		return
	}
	if cycle := v.g.insert(from, to, key, uint8(kind), why); cycle != nil {
		x := Violation{Mechanism: SerializationCertifier, Kind: Cycle, Cycle: cycle, Key: key}
		x.Txns = slice.Map(cycle, func(d Dependency) uint64 { return d.From })
		v.violation(x)
	}
	if v.p.Certifier == SSICertifier && kind == 2 {
		v.g.dangerous(from, to, func(txns [3]uint64) {
			v.r.Warned++
			if len(v.r.Warnings) < v.o.MaxViolations {
				v.r.Warnings = append(v.r.Warnings, Violation{Mechanism: SerializationCertifier, Kind: DangerousPath,
					Txns: txns[:], Key: key})
			}
		})
	}
}
