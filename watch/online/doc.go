// Package online decides serializability and snapshot isolation of a stream of transactions from client times only, in
// bounded memory.
//
// # The method
//
// The engine keeps an order of transactions. A transaction waits until the watermark has passed its end; the engine
// then places it at the end of the order, so that the order respects real time. It compares the transaction's reads
// with the latest versions in the order, which it keeps in a cell for each key. If a read contradicts the order, a
// window at the order's end may have another order that explains the read. Package replay solves the window as a
// history whose initial transaction writes the values at the window's begin. The new order replaces the old one within
// the window and leaves the rest alone, so that real time, sessions and reads between the two stay right. If there is
// none, the window grows. So the order always proves all reads, except those that were reported or wait for a writer.
//
// # Why no contradicting read is a proof
//
// A window without an order proves nothing, since the transactions before it may have another order. The engine then
// makes a part (as package plan of check/spill does): a history of the window's transactions and the writers of their
// reads, which violates the level only if the whole stream does. If the part has no order, there is a violation.
// Otherwise the window grows until it has all transactions in memory. If then the window has no order and the part has
// one, the read is reported as undecided.
//
// # What is forgotten
//
// The engine remembers the last Options.Horizon transactions of the order. Of earlier ones it remembers the last value
// of each key and, for a while, the writers of overwritten versions. So the beginning of the order is fixed. At the
// strict levels no later arrival can belong there; at the other levels one might, and a read that needs it is
// undecided.
//
// # Unknown outcomes
//
// A transaction of unknown outcome waits in a pool until a read sees a value that it may have written. Windows then
// contain it as a transaction that may have committed. A late transaction is in the pool too, without its reads.
//
// Files: engine.go: arrivals, the watermark; place.go: the order and its cells; window.go: windows; part.go: parts;
// waiting_reads.go: reads that wait for a writer; absent_writers.go: writers that are not in the stream; forget.go:
// dropping old transactions; unknown_pool.go: unknown outcomes; local_window.go: windows inside the order.
//
// Sources: the order by replay is docs/checkers/replay.md; fixing a prefix once the watermark has passed it is future
// work in Vbox (§8).
//
// Experimental: this package may still change.
package online
