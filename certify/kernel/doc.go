// Package kernel is the Go port of isovet-kernel, function by function: what an order or a refutation has to be for its
// verdict to be proven. The functions are those of the development in proofs/, where their theorems stand (files
// Replay.v, Refutation.v, WeakOrder.v and Weak.v, which each function here names); this port is tested against the
// extracted kernel, and is not itself proven. docs/kernel-format.md describes histories, orders and steps.
//
// It knows nothing of isovet's histories: package certify/elaborate writes them in its terms.
//
// Experimental: this package may still change.
package kernel
