// Package kernel is the Go port of isovet-kernel, function by function. It checks orders and refutations; one that
// passes proves its verdict. The functions and their theorems are those of proofs/ (files Replay.v, Refutation.v,
// WeakOrder.v and Weak.v; each function here names its file). This port is tested against the extracted kernel, and is
// not itself proven. docs/kernel-format.md describes histories, orders and steps.
//
// It knows nothing of isovet's histories: package certify/elaborate translates them.
//
// Experimental: this package may still change.
package kernel
