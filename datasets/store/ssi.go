package store

// txnRec is what SSI remembers of a transaction until nobody is concurrent with it: has it read a version that a concurrent
// transaction overwrote (out), has a concurrent transaction read a version that it overwrote (in). Cahill's rule: in every
// non-serializable execution under snapshot isolation some transaction has both.
type txnRec struct {
	snap, cts int64 // cts NoTime: active
	locks     int32 // its SIREAD marks
	free      int32
	in, out   bool
}

func (s *store) newRec(snap int64) int32 {
	i := s.freeRec
	if i != none {
		s.freeRec = s.recs[i].free
	} else {
		s.recs = append(s.recs, txnRec{})
		i = int32(len(s.recs)) - 1
	}
	s.recs[i] = txnRec{snap: snap, cts: NoTime, locks: none}
	return i
}

func (s *store) dropRec(i int32) {
	s.dropReads(&s.recs[i].locks)
	s.recs[i].free = s.freeRec
	s.freeRec = i
}

// recCommit keeps a committed transaction's record. Invariant: retired is sorted by cts.
func (s *store) recCommit(i int32, cts int64) {
	s.recs[i].cts = cts
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

// conflict notes that reader read a version that writer overwrote. It returns false where the transaction that is asking, one
// of the two, must abort since the other has committed and would be left with both.
func (s *store) conflict(reader, writer int32) bool {
	a, b := &s.recs[reader], &s.recs[writer]
	if b.cts != NoTime && b.out || a.cts != NoTime && a.in {
		return false
	}
	a.out = true
	b.in = true
	return true
}

// noteRead tells of a session's read of a row: of the versions it does not see, committed or not, and of its mark for those to come.
func (s *store) noteRead(i, r int32) bool {
	x, w := &s.sess[i], &s.rows[r]
	if w.x != none && w.x != i && !s.conflict(x.rec, s.sess[w.x].rec) {
		return false
	}
	for v := w.head; s.versions[v].cts > x.snap; v = s.versions[v].prev {
		if !s.conflict(x.rec, s.versions[v].rec) {
			return false
		}
	}
	s.addRead(x.rec, r, &s.recs[x.rec].locks)
	return true
}

// noteWrite tells of a session's write of a row, to all concurrent transactions that have read it.
func (s *store) noteWrite(i, r int32) bool {
	x := &s.sess[i]
	for l := s.rows[r].reads; l != none; l = s.reads[l].next {
		h := s.reads[l].owner
		if h == x.rec || s.recs[h].cts != NoTime && s.recs[h].cts <= x.snap {
			continue
		}
		if !s.conflict(h, x.rec) {
			return false
		}
	}
	return true
}

// mayCommit is the last test: both flags may have been set by others since.
func (s *store) mayCommit(i int32) bool {
	r := &s.recs[s.sess[i].rec]
	return !(r.in && r.out)
}
