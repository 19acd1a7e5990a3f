// Package proofs holds the development in Rocq (Coq 8.16) on which isovet-kernel rests: what the levels mean, and that
// an order or a refutation that the kernel accepts proves them held or broken. docs/trust.md says what that covers, and
// docs/kernel-format.md what the kernel reads. "make proofs" checks the proofs and builds the kernel into this folder.
//
// There is no Go code but the tests.
//
// Experimental: this package may still change.
package proofs
