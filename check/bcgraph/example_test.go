package bcgraph_test

import (
	"fmt"
	"strings"

	"isovet/check/bcgraph"
	"isovet/level"
)

// Transactions come one after the other; the first violation is known with the one that completes it.
func ExampleGrowing() {
	const x, y = 0, 1
	read := func(key uint32, val uint64) bcgraph.Op { return bcgraph.Op{Key: key, Val: val} }
	write := func(key uint32, val uint64) bcgraph.Op { return bcgraph.Op{Write: true, Key: key, Val: val} }
	g := bcgraph.NewGrowing(nil) // keys hold 0 at first; all six levels
	for _, t := range []bcgraph.Txn{
		{ID: 1, Session: 0, Start: 10, End: 20, Ops: []bcgraph.Op{read(x, 0), read(y, 0), write(x, 7)}},
		{ID: 2, Session: 1, Start: 11, End: 21, Ops: []bcgraph.Op{read(x, 0), read(y, 0), write(y, 8)}},
		{ID: 3, Session: 1, Start: 22, End: 23, Ops: []bcgraph.Op{read(x, 7), read(y, 0)}},
	} {
		for _, l := range g.Add(&t) {
			v, _ := g.Violation(l)
			fmt.Printf("with %d %s fails:", t.ID, l)
			for _, e := range v.Cycle {
				fmt.Printf(" %d-%s->%d", e.From, strings.ToLower(e.Dep.String()), e.To)
			}
			fmt.Println()
		}
	}
	for _, l := range []level.Level{level.SnapshotIsolation, level.SessionSnapshotIsolation} {
		v, _ := g.Answer(l)
		fmt.Println(l, v)
	}
	fmt.Println("begins and commits:", g.Order(level.SnapshotIsolation))
	// Output:
	// with 2 serializable fails: 2-rw->1 1-rw->2
	// with 2 session-serializable fails: 2-rw->1 1-rw->2
	// with 2 strict-serializable fails: 2-rw->1 1-rw->2
	// with 3 session-snapshot-isolation fails: 3-rw->2 2-so->3
	// with 3 strict-snapshot-isolation fails: 3-rw->2 2-so->3
	// snapshot-isolation valid
	// session-snapshot-isolation violation
	// begins and commits: [2 4 3 6 5 7]
}
