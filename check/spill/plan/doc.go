// Package plan is the algorithm that checks a history larger than memory, as functions on parts that fit. Its callers
// run these on one machine with files, or on many.
//
// # The rule
//
// Transactions are ordered by their clients' ends, or starts if they have no end, and by their places in the history if
// these are equal ([Pos]). At the snapshot levels each reads and commits at that one point. Those of unknown outcome
// are left out, unless they alone explain a read that counts; then they come after their start and before that read. A
// transaction with another position is an exception ([Move]).
//
// # Why no contradicting read is a proof
//
// The rule with its exceptions is a total order. [Mapper] checks that no committed transaction contradicts itself, and
// passes on the reads of a key that come first in their transaction, and the last writes. [Replay] compares each such
// read with the last write of its key by a counting transaction, as values; it never finds aborted, intermediate or
// unwritten values. Real time is kept, because a transaction that ended before another began has an earlier end, and
// windows, which have all transactions between two places, are solved with their real time. [Sessions] checks session
// order. At the snapshot levels transactions that read and commit at one point conflict with no others. Those of a
// window are solved with their conflicts, and no others are in it.
//
// # Why a proof of a violation is one
//
// [Part] leaves out transactions together with the reads of their writes. An order of the whole, restricted to the
// part, is an order of the part.
//
// Files: pos.go: places and values; chunk.go: the format of operations; mapper.go: from transactions to chunks;
// merge.go: chunks in their order; replay.go: contradicting reads; writers.go: their writers; windows.go: from
// contradicting reads to windows; solve.go: an order for a window; slice.go: for a slice; states.go: the values of keys
// before it; txn.go: whole transactions, and chunks of exceptions; refute.go: parts; stamps.go, sweep.go: for the order
// of the database's timestamps.
//
// Experimental: this package may still change.
package plan
