package mechanism

// order compares a new version with those installed before it that may overlap with it. It finds out whether its writer
// held the lock at the same time as another (mutual exclusion) or was concurrent with another (first updater wins), and
// which of them it is known to follow.
//
// Commits are taken in the order of their begins. So with locks or first updater wins the new version is the later one,
// unless there is a violation: were it earlier, it would have ended before the other got its lock or its snapshot, and
// so before the other ended. With clock skew both orders may be possible; then nothing is deduced.
//
// If the intervals leave open which was first, but only one order is no violation, then by first updater wins the
// earlier one committed before the later one's snapshot; whether the later one's reads agree is checked when they are
// verified (whole).
//
// Source: [Leopard] §V-B and §V-C, Algorithm 2 lines 10 to 26, Theorems 3 and 4; errata L8.
// Cost: the versions that overlap with the writer.
func (v *Verifier) order(key uint32, k *keyState, w *version) {
	bound := w.acqBef
	if v.p.FirstUpdaterWins {
		bound = min(bound, w.snapBef)
	}
	for i := len(k.vers) - 1; i >= 0; i-- {
		u := &k.vers[i]
		if u.open {
			continue
		}
		unset := u.succ == none
		if u.d < bound {
			if !unset {
				return
			}
			v.follow(key, u, w.txn, w.id, ByTime, false)
			v.r.Decided++
			continue
		}
		why, decided := ByTime, u.d < w.c
		if v.p.WriteLocks && u.id != none {
			before, after := possible(u.c, w.acqAft), possible(w.c, u.acqAft)
			switch {
			case !before && !after:
				v.holders(key, u.id, w.id, u.op, w.op)
			case before && !after && !decided:
				why, decided = ByLock, true
			}
		}
		if v.p.FirstUpdaterWins && u.id != none {
			before, after := possible(u.c, w.snapAft), possible(w.c, u.snapAft)
			switch {
			case !before && !after:
				v.violation(Violation{Mechanism: FirstUpdaterWins, Kind: LostUpdate, Txns: []uint64{u.id, w.id},
					Ops: []uint32{u.op, w.op}, Key: key})
			case before && !after:
				v.before = append(v.before, predecessor{txn: u.txn, id: u.id, key: key, op: u.op, mine: w.op})
				if !decided {
					why, decided = BySnapshot, true
				}
			}
		}
		if unset {
			if decided {
				v.follow(key, u, w.txn, w.id, why, u.d >= w.acqBef)
				v.r.Decided++
			} else {
				v.r.Undecided++
				if u.txn != none {
					v.r.Overlaps[1]++
				}
			}
		}
	}
}
