// Package datasets makes histories: by running a workload on a store in memory with simulated time, with faults planted
// on request; from a catalogue of named anomalies; at random, for differential tests; and by constructions that are
// hard to check.
//
// Everything is deterministic: the same arguments give the same history, byte for byte.
//
// Files:
//
//   - generate.go: [Generate], a [Spec] to a history, by package workload (what clients do) and package store (what the
//     database does)
//   - anomalies.go: the catalogue of anomalies with their verdicts; those that can be planted are the faults
//   - random.go: [Tiny] and [Medium], random histories
//   - hard.go: hard instances by name
//   - sat.go: formulas to histories, serializable iff satisfiable
package datasets
