package mechanism

import "sort"

// none means that there is no transaction, or no operation.
const (
	none   = ^uint64(0)
	noneOp = ^uint32(0)
)

// version is a committed transaction's version of a key, with the exclusive lock of the write.
type version struct {
	// The commit is in [c, d]. If the outcome is unknown, d is Forever; of the initial version both are -Forever.
	c, d           int64
	maxC           int64 // the greatest c of this version and those before it in the list
	acqBef, acqAft int64 // its lock was acquired in this interval
	snapBef        int64 // the writer's snapshot is in [snapBef, snapAft]
	snapAft        int64
	val            uint64
	txn            uint64 // serial of the writer, none for the initial version and for writers of unknown outcome
	succ           uint64 // serial of the writer of the next version, if known, or none
	id             uint64 // the writer, as its traces name it
	op             uint32
	readers        int32 // list of the readers whose anti-dependency waits for succ
	open           bool  // its writer's outcome is unknown
}

// lock is a shared lock, or an exclusive one of a transaction that did not commit.
type lock struct {
	rel            int64 // released not before
	acqBef, acqAft int64
	maxRel         int64 // the greatest rel of this lock and those before it in the list
	txn, id        uint64
	op             uint32
	exclusive      bool
}

// keyState is the state of a key. Invariant: vers is sorted by d.
type keyState struct {
	vers  []version
	locks []lock
	last  int32 // the version with the latest c; -1: only the initial one
	// The list lengths at which the lists are pruned next.
	versLimit, locksLimit int32
	held                  uint64 // Options.Attach: the value when the traces began, if isHeld
	isHeld                bool
	buried                int64  // 1 + the number of its latest grave; 0: none
	doubt                 uint64 // bits of the values of versions that dropOpen has forgotten
	// The last transaction, while being put together, that wrote or read the key, and where it did.
	wrote, read     uint64
	wroteAt, readAt int32
}

// before counts the versions whose commits surely ended before a.
func (k *keyState) before(a int64) int {
	// Snapshots are mostly newer than all but a few versions.
	n := len(k.vers)
	for i := n - 1; i >= max(0, n-6); i-- {
		if k.vers[i].d < a {
			return i + 1
		}
	}
	n = max(0, n-6)
	return sort.Search(n, func(i int) bool { return k.vers[i].d >= a })
}

// find finds the version with a value among those that a snapshot in [a, b] may see. It returns its place, or -1, and
// whether others have the value too; with unique set it stops at the first.
//
// A version is surely overwritten at a iff its commit ended before the latest begin of a commit that ended before a:
// that is the paper's pivot, and what it calls garbage ([Leopard] §V-A, Theorem 2). Cost: one binary
// search and a step for each candidate.
func (k *keyState) find(val uint64, a, b int64, self uint64, unique bool) (at int, more bool) {
	i := k.before(a)
	if i > 0 {
		pivot := k.vers[i-1].maxC
		for i > 0 && k.vers[i-1].d >= pivot {
			i--
		}
	}
	at = -1
	for ; i < len(k.vers); i++ {
		if v := &k.vers[i]; v.val == val && v.c <= b && (v.txn != self || self == none) {
			if at >= 0 {
				return at, true
			}
			at = i
			if unique {
				break
			}
		}
	}
	return at, false
}

// until returns the last moment at which version i can have been the newest: the end of the first commit that is
// certainly later, with its place.
func (k *keyState) until(i int) (int64, int) {
	v := &k.vers[i]
	for j := i + 1; j < len(k.vers); j++ {
		if w := &k.vers[j]; w.c > v.d || v.succ != none && w.txn == v.succ {
			return w.d, j
		}
	}
	return Forever, -1
}

// install puts a version in its place and returns it.
func (k *keyState) install(v *version) int {
	i := len(k.vers)
	for i > 0 && k.vers[i-1].d > v.d {
		i--
	}
	v.maxC = v.c
	if i > 0 {
		v.maxC = max(v.c, k.vers[i-1].maxC)
	}
	k.vers = append(k.vers, *v)
	if i == len(k.vers)-1 {
		return i
	}
	copy(k.vers[i+1:], k.vers[i:])
	if int(k.last) >= i {
		k.last++
	}
	k.vers[i] = *v
	for j := i + 1; j < len(k.vers); j++ {
		k.vers[j].maxC = max(k.vers[j].maxC, v.c)
	}
	return i
}
