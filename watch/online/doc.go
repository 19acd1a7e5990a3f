// Package online decides serializability and snapshot isolation of a stream of transactions by client times alone, in
// memory that does not grow with the stream.
//
// # The method
//
// Transactions wait until the watermark has passed their ends and then stand in the order of these, which keeps real
// time. As each is placed at the end of the order, its reads are compared with what the order has there: a cell a key.
// A contradicting read makes a window: the end of the order from where another order of the same
// transactions may explain the read. The window is given to package replay as a history of its own, the state at its
// begin an initial transaction, and takes the order that is found; what stands before it is left as it is, so that real
// time, sessions and reads between the two stay right. Where there is none the window grows. So the order at hand is at
// any time a proof that all reads but those that were told of, or wait for a writer, are right.
//
// # Why no contradicting read is a proof
//
// A window without an order shows nothing, since what stands before it may have another one. Of its transactions, and
// of the writers of what they read, a history is made (a part, as in package plan of check/spill) that violates the
// level only if the whole does. Only if that has no order is there a violation. Else the window grows until it holds
// all that is remembered. If that has no order beside what is forgotten, and is no violation by itself, it is reported
// that the read is undecided.
//
// # What is forgotten
//
// Of the order, the last Options.Horizon transactions are remembered, and of those before what each key held in the
// end, and for a while the writers of overwritten versions. So an order is fixed from its begin: at the strict levels
// nothing that still may come can stand before it, at the others something might, and is undecided then.
//
// # Unknown outcomes
//
// A transaction of unknown outcome stands in a pool until a read sees what it may have written; windows then have it as
// one that may count. A transaction that came late stands there too, without its reads.
//
// Files: engine.go: arrivals, the watermark; place.go: the order and its cells; window.go: windows; part.go: parts;
// waiting_reads.go: reads that wait for a writer; absent_writers.go: writers that are not in the stream; forget.go:
// what is forgotten; unknown_pool.go: unknown outcomes; local_window.go: windows in the midst.
//
// Sources: the order by replay is docs/checkers/replay.md; that a prefix can be fixed once the watermark has passed is
// what Vbox leaves as future work (§8).
//
// Experimental: this package may still change.
package online
