package mechanism

import (
	"slices"

	"isovet/internal/saved"
)

// The verifier forgets what no unverified transaction can see ([Leopard] §IV-C, Definition 4, with errata L11):
// versions that were certainly overwritten before, locks that were released before, and transactions that no cycle can
// enter any more. After every pruneEvery transactions it computes the floor: the moment before which no unverified
// transaction begins. Versions and locks are forgotten when their keys are used.
const pruneEvery = 512

// prune computes the floor, and forgets transactions.
func (v *Verifier) prune() {
	v.due = v.o.every
	v.peaks()
	if v.o.NoPrune {
		return
	}
	floor := v.now
	for i := range v.clients {
		if c := &v.clients[i]; c.open {
			floor = min(floor, c.start)
		}
	}
	for i := v.head; i < len(v.queue); i++ {
		floor = min(floor, v.queue[i].least)
	}
	v.dropDead(&v.g)
	v.g.prune(v.floor) // with the floor before this one
	v.floor = floor
}

func (v *Verifier) peaks() {
	v.r.PeakVersions = max(v.r.PeakVersions, v.versions)
	v.r.PeakLocks = max(v.r.PeakLocks, v.locks)
	v.r.PeakTxns = max(v.r.PeakTxns, v.g.alive+len(v.queue)-v.head)
}

// pruneVersions forgets versions of a key that were certainly overwritten before every snapshot that is still to be
// verified.
func (v *Verifier) pruneVersions(k *keyState) {
	if len(k.vers) < int(k.versLimit) || v.o.NoPrune || v.p.StaleReads {
		return
	}
	v.dropOld(k)
}

// dropOld forgets the versions of a key that nobody can see any more.
func (v *Verifier) dropOld(k *keyState) {
	n := k.before(v.floor)
	if n > 0 {
		pivot := k.vers[n-1].maxC
		for n > 0 && k.vers[n-1].d >= pivot {
			n--
		}
	}
	v.dropVersions(k, n)
	k.versLimit = int32(len(k.vers)+len(k.vers)/2) + 3
}

// maxOpen bounds the versions of a key whose writers' outcomes are unknown: each read looks at all of them.
const maxOpen = 64

// dropOpen forgets the oldest version of unknown outcome, if a key has too many. Reads of its value are not judged.
func (v *Verifier) dropOpen(k *keyState) {
	n := len(k.vers)
	for n > 0 && k.vers[n-1].open && k.vers[n-1].d == Forever { // they come last
		n--
	}
	if v.o.Late && len(k.vers)-n > maxOpen {
		k.doubt |= 1 << (k.vers[n].val % 64)
		k.vers = slices.Delete(k.vers, n, n+1)
		v.versions--
	}
}

// trims reports whether versions may be forgotten at any time.
func (v *Verifier) trims() bool { return !v.o.NoPrune && !v.p.StaleReads }

// Trim forgets the invisible versions of all keys; otherwise a key loses them when it is written. It does nothing until
// the number of versions has doubled since the last time. It changes no finding, except that a read of a long
// overwritten version may be reported as one of no version.
func (x *Online) Trim() {
	v := x.v
	if !v.trims() || v.versions < 2*v.trimmed {
		return
	}
	for i := range v.keys {
		if k := &v.keys[i]; len(k.vers) > 1 {
			v.dropOld(k)
			if n := len(k.vers); cap(k.vers) > 2*n+1 {
				k.vers = append(make([]version, 0, n+1), k.vers...)
			}
		}
	}
	v.trimmed = max(v.versions, 1<<12) // Trim does nothing with fewer
}

func (v *Verifier) dropReaders(w *version) {
	for i := w.readers; i >= 0; {
		next := v.readers[i].next
		v.readers[i].next = v.freeRead
		v.freeRead = i
		i = next
	}
	w.readers = -1
}

// verified removes the first transaction from the queue.
func (v *Verifier) verified(p *pending, reads int) {
	v.head++
	if v.beforeHead += p.before; v.beforeHead == len(v.before) {
		v.before, v.beforeHead = v.before[:0], 0
	}
	v.readHead += reads
	v.numRead += reads
}

// tidy frees the memory of the removed transactions.
func (v *Verifier) tidy() {
	saved.Drop(&v.queue, &v.head, 64)
	saved.Drop(&v.before, &v.beforeHead, 64)
	saved.Drop(&v.reads, &v.readHead, 256)
}

// dropVersions forgets the first n versions of a key.
func (v *Verifier) dropVersions(k *keyState, n int) {
	if n == 0 {
		return
	}
	for i := range k.vers[:n] {
		v.dropReaders(&k.vers[i])
		v.graves.version(k, i)
	}
	k.vers = k.vers[:copy(k.vers, k.vers[n:])]
	k.last -= int32(n)
	v.versions -= n
}

// dropLocks forgets locks that were released before a moment.
func (v *Verifier) dropLocks(k *keyState, before int64) {
	n := 0
	most := int64(-Forever)
	for _, m := range k.locks {
		if m.rel >= before {
			most = max(most, m.rel)
			m.maxRel = most
			k.locks[n] = m
			n++
		}
	}
	v.locks -= len(k.locks) - n
	k.locks = k.locks[:n]
}
