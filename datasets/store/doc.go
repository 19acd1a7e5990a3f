// Package store is a database in memory with simulated time: it runs a workload with many client sessions at a chosen
// isolation level and logs what the clients saw. The same configuration and seed give the same log, byte for byte.
//
// # Simulation
//
// One heap holds, for each session, the moment at which its next operation reaches the server. Time is nanoseconds;
// network, service and think times are drawn from the session's own generator, so that the transactions of all sessions
// overlap. An operation takes effect at the moment it is taken from the heap (or when the lock that it waited for is
// granted); its client interval is wider by the network on both sides. There are no goroutines.
//
// # Isolation
//
//   - Serializable: strict two-phase locking. Reads take shared, writes exclusive row locks, all held to the end; first
//     come first served, upgrades first; the request that would close a cycle of waits is refused.
//   - SerializableSnapshot: snapshot isolation, and a transaction with both an incoming and an outgoing anti-dependency
//     to concurrent transactions is refused once the latter has committed (Cahill, Röhm, Fekete, SIGMOD 2008; the rule
//     for whom to refuse is that of Ports and Grittner, VLDB 2012, without its read-only optimisation).
//   - Snapshot: reads as of the first operation; write locks to the end; first updater wins.
//   - RepeatableRead: the same without range locks, hence with phantoms: two-phase locking of rows only.
//   - ReadCommitted: reads the last committed version; write locks to the end.
//   - ReadUncommitted: reads the last version, committed or not; write locks to the end.
//
// Operations with conditions (SELECT, UPDATE, DELETE … WHERE, on tables with columns) find rows through sorted indexes
// of all versions, kept and pending. At Serializable the condition itself is locked: who would make a row come into its
// range or leave it waits (predicate locks: Eswaran, Gray, Lorie, Traiger, CACM 1976), and the condition waits for rows
// that are about to. At RepeatableRead only the rows found are locked. At SerializableSnapshot conditions leave marks
// as reads of rows do. At Snapshot and below only the rows found by an update are locked, those of a newer version at
// ReadCommitted being looked at again.
//
// A transaction refused is retried by its session with the same parameters and new values.
//
// # Faults
//
// A Script is a handful of transactions whose reads and writes are fixed beforehand. Once a chosen number of
// transactions has committed, sessions that come free are held back, one for each session of the script, and the script
// runs as one step on keys that nobody has locked; then everybody goes on. To the other transactions it is a set of
// ordinary transactions, to a checker it is exactly the anomaly of the script (see package datasets, anomalies).
//
// Or a part of the concurrency control fails once for a transaction: a version, a lock, the first updater, the
// certifier (broken.go). What follows from that is up to the run.
//
// Files: store.go configuration and the loop; session.go a client's transaction; where.go operations with conditions;
// sorted.go the indexes; locks.go two-phase locking; ssi.go anti-dependency tracking; script.go faults; log.go what is
// recorded.
//
// Experimental: this package may still change.
package store
