// Package datasets makes histories: by running a workload on a store in memory with simulated time, with faults planted
// on request; and from a catalogue of named anomalies. Random histories for differential tests, and those that are hard
// to check, are in internal/test/histtest.
//
// Everything is deterministic: the same arguments give the same history, byte for byte.
//
// Files:
//
//   - generate.go: [Generate], a [Spec] to a history, by package workload (what clients do) and package store (what the
//     database does)
//   - catalogue.go: anomalies with their verdicts, from the tables beside it; those that can be planted are the faults
//   - anomalies.go, synthesized.go: their notations, made histories
//
// Experimental: this package may still change.
package datasets
