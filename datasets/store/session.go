package store

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"isovet/datasets/workload"
)

// session is one client and its transaction at the server.
type session struct {
	rng    *rand.Rand
	lat    uint64 // generator of its times
	client workload.Client
	txn    workload.Txn

	nextVal  int64 // its next write's value; sessions count in steps of their number
	ops      []LogOp
	found    []workload.Found
	xrows    []int32 // rows whose write lock it holds
	locks    int32   // its read locks
	pos      int     // operation under way; len(txn.Ops): commit
	start    int64
	sent     int64 // client time of the operation under way, or of the commit
	tries    int
	ready    int64 // when it may begin its next transaction
	snap     int64 // NoTime before the first operation
	rec      int32 // SSI
	waitOn   int32 // row, or none
	waitNext int32
	waitX    bool
	waitSess int32   // session, or none
	waiters  []int32 // sessions that wait for this one's end
	running  bool    // between its first operation at the server and its end
	long     bool    // begun, and waits for all others to be done
	visited  uint32
	own      []ownWrite // see broken.go
}

// unit has 64 quantiles of an exponential distribution, ×1024, with mean 1024. It gives times long tails without a
// logarithm for each draw.
var unit = [64]int64{
	8, 24, 41, 58, 75, 92, 110, 127, 146, 164, 183, 202, 222, 242, 262, 283,
	304, 326, 348, 370, 394, 417, 441, 466, 492, 518, 545, 572, 600, 629, 659, 690,
	722, 754, 788, 823, 859, 896, 935, 975, 1016, 1060, 1105, 1152, 1201, 1252, 1306, 1363,
	1423, 1486, 1553, 1624, 1701, 1783, 1871, 1968, 2073, 2190, 2321, 2470, 2642, 2847, 3136, 4968,
}

// delay draws a time with the given mean: half of it is fixed, half is exponential. A few random low bits make ties
// rare.
func (x *session) delay(mean int64) int64 {
	x.lat ^= x.lat << 13
	x.lat ^= x.lat >> 7
	x.lat ^= x.lat << 17
	hi, lo := bits.Mul64(x.lat, 64)
	return mean/2 + (unit[hi]*mean)>>11 + int64(lo>>58) + 1
}

// next lets a session begin a transaction at time t, or makes it idle if enough transactions have begun.
func (s *store) next(i int32, t int64) {
	x := &s.sess[i]
	x.ready = t
	if s.script.state == scriptRecruiting {
		s.recruit(i)
		return
	}
	if s.log.Stats.Committed+s.active+s.script.reserved >= s.cfg.Txns {
		s.idle = append(s.idle, i)
		return
	}
	s.active++
	x.tries = 0
	x.client.Next(&x.txn)
	s.begin(i, t)
}

func (s *store) begin(i int32, t int64) {
	x := &s.sess[i]
	x.txn.Reset()
	x.client.Step(&x.txn)
	x.txn.Stage++
	x.ops = x.ops[:0]
	x.found = x.found[:0]
	x.pos = 0
	x.start = t
	x.snap = NoTime
	x.sent = t + x.delay(thinkTime)/16
	if s.cfg.LongTxn && !s.longBegun {
		s.longBegun, x.long = true, true // no event: wakeLong sends its operations
		return
	}
	s.heap.Push(x.sent+x.delay(netTime), i)
}

// event handles the arrival of a session's next operation at the server.
func (s *store) event(i int32, now int64) {
	x := &s.sess[i]
	if x.snap == NoTime {
		x.running = true
		s.tick++
		x.snap = s.tick
		if s.ssi {
			x.rec = s.newRec(x.snap)
		}
	}
	if s.ssi && s.recs[x.rec].doomed && !s.breaks(BreakCertifier, i) {
		s.log.Stats.Dangerous++
		s.abort(i, now, true)
		return
	}
	if x.pos == len(x.txn.Ops) {
		s.commit(i, now)
		return
	}
	switch s.exec(i, &x.txn.Ops[x.pos]) {
	case blocked:
		return
	case refused:
		s.abort(i, now, true)
		return
	}
	reply := now + x.delay(serviceTime) + x.delay(netTime)
	op := &x.ops[len(x.ops)-1]
	op.Start, op.End = x.sent, reply
	x.pos++
	if x.pos == len(x.txn.Ops) {
		x.client.Step(&x.txn)
		x.txn.Stage++
	}
	x.sent = reply + x.delay(thinkTime)/16
	s.heap.Push(x.sent+x.delay(netTime), i)
}

// wakeLong lets the long transaction go on when all others are done.
func (s *store) wakeLong(now int64) {
	x := &s.sess[0]
	if !x.long {
		return
	}
	x.long = false
	x.sent = max(x.sent, now)
	s.heap.Push(x.sent+x.delay(netTime), 0)
}

type outcome uint8

const (
	done outcome = iota
	blocked
	refused
)

