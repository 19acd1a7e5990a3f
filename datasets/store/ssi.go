package store

import "math"

// txnRec is what SSI remembers of a transaction as long as another one is concurrent with it.
//
// The rule is that of Ports and Grittner (VLDB 2012, Theorem 1): a cycle under snapshot isolation has transactions t1
// →rw p →rw t3. t1 and p are concurrent, and so are p and t3, and t3 is the first of the cycle to commit (t1 = t3 is
// possible). So a pivot p with an incoming anti-dependency must not commit after such a t3 has committed. t3 itself
// never has to abort, so that some transaction always makes progress.
type txnRec struct {
	snap, cts int64 // cts NoTime: active
	outCts    int64 // the first commit among the transactions that overwrote what this one read; none: MaxInt64
	locks     int32 // its SIREAD marks
	outs, ins int32 // anti-dependencies to and from it, both ends active when they were noted
	free      int32
	nIn       int32 // incoming anti-dependencies; not kept once committed
	doomed    bool  // must abort
}

// antiDep is an anti-dependency between two transactions that were active when it was found. It is in two lists, and
// is freed when both owners are gone.
type antiDep struct {
	reader, writer     int32
	nextOut, nextIn    int32 // nextOut also links free ones
	refs               int8
	noReader, noWriter bool // has aborted: its record may be another's by now
}

func (s *store) newRec(snap int64) int32 {
	i := s.freeRec
	if i != none {
		s.freeRec = s.recs[i].free
	} else {
		s.recs = append(s.recs, txnRec{})
		i = int32(len(s.recs)) - 1
	}
	s.recs[i] = txnRec{snap: snap, cts: NoTime, outCts: math.MaxInt64, locks: none, outs: none, ins: none}
	return i
}

// dropRec forgets a transaction that has aborted, or that no active transaction is concurrent with.
func (s *store) dropRec(i int32) {
	r := &s.recs[i]
	aborted := r.cts == NoTime
	s.dropReads(&r.locks)
	s.dropPreds(i)
	for e := r.outs; e != none; {
		d := &s.deps[e]
		next := d.nextOut
		if aborted && !d.noWriter {
			s.recs[d.writer].nIn--
		}
		d.noReader = true
		s.dropDep(e)
		e = next
	}
	for e := r.ins; e != none; {
		d := &s.deps[e]
		next := d.nextIn
		d.noWriter = true
		s.dropDep(e)
		e = next
	}
	r.free = s.freeRec
	s.freeRec = i
}

func (s *store) dropDep(e int32) {
	d := &s.deps[e]
	if d.refs--; d.refs == 0 {
		d.nextOut = s.freeDep
		s.freeDep = e
	}
}

// recCommit marks a transaction as committed. If it is a t3, it dooms the pivots before it. Invariant: retired is
// sorted by cts.
func (s *store) recCommit(i int32, cts int64) {
	r := &s.recs[i]
	r.cts = cts
	for e := r.ins; e != none; e = s.deps[e].nextIn {
		if d := &s.deps[e]; !d.noReader {
			if p := &s.recs[d.reader]; p.cts == NoTime {
				p.outCts = min(p.outCts, cts)
				p.doomed = p.doomed || p.nIn > 0
			}
		}
	}
	s.retired = append(s.retired, i)
}

// retire drops the records of transactions that committed before every active snapshot.
func (s *store) retire() {
	n := 0
	for n < len(s.retired) && s.recs[s.retired[n]].cts <= s.oldest {
		s.dropRec(s.retired[n])
		n++
	}
	s.retired = append(s.retired[:0], s.retired[n:]...)
}

// conflict adds an anti-dependency: reader read a version that writer overwrote. me, one of the two, is running. It
// returns false if me must abort.
func (s *store) conflict(reader, writer, me int32) bool {
	a, b := &s.recs[reader], &s.recs[writer]
	if b.cts != NoTime { // me reads: me as pivot before b, or b as pivot after me
		a.outCts = min(a.outCts, b.cts)
		return a.nIn == 0 && b.outCts >= b.cts
	}
	b.nIn++
	if a.cts != NoTime { // me writes
		return b.outCts > a.cts // equal: t1 = t3
	}
	e := s.freeDep
	if e != none {
		s.freeDep = s.deps[e].nextOut
	} else {
		s.deps = append(s.deps, antiDep{})
		e = int32(len(s.deps)) - 1
	}
	s.deps[e] = antiDep{reader: reader, writer: writer, nextOut: a.outs, nextIn: b.ins, refs: 2}
	a.outs, b.ins = e, e
	if b.outCts == math.MaxInt64 {
		return true
	}
	if me == writer {
		return false
	}
	b.doomed = true
	return true
}

// noteRead adds the anti-dependencies of a session's read of a row: to the writers of newer versions that it does not
// see, committed or not. A mark on the row adds those to later writers.
func (s *store) noteRead(i, r int32) bool {
	x, w := &s.sess[i], &s.rows[r]
	if w.x != none && w.x != i && !s.conflict(x.rec, s.sess[w.x].rec, x.rec) {
		return false
	}
	for v := w.head; s.versions[v].cts > x.snap; v = s.versions[v].prev {
		if !s.conflict(x.rec, s.versions[v].rec, x.rec) {
			return false
		}
	}
	s.addRead(x.rec, r, &s.recs[x.rec].locks)
	return true
}

// noteWrite adds the anti-dependencies of a session's write of a row, from all concurrent transactions that have read
// it.
func (s *store) noteWrite(i, r int32) bool {
	x := &s.sess[i]
	for l := s.rows[r].reads; l != none; l = s.reads[l].next {
		h := s.reads[l].owner
		if h == x.rec || s.recs[h].cts != NoTime && s.recs[h].cts <= x.snap {
			continue
		}
		if !s.conflict(h, x.rec, x.rec) {
			return false
		}
	}
	return true
}

// pivot adds a transaction of the script to SSI as a pivot, so that a transaction with an anti-dependency to it must
// abort.
func (s *store) pivot(keys []int32, start, commit int64) (id int32) {
	id = s.newRec(start)
	s.recs[id].outCts = 0
	s.recCommit(id, commit)
	for _, k := range keys {
		for l := s.rows[k].reads; l != none; l = s.reads[l].next {
			if h := &s.recs[s.reads[l].owner]; h.cts == NoTime {
				h.doomed = true
			}
		}
		s.addRead(id, k, &s.recs[id].locks)
		for _, p := range s.preds {
			table := s.log.Rows[k].Table()
			if h := &s.recs[p.owner]; int(p.table) == table && h.cts == NoTime && s.holds(table,
				s.versions[s.rows[k].head].val, p.where) {
				h.doomed = true
			}
		}
	}
	return id
}
