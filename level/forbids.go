package level

import (
	"slices"
	"strings"
)

// singleRead maps each anomaly of a single read to the weakest level that forbids it. Reads from nobody, from an
// aborted transaction or of an intermediate version are Adya's G1, forbidden from PL-2 (read-committed) on; so are,
// here, reads that miss the transaction's own writes (errata §5.1, rows c to e). Repeatable reads are the axiom INT,
// from read-atomic on. So is that rows match their predicates: at read-committed the rows may change during the
// operation.
var singleRead = map[Anomaly]Level{
	ThinAirRead:       ReadCommitted,
	G1a:               ReadCommitted,
	G1b:               ReadCommitted,
	FutureRead:        ReadCommitted,
	NotMyOwnWrite:     ReadCommitted,
	NotMyLastWrite:    ReadCommitted,
	NonRepeatableRead: ReadAtomic,
	PredicateMismatch: ReadAtomic,
	DuplicateElement:  ReadCommitted,
}

// cycle maps each anomaly that is a cycle to the weakest levels that forbid it; all levels that imply one of them
// forbid it too.
//
// Sources: Adya 1999 (PL-2: G0, G1c; PL-2.99: G2-item; PL-3: G2; PL-SI: no cycle whose anti-dependencies are never
// adjacent, errata B2); Biswas and Enea for causal and read-atomic; errata §5.1 for the shapes.
var cycle = map[Anomaly][]Level{
	G0:                 {ReadCommitted, SnapshotIsolation, RepeatableRead},
	IncompatibleOrder:  {ReadCommitted, SnapshotIsolation, RepeatableRead},
	G1c:                {ReadCommitted, SnapshotIsolation, RepeatableRead},
	GSingle:            {SnapshotIsolation, RepeatableRead},
	GNonadjacent:       {SnapshotIsolation, RepeatableRead},
	G2Item:             {RepeatableRead},
	G2:                 {Serializable},
	LostUpdate:         {SnapshotIsolation, RepeatableRead},
	Divergence:         {SnapshotIsolation, RepeatableRead},
	WriteSkew:          {RepeatableRead},
	ReadSkew:           {SnapshotIsolation, RepeatableRead},
	FracturedRead:      {ReadAtomic, SnapshotIsolation, RepeatableRead},
	NonMonotonicRead:   {ReadCommitted, SnapshotIsolation, RepeatableRead},
	ReadOnlyAnomaly:    {RepeatableRead},
	LongFork:           {SnapshotIsolation, RepeatableRead},
	CausalityViolation: {Causal, SnapshotIsolation, RepeatableRead},
	SessionGuarantee:   {ReadAtomic, SessionSnapshotIsolation, SessionSerializable},
	StaleRead:          {StrictSnapshotIsolation, Linearizable},
	CausalReverse:      {StrictSnapshotIsolation},
	NoOrder:            {SnapshotIsolation, RepeatableRead},
	NonLinearizable:    {StrictSerializable, Linearizable},
}

// Weakest returns the levels that forbid the anomaly while no weaker one does, strongest families first.
func (a Anomaly) Weakest() (out []Level) {
	for _, l := range All() {
		if l.Forbids(a) && !slices.ContainsFunc(All(), func(m Level) bool {
			return m != l && l.Implies(m) && m.Forbids(a)
		}) {
			out = append(out, l)
		}
	}
	return out
}

// ForbidsSome reports whether the level, although it does not forbid the anomaly as such, forbids some instances of it.
// Read-committed forbids a fractured read whose transaction saw the newer write first (errata §5.1, row j against j').
// Linearizability, of histories with one key per transaction, forbids cycles that need real time but not sessions,
// which it does not order.
func (l Level) ForbidsSome(a Anomaly) bool {
	return l == ReadCommitted && a.Base() == FracturedRead || l == Linearizable && (strings.HasSuffix(string(a),
		"-realtime") || a == CausalReverse)
}

// Needs returns the weakest level of l's family, up to l itself, that forbids the anomaly.
func (l Level) Needs(a Anomaly) Level {
	for _, weaker := range l.Relaxed() {
		if weaker.Forbids(a) {
			return weaker
		}
	}
	return l
}

// Forbids reports whether no history that satisfies l has the anomaly. Cycles with session edges are forbidden only at
// levels that respect session order, those with real-time edges only at the strict levels.
func (l Level) Forbids(a Anomaly) bool {
	if from, ok := singleRead[a]; ok {
		// Implies does not help: not all families imply one another by their definitions. But all levels above
		// read-committed forbid these anomalies.
		return from == ReadCommitted || l != ReadCommitted
	}
	if base, ok := strings.CutSuffix(string(a), "-session"); ok {
		return l.Sessions() && l.Forbids(Anomaly(base))
	}
	if base, ok := strings.CutSuffix(string(a), "-realtime"); ok {
		return l.RealTime() && l != Linearizable && l.Forbids(Anomaly(base))
	}
	// Linearizability is local: if a history with one key per transaction has no serial order, one of its keys alone is
	// not linearizable.
	return slices.ContainsFunc(cycle[a], func(from Level) bool {
		return l.Implies(from) || l == Linearizable && from == RepeatableRead
	})
}
