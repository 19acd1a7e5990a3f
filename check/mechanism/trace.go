package mechanism

import "math"

// Kind is the kind of a trace.
type Kind uint8

const (
	Begin      Kind = iota // the client is about to begin; Aft means nothing
	Read                   // of Key, which returned Val
	LockedRead             // a write's own read of the version that it replaces: the current one, whatever the snapshot
	Write                  // of Val to Key
	Statement              // a statement that touched no row; Val is 1 if it reads
	Commit                 // [Bef, Aft] contains the commit
	Abort                  // the transaction has no effect
	Unknown                // the client got no answer; the commit, if any, is not before Bef
)

// Forever is the end of an unbounded interval, -Forever the start.
const Forever = math.MaxInt64

// Trace is what a client saw of one operation ([Leopard] §IV-A): the interval in which it ran at the server, in ns of
// the client's clock, and what it did. A client's traces are in the order of their Bef, and a transaction's are Begin,
// operations, and an end, with no other transaction of the client between.
type Trace struct {
	Bef, Aft int64
	// Val names the version among those of the key; of a begin and an end it is the transaction, by the client's
	// choice, for reports.
	Val  uint64
	Key  uint32 // dense
	Op   uint32 // for reports; rows of one statement have the same
	Kind Kind
	at   uint32 // its place in the transaction, once it waits to be verified
}

// Txn returns the transaction of a begin or an end.
func (t *Trace) Txn() uint64 { return t.Val }
