package mechanism

// consistent verifies the reads of a committed transaction. Each must return a version that its snapshot may see, and
// one moment must explain all reads of a snapshot together.
//
// Source:  [Leopard] §V-A, Algorithm 2 lines 1 to 9, Definitions 1 and 2, Theorem 2; errata L1, L2, L6, L7. Differs:
// the paper tests each read by itself. Here all reads of a snapshot see one moment s. Each version read means that s is
// after its commit began, and before the end of the first commit that is surely later. The intersection of these
// intervals over all reads must not be empty.
//
// Deduces: wr if only one version can have been read; rw to the writer of the next version.
func (v *Verifier) consistent(p *pending, reads []Trace, before []predecessor) {
	whole := v.p.Reads == TransactionReads
	joint := v.moment(p.a, p.b)
	v.places = v.places[:0]
	for i := range reads {
		r := &reads[i]
		v.places = append(v.places, -1)
		if !whole && (i == 0 || reads[i-1].Op != r.Op) {
			joint = v.moment(r.Bef, r.Aft)
		}
		locked := r.Kind == LockedRead || r.Kind == lockedBeforeWrite
		a, b := p.a, p.b
		if !whole || locked {
			a, b = r.Bef, r.Aft
		}
		if v.p.StaleReads {
			a = -Forever
		}
		k := v.key(r.Key)
		at, more := k.find(r.Val, a, b, p.serial, !v.o.Duplicates)
		if at < 0 {
			if v.p.Reads != NoReads && !locked {
				v.unseen(p, r, k, b)
				joint.broken = true
				continue
			}
			// No consistent read is promised; a read still depends on the writer of its version.
			if at, more = k.find(r.Val, -Forever, Forever, p.serial, !v.o.Duplicates); at < 0 {
				continue
			}
		}
		if more || v.deleted(p, r, k) {
			continue // it may be one of several versions: nothing follows
		}
		if v.p.Reads != NoReads && !locked {
			v.places[i] = int32(at)
			w := &k.vers[at]
			d, next := k.until(at)
			if w.c > joint.lo {
				joint.lo, joint.low = w.c, narrowing{r, w.id}
			}
			if d < joint.hi {
				joint.hi, joint.high = d, narrowing{r, k.vers[next].id}
			}
			if joint.lo > joint.hi && !joint.broken {
				joint.broken = true
				v.noSnapshot(p, &joint)
			}
		}
		v.seen(p, r, k, at)
	}
	switch {
	case v.p.Reads == NoReads:
	case whole:
		v.whole(p, reads, v.places, before, p.a)
	default:
		for i := 0; i < len(reads); {
			j := i + 1
			for j < len(reads) && reads[j].Op == reads[i].Op {
				j++
			}
			if j > i+1 {
				v.whole(p, reads[i:j], v.places[i:j], nil, reads[i].Bef)
			}
			i = j
		}
	}
}

// moment is the interval in which all reads of one snapshot can have happened, from lo to hi, with the reads that
// narrowed it last.
type moment struct {
	lo, hi    int64
	low, high narrowing // without a read: the snapshot's own interval
	broken    bool      // no moment is possible
}

// narrowing is a read and the transaction whose commit bounds it, or none.
type narrowing struct {
	read *Trace
	by   uint64
}

func (v *Verifier) moment(a, b int64) moment {
	if v.p.StaleReads {
		a = -Forever
	}
	return moment{lo: a, hi: b}
}

// whole verifies that a snapshot shows other transactions as a whole: it must see all writes of a transaction if one of
// its reads saw one of them, or if first updater wins says that the transaction had committed before. The snapshot
// begins at a; places are those of the versions read. The intervals of single versions do not show this if they
// overlap.
//
// Source:  atomic visibility (errata L8: each possible order of a commit and a snapshot); not in [Leopard].
// Cost: near nothing unless commits overlap with the snapshot; then their versions, for each read.
func (v *Verifier) whole(p *pending, reads []Trace, places []int32, before []predecessor, a int64) {
	if v.p.StaleReads {
		a = -Forever
	}
	v.together = v.together[:0]
	for _, u := range before {
		v.together = append(v.together, together{txn: u.txn, id: u.id, read: -1, by: u})
	}
	if len(reads) > 1 {
		for i, at := range places {
			if at < 0 {
				continue
			}
			// A commit that was certainly before the snapshot is compared by its interval.
			if w := &v.key(reads[i].Key).vers[at]; w.txn != none && w.d >= a &&
				(len(v.together) == 0 || v.together[len(v.together)-1].txn != w.txn) {
				v.together = append(v.together, together{txn: w.txn, id: w.id, read: i})
			}
		}
	}
	if len(v.together) == 0 {
		return
	}
	for i, at := range places {
		if at < 0 {
			continue
		}
		k := v.key(reads[i].Key)
		seen := &k.vers[at]
		next := seen.succ // the known successors, one by one
		for j := int(at) + 1; j < len(k.vers); j++ {
			w := &k.vers[j]
			follows := w.c > seen.d
			if w.txn != none && w.txn == next {
				follows, next = true, w.succ
			}
			if !follows || w.open || w.txn == p.serial || w.txn == none {
				continue
			}
			for _, t := range v.together {
				if t.txn != w.txn {
					continue
				}
				saw := &reads[i]
				if t.read >= 0 {
					saw = &reads[t.read]
				}
				v.torn(p, &t, saw, &reads[i])
				return
			}
		}
	}
}

