// Package watch checks transactions online: a source delivers them as JSON lines, each is written to a segment log
// before it is acknowledged, a judge takes it, and violations come out as they become final. There are two judges:
// AION, by the database's timestamps, and Leopard, by client times and a profile of the database.
//
// # Restart
//
// The log is the truth: everything is a function of the lines in its order, the watermark included, for what the clock
// says stands in the log too. Every Config.Checkpoint the state is written as of a place in the log. After a kill the
// watch reads the latest checkpoint, feeds the rest of the log to the judge as before, and goes on where the log ends.
// A line stands in the log with its place in the source, so that the source is resumed behind the last one; what was
// written and not acknowledged is delivered again and recognized by its place. Violations are numbered and appended to
// a file of their own; a restart leaves out as many as stand there already. So none is lost and none comes twice.
//
// # State
//
// Whatever decides what is found, or is counted, belongs into the checkpoint:
//
//   - of a judge: internal/freeze writes its whole value, so that a new field is there by itself. What a constructor
//     sets, such as options and functions, is tagged `freeze:"-"`, and so is what can be made again, in a method
//     Thawed. What lives in files is put into the folder by Judge.Checkpoint, as a hard link or a copy, and tagged.
//     Maps must not be gone through in an order that shows. TestCheckpoint compares a judge with one that is restored
//     again and again.
//   - of the loop: a field of manifest (checkpoint.go), written by writeState and read by resume.
//   - of a source: nothing. A source is made anew behind Places, which the log has; where several streams come through
//     it, such as partitions or producers, Line.Of names them.
//   - of what is made from violations: a function of their numbers and lines, which repeat where the file has
//     been
//     cut off; or a part of emittedState.
//
// # Back-pressure
//
// One goroutine takes a batch from the source, writes and syncs it, and acknowledges it. Meanwhile others read its
// lines with the reader of the history format, as many batches at once as there are cores, and one judges those that
// are written, in their order. A few batches are under way at most; then the source is not asked for more: a pipe
// fills, an HTTP request waits and then gets the answer to come later, a JetStream consumer is not pulled.
//
// # Files
//
//   - judge.go: the interface of judges; what is refused before it is taken
//   - batch.go: lines as they stand in the log, and what the history format's reader makes of them
//   - aion.go, parse.go: timestamps, and a transaction to an arrival
//   - leopard.go: mechanisms; leopard_foreign.go: lines that are not judged; violation_proof.go: what a
//     violation is in words, and whether its transactions prove one of the level
//   - live.go: the same in the process that runs the transactions, without lines
//   - log.go: the segment log; line_index.go: its lines by number; violation_file.go,
//     violation_file_rotation.go: the file of violations; incident.go: what they come to; evidence.go, log_search.go,
//     aion_proof.go, leopard_proof.go: small histories of them
//   - checkpoint.go: the state, written and read
//   - source.go: lines from a pipe; file.go, file_rotated.go: from files that grow and are rotated; http.go; nats.go;
//     package kafka; tls.go: certificates
//   - watch.go: the loop; judging.go: its second goroutine
//   - gate.go: duplicates, and what is far ahead of everything else; frontier.go: how far the stream has got;
//     unit.go: what timestamps are; suspects.go: reads that a late arrival may explain
//   - bounded.go: what there is no memory for; initial_pieces.go: initial transactions with very many keys
//   - metrics.go: counts for Prometheus
//
// Experimental: this package may still change.
package watch
