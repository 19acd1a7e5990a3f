// Package timestamp has the checkers that trust the database's timestamps: each transaction read at its start timestamp
// and installed its writes at its commit timestamp. That answers a stricter question than the black-box checkers', in
// the time of one sort and one sweep: a history that some order explains may have been run in another order than the
// timestamps tell.
//
// # What is checked
//
// Of snapshot isolation (CHRONOS, Definitions 4 to 6, with errata C1 to C9):
//
//   - SESSION (at the levels with sessions): a transaction starts not before the one before it in its session has
//     committed
//   - INT: a read behind an own operation on its key agrees with that
//   - EXT: any other read is of the last version committed at or before the start
//   - NOCONFLICT: of two transactions that write one key, one commits not after the other starts
//
// At serializability everything happens at the commit timestamp, which no two writers share; a reader comes after the
// writer with the same timestamp. SESSION is the sessions' order among these, EXT asks for the last version committed
// before, and there is no NOCONFLICT. With ReadOnlyAtStart a transaction without writes is placed at its start, which
// is where multi-version databases place it.
//
// At equal timestamps: commits of transactions that started earlier, then starts, and those that start and commit there
// (errata C2). A transaction that commits before it starts has no place in any order: it is reported (TIMESTAMPS) and
// takes no further part (C5). Two writers with one commit timestamp, or a writer that starts where it commits, are no
// history of such a database, and an input error (C3). Transactions of unknown outcome count as committed exactly if
// they have a commit timestamp.
//
// # Files
//
//   - events.go: the timeline: who starts and commits when, sorted
//   - chronos.go: the sweep, one function an axiom
//   - aion.go: the same online, transactions in any order of arrival; aion_reads.go: its reads, judged and judged
//     again; aion_sessions.go: the order of its sessions; feed.go: a history as such a stream
//   - emme.go: the baseline that builds the graph that the timestamps imply and looks for cycles
//   - violation.go: what is reported, and the kinds of EXT failures
//   - predicates.go: predicate reads, by counting what matches
//
// Experimental: this package may still change.
package timestamp
