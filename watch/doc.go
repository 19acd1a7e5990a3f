// Package watch checks transactions online: a source delivers them as JSON lines, each is written to a segment log
// before it is acknowledged, a judge takes it, and violations come out as they become final. There are two judges:
// AION, by the database's timestamps, and Leopard, by client times and a profile of the database.
//
// # Restart
//
// The log is the state. Who is killed and starts again reads the log, feeds it to the judge as before, and goes on
// where it ends: everything is a function of the lines in the order of the log, the watermark included. A line stands
// in the log with its place in the source, so that the source is resumed behind the last one; what was written and not
// acknowledged is delivered again and recognized by its place. Violations are numbered and appended to a file of their
// own; a restart leaves out as many as stand there already. So none is lost and none comes twice.
//
// # Back-pressure
//
// One loop takes a batch from the source, writes and syncs it, acknowledges it, and checks it. The source is not asked
// for more meanwhile: a pipe fills, an HTTP request waits for its answer, a JetStream consumer is not pulled.
//
// # Files
//
//   - judge.go: the interface of judges
//   - aion.go, parse.go: timestamps, and a line of the history format to an arrival
//   - leopard.go: mechanisms; witness.go: what a violation is in words, and whether its transactions prove one of the
//     level
//   - live.go: the same in the process that runs the transactions, without lines
//   - log.go: the segment log; emitted.go: the file of violations
//   - source.go: lines from a pipe or a growing file; http.go; nats.go
//   - watch.go: the loop
//   - metrics.go: counts for Prometheus
//
// Experimental: this package may still change.
package watch
