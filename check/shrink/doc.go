// Package shrink finds, in a history that violates a level, the smallest history that still does: transactions go
// first, then keys, operations, elements of lists and rows of predicates; at last what is left gets short names.
//
// # Why the result is evidence
//
// A read whose writer is taken away would be a read of a value that nobody wrote, a violation of our own making. So
// cuts go together: with a write go the reads that may have seen it, or its element in every read of the list, or its
// key from the range of every predicate that may have missed it there. Then an order that explains the whole explains
// the part, and what violates the level in the part does so in the whole. Every part is judged, and its answer
// certified, by the checker itself.
//
// # Steps
//
//   - part.go: what is left of a history, and which cuts go together; build.go: that as a history
//   - steer.go: jumps to the transactions that the evidence names, and the writers they rest on
//   - shrink.go: delta debugging (package internal/ddmin) of what the evidence did not decide
//   - names.go: keys a, b, c, small values, times by their ranks
//
// Experimental: this package may still change.
package shrink
