package timestamp

import (
	"math"
	"slices"
	"sort"

	"isovet/internal/slice"
)

// attached has what is known about the time before the stream began.
type attached struct {
	attach       bool
	arrivals     int   // the first few are counted
	cut          int64 // commit of the first transaction that was not late, as far as the first few show
	within       int64 // see Within
	again        bool  // see Again
	latestCommit int64
	lag          [2]int64 // the two greatest delays of a commit that arrived after a later one
	kept         map[listRead][]uint64
	keptBytes    int64
	torn         int // lists that a late transaction has made unknown
}

// listRead is a list read that is not final.
type listRead struct {
	n   int64
	key uint32
}

// Attach says that the stream begins in the middle, so that the initial values of keys are unknown. It must be called
// before all arrivals. If no arrival explains the first read of a key, the read shows the key's value when the stream
// began; it is a violation only if that is impossible. Sessions begin with the first of their transactions.
//
// A transaction sent before the stream began may have committed after the stream's first transaction, by as much as
// Within says, and as much as commits are out of order. A read at a snapshot before that moment, the horizon, is not
// judged if no transaction of the stream wrote its value; after Again has been called, it is not judged at all.
func (a *Aion) Attach() {
	a.attach, a.kept = true, map[listRead][]uint64{}
	for i := range a.sess {
		a.sess[i].began = false
	}
	for i := range a.keys {
		a.keys[i].sure = false
	}
}

// Within says how late a transaction may arrive, in timestamps; 0 means that this is unknown.
func (a *Aion) Within(ts int64) { a.within = ts }

// Again says that a value may be written to a key again, so that a value written in the stream may have been there
// before.
func (a *Aion) Again() { a.again = true }

// arrived records a commit. If a later commit follows by more than Within, the first transactions (up to 16) may have
// been late ones, and the stream began with the later one.
func (a *Aion) arrived(commit int64) {
	if a.arrivals < 16 {
		if a.arrivals++; a.arrivals == 1 {
			a.cut, a.latestCommit = commit, commit
			return
		}
		if a.within > 0 && commit > a.cut && uint64(commit-a.cut) > uint64(a.within) {
			a.cut = commit
		}
	}
	if commit >= a.latestCommit {
		a.latestCommit = commit
		return
	}
	lag := a.latestCommit - commit
	if lag < 0 {
		return // beyond 64 bits
	}
	if lag > a.lag[0] {
		a.lag[0], a.lag[1] = lag, a.lag[0]
	} else {
		a.lag[1] = max(a.lag[1], lag)
	}
}

// horizon returns the latest possible commit of the transactions that were sent before the stream began. A single
// transaction that is far later than all others does not move it.
func (a *Aion) horizon() int64 {
	h := a.cut
	for _, d := range [3]int64{a.within, a.lag[1], a.lag[1]} {
		if h > 0 && d > math.MaxInt64-h {
			return math.MaxInt64
		}
		h += d
	}
	return h
}

// attachReads uses the reads of the first transaction of the window, which are final, to learn the values of their keys
// when the stream began.
func (a *Aion) attachReads(s *slot, n int64) {
	for _, key := range a.reads[a.readHead : a.readHead+int(s.n)] {
		k := &a.keys[key]
		var got []uint64
		if k.list && len(a.kept) > 0 {
			got = a.kept[listRead{n, key}]
			delete(a.kept, listRead{n, key})
			a.keptBytes -= keptBytes(got)
		}
		if k.sure {
			continue
		}
		for i := k.readersFrom(s.upTo); i < len(k.readers) && k.readers[i].upTo == s.upTo && !k.sure; i++ {
			if x := &k.readers[i]; x.n == n { // predicate operations may read a key several times
				h := int64(math.MinInt64)
				if a.attach {
					h = a.horizon()
				}
				if k.torn != 0 {
					h = max(h, k.torn)
				}
				a.attachRead(k, x, h, got)
				if k.sure {
					k.horizon = max(k.horizon, h)
				}
				if k.sure && k.torn != 0 {
					k.torn = 0
					a.torn--
				}
			}
		}
	}
}

