// Package workload defines what clients do, as data and small step machines: the tables to load, the transactions to
// draw, and the next operations of a transaction after the answers to earlier ones.
//
// A workload does not know what runs it. The in-memory store of package store runs it in simulated time; a collector
// runs the same workload against a real database. Both do this for each client session:
//
//	c := w.Client(session, rng)
//	c.Next(t)                      draw a transaction: template and parameters, into t.Name, t.Args
//	t.Reset()                      begin an attempt (again after an abort: same parameters)
//	for {
//		n := len(t.Ops)
//		c.Step(t)                  append the operations that are known now
//		if len(t.Ops) == n {       none: the transaction is over
//			break
//		}
//		run t.Ops[n:] in order, storing what they found in Op.Payload, Op.Row, Op.Absent, Op.Found
//	}
//	commit, or roll back if t.Rollback
//
// Step sees the results of all earlier operations, so that later operations can depend on reads. A transaction without
// such a dependence needs one call. The driver chooses the unique value of each write, which the history records. A
// workload only has payloads (a balance, a quantity), which a history does not show.
//
// Files: workload.go the interface; workloads.tsv and registry.go the list of all; dist.go distributions of keys; then
// one file for each workload; plain.go what those on plain reads and writes share, and contended.
//
// Experimental: this package may still change.
package workload
