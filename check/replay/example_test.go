package replay_test

import (
	"context"
	"fmt"

	"isovet/check/prepass"
	"isovet/check/replay"
	"isovet/internal/test/histtest/notation"
	"isovet/level"
	"isovet/solver"
)

// Two transactions read both keys and write one each, so that each must be before the other: no serial order explains
// it. Under snapshot isolation both may begin before either commits.
func ExampleRun() {
	h := notation.MustParse("init=0: s1: r(x,0) r(y,0) w(x,1) | s2: r(x,0) r(y,0) w(y,1)")
	v := prepass.Run(h)
	for _, l := range []level.Level{level.Serializable, level.SnapshotIsolation} {
		a, err := replay.Run(context.Background(), v, replay.Options{Level: l})
		if err != nil {
			fmt.Println(err)
			return
		}
		if a.Status == solver.Unsat {
			fmt.Println(l, "no:", len(a.Seed), "transactions contradict each other")
			continue
		}
		fmt.Print(l, " yes:")
		for _, e := range a.Order {
			fmt.Printf(" %s%d", []string{"begin", "commit"}[e&1], h.Txns.ID[e>>1])
		}
		fmt.Println()
	}
	// Output:
	// serializable no: 2 transactions contradict each other
	// snapshot-isolation yes: begin1 begin2 commit1 commit2
}
