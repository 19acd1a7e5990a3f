package mechanism

// Both orders of two lock holders are impossible iff each acquired the lock before the other can have released it
// ([Leopard] §V-B, Theorem 3; errata L8). Without clock skew, both orders are never possible for two holders that
// ended, since each acquired its lock before its end.

// possible reports whether a holder that releases at rel or later can come before one that has the lock by acqAft.
func possible(rel, acqAft int64) bool { return rel < acqAft }

// share takes a shared lock, and compares it with exclusive locks of versions and of open transactions.
//
// Source: [Leopard] §V-B, Algorithm 2 lines 10 to 17, Definition 3; errata L6, L8.
// Cost: the locks and versions of the key that may overlap.
func (v *Verifier) share(key uint32, k *keyState, l *lock) {
	if v.p.WriteLocks {
		for i := len(k.vers) - 1; i >= 0 && k.vers[i].d >= l.acqBef; i-- {
			w := &k.vers[i]
			if w.open || w.id == none || w.txn == l.txn && l.txn != none {
				continue
			}
			if !possible(w.c, l.acqAft) && !possible(l.rel, w.acqAft) {
				v.holders(key, w.id, l.id, w.op, l.op)
			}
		}
	}
	v.hold(key, k, l)
}

// hold takes a lock of a list, and compares it with the conflicting locks of the list.
func (v *Verifier) hold(key uint32, k *keyState, l *lock) {
	for i := len(k.locks) - 1; i >= 0 && k.locks[i].maxRel >= l.acqBef; i-- {
		m := &k.locks[i]
		if (m.exclusive || l.exclusive) && m.id != l.id && !possible(m.rel, l.acqAft) && !possible(l.rel, m.acqAft) {
			v.holders(key, m.id, l.id, m.op, l.op)
		}
	}
	if l.exclusive {
		for i := len(k.vers) - 1; i >= 0 && k.vers[i].d >= l.acqBef; i-- {
			if w := &k.vers[i]; !w.open && w.id != none && !possible(w.c, l.acqAft) && !possible(l.rel, w.acqAft) {
				v.holders(key, w.id, l.id, w.op, l.op)
			}
		}
	}
	switch n := len(k.locks); {
	case v.o.NoPrune:
	case n > 0 && k.locks[n-1].maxRel < v.floor:
		v.locks -= n // all were released before every trace to come
		k.locks = k.locks[:0]
	case n >= int(k.locksLimit):
		v.dropLocks(k, v.floor)
		k.locksLimit = int32(2*len(k.locks)) + 4
	}
	l.maxRel = l.rel
	if n := len(k.locks); n > 0 {
		l.maxRel = max(l.rel, k.locks[n-1].maxRel)
	}
	k.locks = append(k.locks, *l)
	v.locks++
}

// exclude compares the exclusive lock of a version with the locks in the list; order has compared it with other
// versions' locks.
func (v *Verifier) exclude(key uint32, k *keyState, w *version) {
	for i := len(k.locks) - 1; i >= 0 && k.locks[i].maxRel >= w.acqBef; i-- {
		m := &k.locks[i]
		if m.txn == w.txn && m.txn != none || m.id == w.id {
			continue
		}
		if !possible(m.rel, w.acqAft) && !possible(w.c, m.acqAft) {
			v.holders(key, m.id, w.id, m.op, w.op)
		}
	}
}

func (v *Verifier) holders(key uint32, a, b uint64, aOp, bOp uint32) {
	v.violation(Violation{Mechanism: MutualExclusion, Kind: TwoHolders, Txns: []uint64{a, b}, Ops: []uint32{aOp, bOp},
		Key: key})
}
