// Package store is a database in memory with simulated time. It runs a workload with many client sessions at an
// isolation level and logs what the clients saw. The same configuration and seed give the same log, byte for byte.
//
// # Simulation
//
// A heap has, for each session, the time at which its next operation reaches the server. Times are nanoseconds; each
// session draws its network, service and think times from its own generator, so that transactions of all sessions
// overlap. An operation takes effect when it is taken from the heap, or when the lock that it waited for is granted.
// Its client interval also includes the network on both sides. There are no goroutines.
//
// # Isolation
//
//   - Serializable: strict two-phase locking. Reads take shared, writes exclusive row locks, all held to the end; first
//     come first served, upgrades first; the request that would close a cycle of waits is refused.
//   - SerializableSnapshot: snapshot isolation. In addition, a transaction with an incoming and an outgoing
//     anti-dependency to concurrent transactions is refused if the latter transaction has committed (Cahill, Röhm,
//     Fekete, SIGMOD 2008; which transaction to refuse is the rule of Ports and Grittner, VLDB 2012, without their
//     read-only optimisation).
//   - Snapshot: reads as of the first operation; write locks to the end; first updater wins.
//   - RepeatableRead: two-phase locking of rows without range locks, which allows phantoms.
//   - ReadCommitted: reads the last committed version; write locks to the end.
//   - ReadUncommitted: reads the last version, committed or not; write locks to the end.
//
// Operations with conditions (SELECT, UPDATE, DELETE … WHERE, on tables with columns) find rows through sorted indexes
// of all versions, committed and pending. At Serializable they lock the condition itself: a write that would move a
// row into its range or out of it waits (predicate locks: Eswaran, Gray, Lorie, Traiger, CACM 1976), and the condition
// waits for rows with such a pending write. At RepeatableRead only the rows found are locked. At SerializableSnapshot
// conditions leave marks, as reads of rows do. At Snapshot and below, an update locks only the rows that it finds; at
// ReadCommitted it evaluates rows with a newer version again.
//
// The session of a refused transaction tries it again with the same parameters and new values.
//
// # Faults
//
// A Script is a few transactions with fixed reads and writes. When a chosen number of transactions has committed,
// sessions that become free are held back, one for each session of the script. The script then runs in one step on
// keys that nobody has locked, and all sessions go on. Its transactions look like any others to the rest of the run;
// to a checker they are exactly the anomaly of the script (package datasets, anomalies).
//
// Alternatively a part of the concurrency control fails once for a transaction: a version, a lock, the first updater,
// the certifier (broken.go). Which anomaly follows depends on the run.
//
// Files: store.go configuration and the loop; session.go a client's transaction; where.go operations with conditions;
// sorted.go the indexes; locks.go two-phase locking; ssi.go anti-dependency tracking; script.go faults; log.go the log.
//
// Experimental: this package may still change.
package store