// exec runs an operation at the server and logs it, except for its times.
func (s *store) exec(i int32, op *workload.Op) outcome {
	if op.Kind.Conditional() {
		return s.execWhere(i, op)
	}
	x := &s.sess[i]
	r := s.row(op.Key)
	if s.cfg.Break == BreakLock && s.unlocked(i, r, op) {
		return done
	}
	if op.Kind != workload.Read || op.ForUpdate {
		if out := s.lockX(i, r); out != done {
			return out
		}
		if s.multi {
			if w := &s.versions[s.rows[r].head]; w.cts > x.snap && !s.breaks(BreakFirstUpdater, i) {
				s.log.Stats.Conflicts++
				return refused
			}
		}
	}
	if op.Kind == workload.Read {
		return s.read(i, r, op)
	}
	w := &s.rows[r]
	if t := op.Key.Table(); s.index[t] != nil {
		return s.writeRow(i, r, op)
	}
	if s.ssi && !s.noteWrite(i, r) && !s.breaks(BreakCertifier, i) {
		s.log.Stats.Dangerous++
		return refused
	}
	w.touched, w.wrote = true, true
	kind := Write
	switch op.Kind {
	case workload.Write:
		w.pend, w.pendPay = s.version(i, op), op.Payload
		if s.log.Tables[op.Key.Table()].WideOf != nil {
			s.wide = append(s.wide, slices.Clone(op.Row))
			w.pendPay = int64(len(s.wide)) - 1
		}
	case workload.Append:
		kind = Append
		s.log.Elems = append(s.log.Elems, LogElem{s.value(i), w.pend})
		w.pend = int64(len(s.log.Elems)) - 1
	default:
		w.pend, w.pendPay = Absent, 0
	}
	x.ops = append(x.ops, LogOp{Row: uint32(r), Value: w.pend, Kind: kind})
	return done
}

// read runs a read whose lock, if it needs one, is granted.
func (s *store) read(i, r int32, op *workload.Op) outcome {
	x, w := &s.sess[i], &s.rows[r]
	var val, pay int64
	if s.ssi && (w.x != i || op.ForUpdate) && !s.noteRead(i, r) && !s.breaks(BreakCertifier, i) {
		s.log.Stats.Dangerous++
		return refused
	}
	switch {
	case w.x == i:
		val, pay = w.pend, w.pendPay
		if old, ok := s.forgotten(i, r); ok {
			val, pay = old, 0
		}
	case s.locking:
		if out := s.lockS(i, r); out != done {
			return out
		}
		v := &s.versions[w.head]
		val, pay = v.val, v.pay
		if old, oldPay, ok := s.stale(i, r, v); ok {
			val, pay = old, oldPay
		}
	case s.multi:
		v := s.visible(r, x.snap)
		val, pay = v.val, v.pay
		if old, oldPay, ok := s.stale(i, r, v); ok {
			val, pay = old, oldPay
		}
	case s.iso == ReadUncommitted && w.x != none:
		val, pay = w.pend, w.pendPay
	default:
		v := &s.versions[w.head]
		val, pay = v.val, v.pay
		if old, oldPay, ok := s.stale(i, r, v); ok {
			val, pay = old, oldPay
		}
	}
	if op.ForUpdate && s.ssi && !s.noteWrite(i, r) && !s.breaks(BreakCertifier, i) {
		s.log.Stats.Dangerous++
		return refused
	}
	w.touched = true
	op.Payload, op.Absent = pay, val == Absent
	if t := op.Key.Table(); s.index[t] != nil {
		op.Row = nil
		if !op.Absent {
			op.Row = s.log.Columns(t, val)
		}
	} else if tab := &s.log.Tables[t]; tab.WideOf != nil {
		op.Row = s.widePayload(tab, op.Key.PK(), val, pay)
	}
	x.ops = append(x.ops, LogOp{Row: uint32(r), Value: val})
	return done
}

// widePayload returns the numbers in a version.
func (s *store) widePayload(tab *workload.Table, pk, val, pay int64) []int64 {
	switch {
	case val == Absent:
		return nil
	case pay == none:
		return tab.WideOf(pk)
	}
	return s.wide[pay]
}

// writeRow writes or deletes a row of a table with columns. The session must have its lock.
func (s *store) writeRow(i, r int32, op *workload.Op) outcome {
	h := hit{row: r, new: Absent}
	if op.Kind == workload.Write {
		h.columns = op.Row
	}
	s.hits = append(s.hits[:0], h)
	if out := s.mayWrite(i, op.Key.Table(), s.hits); out != done {
		return out
	}
	if h.columns != nil {
		h.new = s.addCells(s.value(i), h.columns)
	}
	s.rows[r].touched = true
	s.setPend(r, h.new)
	s.sess[i].ops = append(s.sess[i].ops, LogOp{Row: uint32(r), Value: h.new, Kind: Write})
	return done
}

// version returns the value by which the history identifies a write of a plain row.
func (s *store) version(i int32, op *workload.Op) int64 {
	if s.log.Tables[op.Key.Table()].Counter {
		return op.Payload
	}
	return s.value(i)
}

// value returns a session's next unique value.
func (s *store) value(i int32) int64 {
	x := &s.sess[i]
	v := x.nextVal
	x.nextVal += int64(len(s.sess))
	return v
}

