// Package spill decides serializability and snapshot isolation of histories that memory does not hold, on one machine,
// by the plan of package plan: files on disk in place of memory, all of them read from one end to the other.
//
// # The steps
//
//  1. Every piece of the history is read once. Operations go to chunks, by partitions of the keys; what sessions are
//     checked by goes to a file of its own.
//  2. Each partition is replayed in the order of the clients' ends. Reads that do not see the last version before them
//     contradicting read. Where none does, and sessions are kept where the level asks for it, that order is the proof.
//  3. The writers of contradicting reads make windows: stretches of the order that some order of their
//     transactions
//     may mend. They are read again, and solved by package replay, the rest of the order being fixed. What then stands
//     elsewhere is an exception to the rule; the keys of exceptions are replayed again.
//  4. Transactions of a window that has no order are told as a history of their own, with the writers of what they
//     read. If
//     that violates the level, so does the whole, and the proof is certified against it. Else the window grows.
//
// Chronos takes the first two steps alone: the database's timestamps are the order, there are no windows.
//
// # Memory
//
// An eighth of what is given goes to the chunks of a partition that overlap in time (there are the more partitions the
// more do), a tenth to contradicting reads, an eighth to the transactions of windows. What does not grow with memory
// but with the history is a bit a transaction, 80 bytes a chunk (some 8,000 transactions and a partition), and the
// cells of a partition's keys.
//
// Files: engine.go: the steps; files.go: what lies on disk; decide.go: rounds; solve.go: windows; slices.go:
// stretches that are too large for one; refute.go and proof.go: proofs of violations; resume.go: what a check that
// was stopped goes on with; disk.go: how much room there is; density.go: how many transactions a stretch has;
// gather.go: transactions that are read again; input.go: what is read; timeless.go: those without times; whole.go:
// histories that are one window; levels.go: checkers and their levels; sweep.go and stamps.go: chronos.
//
// Experimental: this package may still change.
package spill
