// Package datasets makes histories. It runs workloads on a store in memory with simulated time, with planted faults if
// requested, and it has a catalogue of anomalies. Random histories for differential tests, and histories that are hard
// to check, are in internal/test/histtest.
//
// Everything is deterministic: the same arguments give the same history, byte for byte.
//
// Files:
//
//   - generate.go: [Generate], from a [Spec] to a history, with package workload (what clients do) and package store
//     (what the database does)
//   - catalogue.go: anomalies with their verdicts, from tables in the folder; those that can be planted are the faults
//   - anomalies.go, synthesized.go: the notations of anomalies, converted to histories
//
// Experimental: this package may still change.
package datasets
