package timestamp

import (
	"iter"
	"math"
	"slices"
	"sort"

	"isovet/history"
)

// look walks a transaction's operations once: it checks INT, and collects external reads and last writes.
func (a *Aion) look(t *Arrival, n, upTo int64, late bool) {
	if a.stamp++; a.stamp == 0 {
		for i := range a.keys {
			a.keys[i].mine = 0
		}
		a.stamp = 1
	}
	a.wrote = a.wrote[:0]
	for i := range t.Ops {
		op := &t.Ops[i]
		if op.Kind == history.PredRead || op.Kind == history.PredWrite {
			a.lookPredicate(t, uint32(i), n, upTo, late)
			continue
		}
		if int(op.Key) >= len(a.keys) {
			a.key(op.Key)
		}
		k := &a.keys[op.Key]
		if k.mine != a.stamp {
			k.wrote = false
		}
		switch op.Kind {
		case history.Read:
			if k.mine != a.stamp {
				if val := op.Val; !late {
					if k.list && val == 0 {
						val = a.hash.Empty()
					}
					a.read(k, op.Key, onlineReader{upTo: upTo, val: val, n: n, op: uint32(i)})
				}
			} else if k.own != op.Val {
				a.final(Final{Axiom: INT, Txn: t.ID, Other: NoID, Key: op.Key, Op: uint32(i), Got: op.Val, Want: k.own})
			}
			k.own, k.mine = op.Val, a.stamp
		case history.Write:
			a.write(op.Key, op.Val)
		case history.Append:
			a.wrote = append(a.wrote, pendingWrite{key: op.Key, val: op.Val})
			k.mine, k.wrote = a.stamp, true
		case history.ReadList:
			a.lookList(t, uint32(i), n, upTo, late)
			k.mine = a.stamp
		}
	}
}

// write notes a write of the arrival that is walked.
func (a *Aion) write(key uint32, val uint64) {
	k := &a.keys[key]
	if k.mine == a.stamp && k.wrote {
		for j := range a.wrote {
			if a.wrote[j].key == key {
				a.wrote[j].val = val
			}
		}
	} else {
		a.wrote = append(a.wrote, pendingWrite{key: key, val: val})
	}
	k.own, k.mine, k.wrote = val, a.stamp, true
}

// lookList is look for a list read. It walks back through own operations before the read (errata C19).
func (a *Aion) lookList(t *Arrival, at uint32, n, upTo int64, late bool) {
	key := t.Ops[at].Key
	got := t.Lists[t.Ops[at].Val]
	k := &a.keys[key]
	wrong := func() { a.final(Final{Axiom: INT, Txn: t.ID, Other: NoID, Key: key, Op: at}) }
	if k.mine == a.stamp {
		for before := at; before > 0; before-- {
			op := &t.Ops[before-1]
			if op.Key != key {
				continue
			}
			if op.Kind == history.Append {
				if len(got) == 0 || got[len(got)-1] != op.Val {
					wrong()
					return
				}
				got = got[:len(got)-1]
				continue
			}
			if !slices.Equal(t.Lists[op.Val], got) {
				wrong()
			}
			return
		}
	}
	if late {
		return
	}
	if !k.sure {
		a.keepList(key, n, got)
	}
	state := a.hash.Empty()
	if !k.list && len(got) == 0 {
		state = 0
	}
	for _, e := range got {
		state = a.hash.Fold(state, e)
	}
	a.read(k, key, onlineReader{upTo: upTo, val: state, n: n, op: at})
}

// read judges an external read by the arrivals so far, and keeps it for later ones.
func (a *Aion) read(k *onlineKey, key uint32, r onlineReader) {
	v := k.at(r.upTo)
	r.want, r.by, r.ok = v.val, v.by, v.val == r.val
	s := &a.slots[r.n-a.first]
	if !r.ok {
		s.bad++
		a.stats.Wrong++
		if a.follow != nil {
			a.follow(r.n, r.op, false)
		}
	}
	s.n++
	a.reads = append(a.reads, key)
	if len(k.readers) == cap(k.readers) && len(k.readers) > 0 {
		a.dropReaders(k)
	}
	a.lists -= int64(cap(k.readers)) * readerBytes
	k.readers = append(k.readers, r)
	a.lists += int64(cap(k.readers)) * readerBytes
	i := len(k.readers) - 1
	for i > 0 && k.readers[i-1].upTo > r.upTo {
		k.readers[i] = k.readers[i-1]
		i--
	}
	k.readers[i] = r
}

// at returns the version that a read up to a timestamp sees, by the arrivals so far.
func (k *onlineKey) at(upTo int64) *onlineVersion {
	for i := len(k.versions) - 1; i >= 0; i-- {
		if k.versions[i].pos <= upTo {
			return &k.versions[i]
		}
	}
	return &k.base
}