// torn reports a transaction that the snapshot saw only in part. The read missed it, although the read seen saw it, or
// its place before a later writer shows that it had committed.
func (v *Verifier) torn(p *pending, t *together, seen, read *Trace) {
	if t.read < 0 {
		v.violation(Violation{Mechanism: FirstUpdaterWins, Kind: LostUpdate, Txns: []uint64{t.id, p.id},
			Ops: []uint32{t.by.op, t.by.mine, read.Op}, Key: t.by.key})
		return
	}
	v.violation(Violation{Mechanism: ConsistentRead, Kind: Fractured, Txns: []uint64{p.id, t.id},
		Ops: []uint32{seen.Op, read.Op}, Key: read.Key, Val: read.Val})
}

// seen deduces dependencies from a read of version at.
func (v *Verifier) seen(p *pending, r *Trace, k *keyState, at int) {
	w := &k.vers[at]
	if w.open {
		return
	}
	if w.txn != none {
		why := ByValue
		if v.o.Duplicates {
			why = ByCandidate
		}
		v.depend(w.txn, p.serial, r.Key, w.id, p.id, 0, why, w.d >= r.Bef)
	}
	if r.Kind >= readBeforeWrite && w.succ == none {
		v.follow(r.Key, w, p.serial, p.id, ByRead, false)
	}
	switch {
	case w.succ == p.serial:
	case w.succ != none:
		v.antidepend(r.Key, w, p.serial, p.id, r.Aft, k)
	case v.o.Late && v.p.Certifier == NoCertifier && !v.o.KeepEdges: // nobody uses the edge
	default:
		// The next version is unknown or has not arrived; any version that is certainly later serves the order as well.
		w.readers = v.newReader(reader{txn: p.serial, id: p.id, aft: r.Aft, next: w.readers})
	}
}

// antidepend deduces rw from a reader of w to the writer of the next version.
func (v *Verifier) antidepend(key uint32, w *version, txn, id uint64, aft int64, k *keyState) {
	if w.succ == txn {
		return
	}
	succID, overlap := none, false
	if n := v.g.node(w.succ); n != nil {
		succID, overlap = n.id, n.c <= aft
	} else {
		for i := range k.vers {
			if k.vers[i].txn == w.succ {
				succID, overlap = k.vers[i].id, k.vers[i].c <= aft
			}
		}
	}
	v.depend(txn, w.succ, key, id, succID, 2, ByChain, overlap)
}

// follow makes a version the next after w, and deduces the anti-dependencies that waited for it.
func (v *Verifier) follow(key uint32, w *version, succ, id uint64, why Reason, overlap bool) {
	w.succ = succ
	if w.txn != none {
		v.depend(w.txn, succ, key, w.id, id, 1, why, overlap)
	}
	for i := w.readers; i >= 0; i = v.readers[i].next {
		if r := &v.readers[i]; r.txn != succ {
			v.depend(r.txn, succ, key, r.id, id, 2, ByChain, overlap)
		}
	}
	v.dropReaders(w)
}

// unseen reports a read of a version that its snapshot cannot see.
func (v *Verifier) unseen(p *pending, r *Trace, k *keyState, b int64) {
	if r.Val == Nothing && (v.lost || v.o.Attach && v.older(p, r, k)) {
		return // somebody unknown may have deleted it
	}
	x := Violation{Mechanism: ConsistentRead, Kind: NotVisible, Txns: []uint64{p.id}, Ops: []uint32{r.Op}, Key: r.Key,
		Val: r.Val}
	add := func(id uint64, op uint32) {
		if id != none {
			x.Txns, x.Ops = append(x.Txns, id), append(x.Ops, op)
		}
	}
	for i := range k.vers {
		w := &k.vers[i]
		if w.val != r.Val || w.txn == p.serial && w.txn != none {
			continue
		}
		x.Kind = Overwritten
		if w.c > b {
			x.Kind = Uncommitted
		}
		add(w.id, w.op)
		if x.Kind == Overwritten { // the writer that overwrote it
			if _, j := k.until(i); j >= 0 {
				add(k.vers[j].id, k.vers[j].op)
			}
		}
		v.absent(x, r)
		return
	}
	switch g := v.graves.find(k, r.Val); {
	case g == nil:
		if v.lost || k.doubt&(1<<(r.Val%64)) != 0 || v.o.Attach && v.older(p, r, k) {
			return
		}
		if v.o.Late {
			v.suspect(x, r.at)
			return
		}
	case g.overID == none && g.overOp == uninstalled:
		x.Uninstalled = []uint64{g.id}
	default:
		x.Kind = Overwritten
		add(g.id, g.op)
		add(g.overID, g.overOp)
	}
	v.absent(x, r)
}

// absent reports a wrong read. If it is of no value, a delete that comes late may explain it, and it waits.
func (v *Verifier) absent(x Violation, r *Trace) {
	if r.Val == Nothing && v.o.Late && x.Kind == Overwritten {
		v.suspect(x, r.at)
		return
	}
	v.violation(x)
}

// noSnapshot reports two reads (or a read and the snapshot's interval) that exclude each other.
func (v *Verifier) noSnapshot(p *pending, m *moment) {
	x := Violation{Mechanism: ConsistentRead, Kind: NoSnapshot, Txns: []uint64{p.id}}
	for _, n := range []narrowing{m.low, m.high} {
		if n.read == nil {
			continue
		}
		x.Key, x.Val = n.read.Key, n.read.Val
		x.Ops = append(x.Ops, n.read.Op)
		if n.by != none {
			x.Txns = append(x.Txns, n.by)
		}
	}
	v.violation(x)
}
