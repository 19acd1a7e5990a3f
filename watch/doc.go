// Package watch checks transactions online. A source delivers them as JSON lines. The watch writes each line to a
// segment log before it acknowledges it, a judge checks it, and the watch reports violations as they become final.
// There are three judges: AION uses the database's timestamps, Leopard uses client times and a profile of the
// database, and replay needs only client times.
//
// # Restart
//
// All results follow from the log: its lines in order, with the readings of the clock and the watermarks that it
// contains too. Every Config.Checkpoint the watch writes its state at a position in the log. After a kill it reads the
// latest checkpoint and judges the rest of the log as before. Each line in the log has its place in the source, so
// that the source resumes after the last one. A source repeats lines that were not acknowledged; the watch recognizes
// them by their places. Violations have numbers and go to a file of their own. After a restart the watch skips those
// that the file has, so that none is lost and none is repeated.
//
// # State
//
// The checkpoint must contain everything that determines findings or counts:
//
//   - of a judge: internal/freeze writes its whole value, so that new fields are included. Fields that a constructor
//     sets, such as options and functions, have the tag `freeze:"-"`, and so have fields that a method Thawed can
//     compute. Judge.Checkpoint puts files into the folder, as hard links or copies; their fields have the tag too.
//     Results must not depend on the order of a map's keys. TestCheckpoint compares a judge with one that is restored
//     again and again.
//   - of the loop: a field of manifest (checkpoint.go), written by writeState and read by resume.
//   - of a source: nothing. It is made anew from Places, which the log has. Line.Of tells streams apart if several
//     come through one source, such as partitions or producers.
//   - of what is made from violations: either it follows from their numbers and lines, which repeat if the file was cut
//     off, or it is a part of emittedState.
//
// # Back-pressure
//
// One goroutine takes a batch from the source, writes and syncs it, and acknowledges it. Meanwhile others parse lines
// with the reader of the history format, one batch for each core, and one goroutine judges the written batches in
// order. If a few batches are in progress, the watch takes no more from the source: a pipe fills, an HTTP request
// waits or gets "try again later", and a JetStream consumer does not pull.
//
// # Files
//
//   - judge.go: the interface of judges; transactions that a judge refuses
//   - batch.go: lines as the log stores them, and the transactions that the history format's reader makes from them
//   - aion.go, parse.go: timestamps, and a transaction to an arrival
//   - leopard.go: mechanisms; leopard_foreign.go: lines that are not judged; violation_proof.go: the text of a
//     violation, and whether its transactions prove one of the level
//   - replay.go: the judge `replay`; replay_bounded.go: with bounded memory; replay_early.go, replay_proof.go: its
//     early and proved violations
//   - live.go: the same in the process that runs the transactions, without lines
//   - log.go: the segment log; line_index.go: its lines by number; violation_file.go,
//     violation_file_rotation.go: the file of violations; incident.go: incidents; evidence.go, log_search.go,
//     aion_proof.go, leopard_proof.go: small histories of violations
//   - checkpoint.go: the state, written and read
//   - source.go: lines from a pipe; file.go, file_rotated.go: from files that grow and are rotated; http.go; nats.go;
//     package kafka; tls.go: certificates
//   - watch.go: the loop; judging.go: the judging goroutine
//   - gate.go: duplicates and quarantine; frontier.go: the progress of the stream; unit.go: the unit of timestamps;
//     suspects.go: reads that a late arrival may explain
//   - bounded.go: bounded memory; initial_pieces.go: initial transactions with very many keys
//   - metrics.go: counts for Prometheus
//
// Experimental: this package may still change.
package watch