// judge changes a tentative verdict.
func (a *Aion) judge(r *onlineReader, val uint64, by int64) {
	r.want, r.by = val, by
	if ok := val == r.val; ok != r.ok {
		s := &a.slots[r.n-a.first]
		r.ok = ok
		if ok {
			s.bad--
			a.stats.Wrong--
		} else {
			s.bad++
			a.stats.Wrong++
		}
		if r.flips == 0 {
			a.stats.FlipReads++
		}
		if r.flips < math.MaxUint8 {
			r.flips++
		}
		s.flips++
		a.stats.Flips++
		if a.follow != nil {
			a.follow(r.n, r.op, ok)
		}
	}
}

// Follow makes Aion call f when the arrivals make a read wrong, and when they make it right again, until it is final:
// with the number of its transaction's arrival, and its place there.
func (a *Aion) Follow(f func(n int64, op uint32, ok bool)) { a.follow = f }

// rejudge judges again the readers of version i: those up to the next version, or for a list all later ones, because
// each later state changes.
func (a *Aion) rejudge(k *onlineKey, i int) {
	from := k.versions[i].pos
	next := len(k.versions)
	if k.list {
		state := k.base.val
		if i > 0 {
			state = k.versions[i-1].val
		}
		for j := i; j < len(k.versions); j++ {
			state = a.hash.Fold(state, k.versions[j].elem)
			k.versions[j].val = state
		}
	} else if i+1 < len(k.versions) {
		next = i + 1
	}
	live := a.first + int64(a.head)
	v := len(k.versions) - 1
	for r := len(k.readers) - 1; r >= 0 && k.readers[r].upTo >= from; r-- {
		x := &k.readers[r]
		if next < len(k.versions) && x.upTo >= k.versions[next].pos || x.n < live {
			continue
		}
		for k.versions[v].pos > x.upTo {
			v--
		}
		a.judge(x, k.versions[v].val, k.versions[v].by)
	}
}

// reportReads turns the wrong reads of the first transaction of the window into violations.
func (a *Aion) reportReads(s *slot, n int64) {
	for key, x := range a.wrongReads(s, n, a.readHead) {
		k := &a.keys[key]
		f := a.wrongRead(s, k, x, key)
		f.Arrival = n
		if f.Unique = x.unique || x.upTo <= k.horizon; x.upTo > k.horizon || a.knows(k, x.val) {
			a.final(f)
		}
	}
}

// wrongReads yields the wrong reads of a transaction with their keys: arrival n, whose reads begin at reads[at].
func (a *Aion) wrongReads(s *slot, n int64, at int) iter.Seq2[uint32, *onlineReader] {
	return func(yield func(uint32, *onlineReader) bool) {
		seen := a.reads[at : at+int(s.n)]
		for i, key := range seen {
			if slices.Contains(seen[:i], key) {
				continue
			}
			k := &a.keys[key]
			for r := k.readersFrom(s.upTo); r < len(k.readers) && k.readers[r].upTo == s.upTo; r++ {
				if x := &k.readers[r]; x.n == n && !x.ok && !x.excused && !yield(key, x) {
					return
				}
			}
		}
	}
}

func (a *Aion) wrongRead(s *slot, k *onlineKey, x *onlineReader, key uint32) Final {
	f := Final{Axiom: EXT, Txn: s.id, Other: x.by, Key: key, Op: x.op, Got: x.val, Want: x.want}
	for v := range k.versions {
		w := &k.versions[v]
		if k.list || w.val != x.val || w.by == NoID {
			continue
		}
		switch {
		case w.by == s.id:
			f.Kind = Own
		case w.pos <= x.upTo:
			f.Kind = Before
		case w.start <= x.upTo:
			f.Kind = Uncommitted
		default:
			f.Kind = After
		}
	}
	return f
}

// Arrived returns the number of arrived transactions that committed.
func (a *Aion) Arrived() int64 { return a.first + int64(len(a.slots)) }

// Suspects returns reads that are wrong by the arrivals so far and not final: the first of the window, at most most of
// them. Cost: the window up to the last of them.
func (a *Aion) Suspects(most int) (out []Final) {
	at := a.readHead
	for i := a.head; i < len(a.slots) && a.stats.Wrong > 0; i++ {
		if s := &a.slots[i]; s.bad > 0 {
			for key, x := range a.wrongReads(s, a.first+int64(i), at) {
				if len(out) == most {
					return out
				}
				out = append(out, a.wrongRead(s, &a.keys[key], x, key))
			}
		}
		at += int(a.slots[i].n)
	}
	return out
}

// readersFrom returns the index of the first reader at timestamp upTo or later.
func (k *onlineKey) readersFrom(upTo int64) int {
	return sort.Search(len(k.readers), func(i int) bool { return k.readers[i].upTo >= upTo })
}
