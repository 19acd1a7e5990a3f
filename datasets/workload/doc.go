// Package workload holds what clients do, as data and small step machines: which tables are loaded, which transactions
// are drawn, which operations a transaction sends next once the answers to the earlier ones are there.
//
// A workload knows nothing of what runs it. The in-memory store of package store drives one in simulated time; a
// collector drives the same one against a real database. Both do the following for each client session:
//
//	c := w.Client(session, rng)
//	c.Next(t)                      draw a transaction: template and parameters, into t.Name, t.Args
//	t.Reset()                      begin an attempt (again after an abort: same parameters)
//	for {
//		n := len(t.Ops)
//		c.Step(t)                  append the operations that can be known now
//		if len(t.Ops) == n {       none: the transaction is over
//			break
//		}
//		run t.Ops[n:] in order, storing what they found in Op.Payload, Op.Row, Op.Absent, Op.Found
//	}
//	commit, or roll back if t.Rollback
//
// Step sees the results of all earlier operations, so reads steer later operations; a transaction without such a
// dependence is one call. The unique value of each write, the one that the history records, is the driver's: a workload
// deals in payloads only (a balance, a quantity), which a history does not show.
//
// Files: workload.go the interface; workloads.tsv and registry.go the list of all; dist.go how keys are drawn; then one
// file a workload.
//
// Experimental: this package may still change.
package workload
