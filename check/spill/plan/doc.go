// Package plan is the algorithm that checks a history larger than memory, as functions of parts that fit. Its callers
// run these on one machine with files, or on many.
//
// # The rule
//
// Transactions stand in the order of their clients' ends, or starts where they have no end, and of their places in the
// history where these are equal ([Pos]). At the snapshot levels each reads and commits at that one point. Those of
// unknown outcome are left out, unless a read that counts can be explained by them alone; then they stand behind their
// start, before that read. A transaction that stands elsewhere is an exception ([Move]).
//
// # Why no contradicting read is a proof
//
// The rule with its exceptions is a total order. [Mapper] checks that no committed transaction contradicts itself, and
// passes on each first read of a key that comes before own writes, and each last write of a key. [Replay] compares each
// such read with the last write of its key by a transaction that counts, as values: aborted, intermediate and unwritten
// values are never there. Real time is kept, since who ended before another began has an earlier end, and windows,
// which are all transactions between two places of the order, are solved with their real time; sessions are checked by
// [Sessions]. At the snapshot levels transactions that read and commit at one point conflict with nobody; those of a
// window are solved with their conflicts, and nobody else stands in it.
//
// # Why a proof of a violation is one
//
// [Part] leaves out transactions together with the reads that saw what they wrote. An order of the whole, restricted
// to the part, is an order of the part.
//
// Files: pos.go: places and values; chunk.go: how operations are written; mapper.go: from transactions to chunks;
// merge.go: chunks in their order; replay.go: contradicting reads, and their writers; windows.go: from
// contradicting reads to windows; solve.go: an order for a window; states.go: what keys hold before it; txn.go: whole
// transactions, and chunks of exceptions; refute.go: parts; stamps.go, sweep.go: where the order is that of the
// database's timestamps.
//
// Experimental: this package may still change.
package plan
