// Package timestamp has the checkers that trust the database's timestamps: each transaction read at its start timestamp
// and installed its writes at its commit timestamp. That is a stricter question than that of the black-box checkers,
// because even if some order explains a history, the timestamps may give another. It takes the time of one sort and one
// sweep.
//
// # What is checked
//
// For snapshot isolation (CHRONOS, Definitions 4 to 6, with errata C1 to C9):
//
//   - SESSION (at the levels with sessions): a transaction does not start before the one before it in its session has
//     committed
//   - INT: a read after an own operation on its key agrees with that
//   - EXT: any other read is of the last version committed at or before the start
//   - NOCONFLICT: if two transactions write one key, one commits before the other starts, or at the same time
//
// At serializability everything happens at the commit timestamp, which no two writers share; a reader comes after the
// writer with the same timestamp. SESSION is the order of a session's commits, EXT demands the last version committed
// before, and there is no NOCONFLICT. With ReadOnlyAtStart a transaction without writes is placed at its start, as
// multi-version databases do.
//
// At equal timestamps come first the commits of transactions that started earlier, then starts, and the commits of
// those that start there too (errata C2). A transaction that commits before it starts has no place in any order: it is
// reported (TIMESTAMPS) and ignored (C5). Two writers with one commit timestamp, or a writer that starts where it
// commits, cannot come from such a database, and are an input error (C3). A transaction of unknown outcome counts as
// committed if and only if it has a commit timestamp.
//
// # Files
//
//   - events.go: the timeline: the sorted starts and commits
//   - chronos.go: the sweep, one function an axiom
//   - aion.go: the same online, for transactions in any order of arrival; aion_reads.go: its reads, judged again as
//     writers arrive; aion_sessions.go: the order of its sessions; aion_attach.go: streams that begin in the middle;
//     aion_state.go: the state of idle keys; feed.go: a history as such a stream
//   - emme.go: the baseline that builds the graph of the timestamps and looks for cycles
//   - violation.go: the report, and the kinds of EXT failures
//   - predicates.go: predicate reads, by counting matching rows
//
// Experimental: this package may still change.
package timestamp
