// Package collect runs transactions of many client sessions against a real database. It records what the clients saw
// and when, as a history that isovet's checkers read.
//
//	import _ "isovet/collect/driver/sqlite" // or driver/all
//	…
//	r, err := collect.Run(ctx, collect.Config{DB: []string{"sqlite:"}, Workload: "smallbank", Txns: 10000})
//	…
//	err = format.Write("h.jsonl", r.History, "auto", false)
//
// There are three ways to choose the transactions, from the least work to the most freedom:
//
//   - Config.Workload names one of those that the in-memory store runs too (package datasets/workload);
//   - Config.Custom is a workload of your own: tables, and a small step machine for each client;
//   - Config.Own is a file of your own SQL statements on your own tables (package sqlwork).
//
// Package record is for transactions that your own program runs with its own client library on its own tables.
//
// # What is recorded
//
// The recording has every attempt at a transaction with its session and its times from one monotonic clock, in
// nanoseconds since the run began: just before the begin was sent, just before the commit or rollback was sent, and
// just after its answer. Operations have such times too. If the database refuses a transaction, it is recorded as
// aborted with the operations that were answered, and the session tries it again with the same parameters and new
// unique values. If the connection is lost after the commit was sent, or the database does not know, the outcome is
// unknown, and the session goes on with a new transaction. The initial transaction has the loaded versions of the rows
// that the run touched.
//
// # Files
//
// collect.go a run and its configuration; client.go one session; log.go the logs of sessions, and the history made of
// them; live.go pieces of the history during the run; fault.go kill, pause; watchdog.go calls that never come back;
// summary.go the summary of a run; schedule.go scripts for a few sessions, step by step. Packages below: hunt runs and
// checks until a violation is found; probe tells which anomalies a database allows at each of its isolation levels;
// campaign hunts through a table; driver speaks with databases, server starts throw-away ones.
//
// Experimental: this package may still change.
package collect
