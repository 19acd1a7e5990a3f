package store

// readLock is a shared lock (two-phase locking) or a SIREAD mark (SSI): its owner has read the row. It is in two
// lists, its row's and its owner's.
type readLock struct {
	row        int32
	owner      int32 // session, or SSI record
	prev, next int32 // in the row's list; next also links free ones
	own        int32 // the owner's next
}

// addRead adds an owner's mark to a row. list is the head of the owner's list.
func (s *store) addRead(owner, r int32, list *int32) {
	i := s.freeRead
	if i != none {
		s.freeRead = s.reads[i].next
	} else {
		s.reads = append(s.reads, readLock{})
		i = int32(len(s.reads)) - 1
	}
	w := &s.rows[r]
	s.reads[i] = readLock{row: r, owner: owner, prev: none, next: w.reads, own: *list}
	if w.reads != none {
		s.reads[w.reads].prev = i
	}
	w.reads = i
	w.nReads++
	*list = i
}

// dropReads removes all marks of an owner.
func (s *store) dropReads(list *int32) {
	for i := *list; i != none; {
		l := &s.reads[i]
		w := &s.rows[l.row]
		if l.prev != none {
			s.reads[l.prev].next = l.next
		} else {
			w.reads = l.next
		}
		if l.next != none {
			s.reads[l.next].prev = l.prev
		}
		w.nReads--
		own := l.own
		l.next = s.freeRead
		s.freeRead = i
		i = own
	}
	*list = none
}

func (s *store) holdsS(i, r int32) bool {
	for l := s.rows[r].reads; l != none; l = s.reads[l].next {
		if s.reads[l].owner == i {
			return true
		}
	}
	return false
}

// lockS takes a shared lock, or queues the session.
func (s *store) lockS(i, r int32) outcome {
	w := &s.rows[r]
	if w.reads != none && s.holdsS(i, r) {
		return done
	}
	if w.x == none && w.waitHead == none {
		s.addRead(i, r, &s.sess[i].locks)
		return done
	}
	return s.wait(i, r, false, false)
}

// lockX takes a row's write lock, or queues the session.
func (s *store) lockX(i, r int32) outcome {
	w := &s.rows[r]
	if w.x == i {
		return done
	}
	if !s.locking {
		if w.x == none && w.waitHead == none {
			s.grantX(i, r)
			return done
		}
		return s.wait(i, r, true, false)
	}
	upgrade := w.reads != none && s.holdsS(i, r)
	if w.x == none && (w.nReads == 0 || upgrade && w.nReads == 1) && (upgrade || w.waitHead == none) {
		s.grantX(i, r)
		return done
	}
	return s.wait(i, r, true, upgrade)
}

// grantX grants the write lock. Until the first write the pending version equals the current one.
func (s *store) grantX(i, r int32) {
	w := &s.rows[r]
	w.x = i
	v := &s.versions[w.head]
	w.pend, w.pendPay, w.wrote = v.val, v.pay, false
	s.sess[i].xrows = append(s.sess[i].xrows, r)
}

// wait queues a session for a row's lock, or refuses if the wait would close a cycle.
func (s *store) wait(i, r int32, exclusive, upgrade bool) outcome {
	if s.deadlock(i, r) {
		s.log.Stats.Deadlocks++
		return refused
	}
	s.log.Stats.Waits++
	x, w := &s.sess[i], &s.rows[r]
	x.waitOn, x.waitX, x.waitNext = r, exclusive, none
	switch {
	case w.waitHead == none:
		w.waitHead, w.waitEnd = i, i
	case upgrade:
		x.waitNext = w.waitHead
		w.waitHead = i
	default:
		s.sess[w.waitEnd].waitNext = i
		w.waitEnd = i
	}
	return blocked
}

// deadlock reports whether a session's wait for row r would close a cycle of waits. A waiting session can go on only
// after all holders of the row have ended (sessions queued before it wait for the same holders). So edges to the
// holders suffice. The asking session is the victim: a session that waits already stays in its queue.
func (s *store) deadlock(i, r int32) bool {
	s.mark++
	s.stack = append(s.stack[:0], r)
	return s.cycle(i, true)
}

// waitSession makes a session wait for the end of session h, or refuses if the wait would close a cycle. The session
// then repeats its operation.
func (s *store) waitSession(i, h int32) outcome {
	s.mark++
	s.stack = s.stack[:0]
	if s.follow(i, h) || s.cycle(i, false) {
		s.log.Stats.Deadlocks++
		return refused
	}
	s.log.Stats.Waits++
	s.sess[i].waitSess = h
	s.sess[h].waiters = append(s.sess[h].waiters, i)
	return blocked
}

// cycle reports whether waits lead from the rows in s.stack to session i. first says that i itself is about to wait
// for the first row.
func (s *store) cycle(i int32, first bool) bool {
	for ; len(s.stack) > 0; first = false {
		n := len(s.stack) - 1
		w := &s.rows[s.stack[n]]
		s.stack = s.stack[:n]
		if w.x != none {
			if s.follow(i, w.x) {
				return true
			}
		}
		if !s.locking {
			continue
		}
		for l := w.reads; l != none; l = s.reads[l].next {
			h := s.reads[l].owner
			if h == i && first {
				continue // its own lock, to be upgraded
			}
			if s.follow(i, h) {
				return true
			}
		}
	}
	return false
}

// follow goes from a holder along sessions that wait for sessions, and adds the row that the last one waits for to the
// search. It reports whether it reaches session i.
func (s *store) follow(i, h int32) bool {
	for h != none {
		if h == i {
			return true
		}
		x := &s.sess[h]
		if x.visited == s.mark {
			return false
		}
		x.visited = s.mark
		if x.waitOn != none {
			s.stack = append(s.stack, x.waitOn)
			return false
		}
		h = x.waitSess
	}
	return false
}

// unlock releases all locks of a session and lets the sessions go on that waited for them.
func (s *store) unlock(i int32, now int64) {
	x := &s.sess[i]
	for _, r := range x.xrows {
		s.rows[r].x = none
	}
	if s.locking {
		head := x.locks
		// The rows are needed after their marks are gone.
		s.stack = s.stack[:0]
		for l := head; l != none; l = s.reads[l].own {
			if s.rows[s.reads[l].row].waitHead != none {
				s.stack = append(s.stack, s.reads[l].row)
			}
		}
		s.dropReads(&x.locks)
		for _, r := range s.stack {
			s.grant(r, now)
		}
	}
	for _, r := range x.xrows {
		if s.rows[r].waitHead != none {
			s.grant(r, now)
		}
	}
	x.xrows = x.xrows[:0]
	if s.ranges {
		s.dropPreds(i)
	}
	for _, h := range x.waiters {
		s.sess[h].waitSess = none
		s.heap.Push(now+s.sess[h].delay(serviceTime)/8, h)
	}
	x.waiters = x.waiters[:0]
}

// grant gives a row's lock to as many sessions at the head of its queue as possible.
func (s *store) grant(r int32, now int64) {
	w := &s.rows[r]
	for w.waitHead != none {
		i := w.waitHead
		x := &s.sess[i]
		if w.x != none {
			return
		}
		if x.waitX {
			if s.locking && (w.nReads > 1 || w.nReads == 1 && s.reads[w.reads].owner != i) {
				return
			}
			s.grantX(i, r)
		} else {
			s.addRead(i, r, &x.locks)
		}
		w.waitHead = x.waitNext
		if w.waitHead == none {
			w.waitEnd = none
		}
		x.waitOn = none
		s.heap.Push(now+x.delay(serviceTime)/8, i)
	}
}
