// Package spill decides serializability and snapshot isolation of histories larger than memory, on one machine, by the
// plan of package plan. It keeps its data in files, and reads each file from one end to the other.
//
// # The steps
//
//  1. Every piece of the history is read once. Operations go to chunks, by partitions of the keys. The data for the
//     check of sessions goes to a file of its own.
//  2. Each partition is replayed in the order of the clients' ends. A read that does not see the last version before it
//     is a contradicting read. If there are none, and sessions are kept where the level demands it, that order is the
//     proof.
//  3. The writers of contradicting reads make windows: stretches of the order that another order of their transactions
//     may mend. Package replay solves each, with the rest of the order fixed. A transaction that moves is an exception
//     to the rule. The keys of exceptions are replayed again.
//  4. If a window has no order, its transactions become a history of their own, with the writers of their reads. If
//     that violates the level, so does the whole, and the proof is certified against it. Else the window grows.
//
// Chronos only takes the first two steps: the database's timestamps are the order, and there are no windows.
//
// # Memory
//
// An eighth of the memory is for the chunks of a partition that overlap in time (the more overlap, the more partitions
// there are), a tenth for contradicting reads, an eighth for the transactions of windows. The rest grows with the
// history: a bit a transaction, 80 bytes a chunk (some 8,000 transactions and a partition), and the cells of a
// partition's keys.
//
// Files: engine.go: the steps; files.go: the files on disk; decide.go: rounds; solve.go: windows; slices.go: stretches
// that are too large for one; refute.go and proof.go: proofs of violations; resume.go: continues a stopped check;
// disk.go: free space; density.go: how many transactions a stretch has; gather.go: reads transactions again; input.go:
// the input; timeless.go: transactions without times; whole.go: histories that are one window; levels.go: checkers and
// their levels; sweep.go and stamps.go: chronos.
//
// Experimental: this package may still change.
package spill
