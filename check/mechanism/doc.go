// Package mechanism is Leopard: it verifies isolation by mirroring, over the clients' time intervals, what a database
// does inside to keep its promise.
//
// # What is verified
//
// Four mechanisms, of which each isolation level of each database uses some (a [Profile] says which):
//
//   - Consistent read (consistent_read.go): a read returns a version that was visible at its snapshot, and all reads of
//     one snapshot return what was visible at one moment.
//   - Mutual exclusion (mutual_exclusion.go): two transactions never hold conflicting locks of a row at once.
//   - First updater wins (first_updater.go): of two transactions that wrote a row, one had committed when the other
//     took its snapshot.
//   - Serialization certifier (certifier.go): the dependencies that the other three deduce have no cycle.
//
// No moment inside the database is known, only intervals that contain it: between sending a statement and getting its
// answer. A mechanism fails where no choice of moments is right. Each deduces dependencies too, where only one order of
// two moments is possible, and hands them to the others; every dependency says how it was deduced ([Reason]).
//
// # What a violation is worth
//
// It is relative to the profile: such snapshots, such locks, clocks that differ by no more than Options.Skew. A wrong
// profile is a false alarm. So a [Violation] names its mechanism and its assumption, and package check, not this one,
// turns it into a verdict where the history proves it without the profile. No violation found proves nothing either.
//
// # Where the paper is not followed (errata L1 to L12)
//
// Versions become visible in their commit's interval, not their write's (L1). A transaction is verified once all
// commits that its snapshots could see have been dispatched (L2). The profile says when a snapshot is taken (L3, L4)
// and which level uses which mechanism (L5). Locks pair to wr, rw or ww by their kinds (L6). A version is found by
// binary search over commits in the order of their ends, with the greatest begin so far beside each, not by a walk
// (L7). Of aborted transactions, the last write does not count as having held its lock (L8). The certifier looks for
// cycles; PostgreSQL's own rule is an option that only warns (L9). The pipeline bounds idle and finished clients (L10).
// Only what no unverified transaction can see is forgotten (L11).
//
// # Steps and files
//
// Clients make traces (trace.go). The pipeline (pipeline.go) merges them by begin. The verifier (verifier.go)
// puts transactions together, installs the versions of those that committed (versions.go), and verifies each as soon
// as that is right. Whole transactions that arrive one after the other are put in order by online.go; suspects.go is
// about those that come too late, stream.go makes traces of pieces of a history. verifier_prune.go forgets; state.go
// takes out what is known of idle keys, and puts it back. graveyard.go remembers the names of what was forgotten.
// profile.go and profiles.jsonl have the profiles, offline.go turns a history into traces, report.go says what was
// found.
//
// Experimental: this package may still change.
package mechanism