// commit ends a session's transaction as its client wants: by a commit or a rollback.
func (s *store) commit(i int32, now int64) {
	x := &s.sess[i]
	if x.txn.Rollback {
		s.abort(i, now, false)
		return
	}
	status, apply := s.fate(x)
	if status == Aborted {
		s.abort(i, now, false)
		return
	}
	startTS := x.snap
	if s.locking {
		// What it read is still so: its snapshot is the commit itself.
		s.tick++
		startTS = s.tick
	}
	s.tick++
	cts := s.tick
	if apply {
		for _, r := range x.xrows {
			w := &s.rows[r]
			if w.wrote { // else only locked
				s.install(r, version{val: w.pend, pay: w.pendPay, cts: cts, rec: x.rec})
			}
		}
		for _, o := range x.own {
			s.install(o.row, version{val: o.val, pay: o.pay, cts: cts, rec: x.rec})
		}
	} else {
		s.dropPends(i)
	}
	broke := s.breaker == i && status == Committed
	s.mended(i, status == Committed)
	x.running = false
	if s.ssi {
		if apply {
			s.recCommit(x.rec, cts)
		} else {
			s.dropRec(x.rec)
		}
		x.rec = none
	}
	s.unlock(i, now)
	end := now + x.delay(serviceTime) + x.delay(netTime)
	t := LogTxn{Start: x.start, Commit: x.sent, End: end, StartTS: startTS, CommitTS: cts, Session: uint32(i),
		Name: x.txn.Name, Planted: broke}
	s.active--
	if status == Unknown {
		t.Status, t.End, t.CommitTS = Unknown, NoTime, NoTime
		if s.locking {
			t.StartTS = NoTime
		}
		s.log.Stats.Unknown++
		end = x.sent + x.delay(lostTime)
	} else {
		s.log.Stats.Committed++
	}
	s.record(t, x.ops)
	if s.multi {
		s.advance()
	}
	if s.script.state == scriptWaiting && s.log.Stats.Committed >= s.script.at {
		s.recruitIdle()
	}
	s.next(i, end+x.delay(thinkTime))
	if status == Unknown {
		s.wake()
	}
}

// fate draws the outcome of a commit: Committed, Aborted or, if its answer is lost, Unknown; apply says whether it
// takes effect.
func (s *store) fate(x *session) (status Status, apply bool) {
	if s.cfg.AbortRate+s.cfg.UnknownRate > 0 {
		switch u := x.rng.Float64(); {
		case u < s.cfg.AbortRate:
			return Aborted, false
		case u < s.cfg.AbortRate+s.cfg.UnknownRate:
			return Unknown, x.rng.Uint64()&1 == 0
		}
	}
	return Committed, true
}

// abort ends a session's transaction without effect. again says that the session tries it once more.
func (s *store) abort(i int32, now int64, again bool) {
	x := &s.sess[i]
	x.running = false
	s.dropPends(i)
	s.mended(i, false)
	if s.ssi {
		s.dropRec(x.rec)
		x.rec = none
	}
	s.unlock(i, now)
	end := now + x.delay(serviceTime) + x.delay(netTime)
	t := LogTxn{Start: x.start, Commit: NoTime, End: end, StartTS: NoTime, CommitTS: NoTime, Session: uint32(i),
		Name: x.txn.Name, Status: Aborted}
	if s.multi {
		t.StartTS = x.snap
	}
	if !again {
		t.Commit = x.sent
		s.log.Stats.Rollbacks++
	}
	if len(x.ops) > 0 {
		s.record(t, x.ops)
	}
	if again {
		// The longer it fails, the longer the pause: among sessions that all collide somebody gets through.
		s.begin(i, end+x.delay(backoffTime<<min(x.tries, 8)))
		x.tries++
		return
	}
	s.active--
	s.next(i, end+x.delay(thinkTime))
	s.wake()
}

// wake lets an idle session take over the transaction that another one has given up.
func (s *store) wake() {
	if n := len(s.idle); n > 0 && s.log.Stats.Committed+s.active+s.script.reserved < s.cfg.Txns {
		i := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.next(i, max(s.sess[i].ready, s.log.Stats.SimulateNS+1))
	}
}

func (s *store) record(t LogTxn, ops []LogOp) {
	l := s.log
	t.Off, t.N = len(l.Ops), int32(len(ops))
	if len(l.Ops)+len(ops) > cap(l.Ops) && len(l.Txns) > 1000 && s.cfg.Sink == nil {
		// Room for the rest at the rate so far, rather than by doubling.
		rest := float64(s.cfg.Txns-l.Stats.Committed+1) / float64(l.Stats.Committed+1)
		grow := int(rest*float64(len(l.Ops))*1.02) + len(ops)
		l.Ops = append(make([]LogOp, 0, len(l.Ops)+min(grow, 1<<27)), l.Ops...)
	}
	l.Ops = append(l.Ops, ops...)
	l.Txns = append(l.Txns, t)
}
