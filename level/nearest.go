package level

import (
	"slices"
	"strings"
)

// nearest are levels of the literature that isovet does not decide, by the weakest level here that implies them: Adya
// 1999 for PL-…, and Elle's lattice, elle/consistency_model.clj, for the others and for who implies whom.
var nearest = []struct {
	level Level
	names string
}{
	// PL-2 lets a transaction see another's writes in part; read-committed here does not.
	{ReadCommitted, "pl-1 read-uncommitted pl-2 strong-session-pl-1 strong-session-pl-2 " +
		"strong-session-read-uncommitted strong-session-read-committed"},
	{ReadAtomic, "monotonic-atomic-view mav"},
	{Causal, "causal-cerone writes-follow-reads wfr monotonic-reads mr monotonic-writes mw read-your-writes ryw pram"},
	{SnapshotIsolation, "cursor-stability pl-cs monotonic-view pl-2l consistent-view pl-2+ forward-consistent-view " +
		"pl-fcv monotonic-snapshot-read pl-msr parallel-snapshot-isolation psi prefix update-atomic"},
	{SessionSnapshotIsolation, "strong-session-consistent-view strong-session-pl-2+"},
	{StrictSnapshotIsolation, "strong-pl-1 strong-pl-2 strong-read-uncommitted strong-read-committed"},
	{Serializable, "update-serializable pl-3u view-serializable 1sr"},
	{Linearizable, "sequential"},
}

// Nearest returns the weakest level that implies one of the literature's that is none here; false: there is no such
// name. Names are as [Parse] has them, in small letters.
func Nearest(name string) (Level, bool) {
	for _, n := range nearest {
		if slices.Contains(strings.Fields(n.names), name) {
			return n.level, true
		}
	}
	return 0, false
}