// attachRead uses one read. got is the list that it saw, if it is a list read.
func (a *Aion) attachRead(k *onlineKey, x *onlineReader, h int64, got []uint64) {
	v := sort.Search(len(k.versions), func(i int) bool { return k.versions[i].pos > x.upTo }) - 1
	w := &k.base
	if v >= 0 {
		w = &k.versions[v]
	}
	if !k.list && k.base.by != NoID && k.base.pos >= h {
		// The unknown value has been overwritten. Once all transactions that had arrived by then are final, none sees
		// it.
		switch {
		case k.over == 0:
			k.over = a.first + int64(len(a.slots))
		case x.n >= k.over:
			k.sure = true
		}
	}
	unknown := !x.ok && !a.knows(k, x.val)
	x.unique = !x.ok && !unknown
	if unknown && k.torn != 0 && got == nil { // it came before the list was torn
		x.excused = true
		return
	}
	switch {
	case x.upTo <= h || w.pos > x.upTo: // what it should have seen is forgotten
		x.excused = unknown
	case !k.list && w.pos >= h && w.by != NoID:
		x.unique = false
	case x.ok:
		k.sure = true // now its value when the stream began is known
	case k.list:
		a.adoptList(k, x, h, got)
	case unknown:
		k.sure = true
		a.lists -= int64(cap(k.versions)) * versionBytes
		k.versions = slices.Insert(k.versions, v+1, onlineVersion{pos: h, start: h, val: x.val, by: NoID})
		a.lists += int64(cap(k.versions)) * versionBytes
		a.rejudge(k, v+1)
	}
}

// knows reports whether a transaction of the stream wrote a register value, as far as the window shows it. If values
// are written once, no other transaction wrote it then.
func (a *Aion) knows(k *onlineKey, val uint64) bool {
	is := func(v onlineVersion) bool { return v.by != NoID && v.val == val }
	return !k.list && !a.again && val != 0 && (is(k.base) || slices.ContainsFunc(k.versions, is))
}

// adoptList takes the list that a read saw as the list at the read's snapshot, if it ends with the elements appended
// since the horizon. It does not conclude what the list was at the horizon: late transactions that have not arrived may
// have appended some of it since, at unknown places. So reads at older snapshots are not judged. The appends of late
// transactions that committed up to this snapshot are in the read already.
func (a *Aion) adoptList(k *onlineKey, x *onlineReader, h int64, got []uint64) {
	from := 0
	for from < len(k.versions) && k.versions[from].pos <= h {
		from++
	}
	to := from
	for to < len(k.versions) && k.versions[to].pos <= x.upTo {
		to++
	}
	rest := len(got) - (to - from)
	if rest < 0 {
		return
	}
	for i, v := range k.versions[from:to] {
		if v.elem != got[rest+i] {
			return
		}
	}
	state := a.hash.Empty()
	for _, e := range got {
		state = a.hash.Fold(state, e)
	}
	k.sure = true
	k.horizon = max(k.horizon, x.upTo)
	k.base = onlineVersion{pos: x.upTo, start: x.upTo, val: state, by: NoID}
	k.versions = slices.Delete(k.versions, 0, to)
	for i := range k.versions {
		state = a.hash.Fold(state, k.versions[i].elem)
		k.versions[i].val = state
	}
	live := a.first + int64(a.head)
	for i := k.readersFrom(x.upTo); i < len(k.readers); i++ {
		r := &k.readers[i]
		if r.n < live {
			continue
		}
		w := &k.base
		for j := range k.versions {
			if k.versions[j].pos <= r.upTo {
				w = &k.versions[j]
			}
		}
		a.judge(r, w.val, w.by)
	}
}

// keepList keeps a list read until it is final.
func (a *Aion) keepList(key uint32, n int64, got []uint64) {
	a.keptBytes += keptBytes(got) - keptBytes(a.kept[listRead{n, key}])
	a.kept[listRead{n, key}] = slices.Clone(got)
}

// keptBytes estimates the memory of a kept list; 0 for none.
func keptBytes(got []uint64) int64 {
	if got == nil {
		return 0
	}
	return 64 + 8*int64(len(got))
}

// tear makes a list unknown up to the watermark, because a late transaction has appended to it before the versions that
// are kept. The next judged read shows its elements.
func (a *Aion) tear(k *onlineKey) {
	slice.MakeMap(&a.kept)
	if k.torn == 0 {
		a.torn++
	}
	k.sure, k.torn = false, a.mark
	if k.torn == 0 {
		k.torn = 1 // 0 is not torn
	}
}
