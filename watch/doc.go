// Package watch checks transactions online: a source delivers them as JSON lines, each is written to a segment log
// before it is acknowledged, a judge takes it, and violations come out as they become final. There are two judges:
// AION, by the database's timestamps, and Leopard, by client times and a profile of the database.
//
// # Restart
//
// The log is the state. Who is killed and starts again reads the log, feeds it to the judge as before, and goes on
// where it ends: everything is a function of the lines in the order of the log, the watermark included, for what the
// clock says stands in the log too. A line stands
// in the log with its place in the source, so that the source is resumed behind the last one; what was written and not
// acknowledged is delivered again and recognized by its place. Violations are numbered and appended to a file of their
// own; a restart leaves out as many as stand there already. So none is lost and none comes twice.
//
// # Back-pressure
//
// One goroutine takes a batch from the source, writes and syncs it, and acknowledges it. Meanwhile others read its
// lines with the reader of the history format, as many batches at once as there are cores, and one judges those that
// are written, in their order. A few batches are under way at most; then the source is not asked for more: a pipe
// fills, an HTTP request waits for its answer, a JetStream consumer is not pulled.
//
// # Files
//
//   - judge.go: the interface of judges
//   - batch.go: lines as they stand in the log, and what the history format's reader makes of them
//   - aion.go, parse.go: timestamps, and a transaction to an arrival
//   - leopard.go: mechanisms; witness.go: what a violation is in words, and whether its transactions prove one of the
//     level
//   - live.go: the same in the process that runs the transactions, without lines
//   - log.go: the segment log; emitted.go: the file of violations
//   - source.go: lines from a pipe or a growing file; http.go; nats.go
//   - watch.go: the loop
//   - gate.go: what comes again, and what is far ahead of everything else; frontier.go: how far the stream has got;
//     unit.go: what timestamps are; suspects.go: reads that may still turn out right
//   - metrics.go: counts for Prometheus
//
// Experimental: this package may still change.
package watch
