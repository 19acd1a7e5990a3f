// Package shrink finds, in a history that violates a level, the smallest history that still does. It removes
// transactions first, then keys, operations, elements of lists and rows of predicates. At last it gives the rest short
// names.
//
// # Why the result is evidence
//
// If only the writer of a read were removed, the read would see a value that no transaction wrote: a violation made by
// isovet. So cuts go together. With a write go the reads that may have seen it, or its element in every read of the
// list, or its key from the range of every predicate that may have missed it there. Then an order that explains the
// whole explains the part, so that a violation of the part is one of the whole. The checker itself judges every part,
// and certifies its answer.
//
// # Steps
//
//   - part.go: the rest of a history, and which cuts go together; build.go: the rest as a history
//   - steer.go: jumps to the transactions that the evidence names, and their writers
//   - shrink.go: delta debugging (package internal/ddmin) of what the evidence did not decide
//   - names.go: keys a, b, c, small values, times by their ranks
//
// Experimental: this package may still change.
package shrink
