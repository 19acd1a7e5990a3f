package level

import (
	"slices"
	"strings"
)

// singleRead says from which level on an anomaly of single reads is forbidden. Reads of what nobody, an aborted
// transaction or a transaction in its midst wrote are Adya's G1, forbidden from PL-2; that a transaction sees its own
// writes is demanded there too (errata §5.1, rows c to e); repeatable reads are the axiom INT, from read-atomic on. So
// is that rows are as their predicates say: at read-committed they may have changed while they were looked at.
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

// cycle says from which levels on an anomaly that is a cycle is forbidden: from each of these and from all that imply
// one.
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

// Weakest returns the levels that forbid the anomaly and none weaker does, strongest families first.
func (a Anomaly) Weakest() (out []Level) {
	for _, l := range All() {
		if l.Forbids(a) && !slices.ContainsFunc(All(), func(m Level) bool {
			return m != l && l.Implies(m) &&
				m.Forbids(a)
		}) {
			out = append(out, l)
		}
	}
	return out
}

// ForbidsSome reports whether the level, which does not forbid the anomaly, forbids some of its kind: read-committed
// forbids a fractured read whose transaction saw the newer write first (errata §5.1, row j against j');
// linearizability, which has no order of sessions, what needs real time and not sessions too, in a history of one key a
// transaction.
func (l Level) ForbidsSome(a Anomaly) bool {
	return l == ReadCommitted && a.Base() == FracturedRead || l == Linearizable && (strings.HasSuffix(string(a),
		"-realtime") || a == CausalReverse)
}

// Needs returns the weakest level of l's family, up to l, that forbids the anomaly.
func (l Level) Needs(a Anomaly) Level {
	for _, weaker := range l.Relaxed() {
		if weaker.Forbids(a) {
			return weaker
		}
	}
	return l
}

// Forbids reports whether no history that satisfies l shows the anomaly. Cycles with session edges count at the levels
// that respect session order, those with real-time edges at the strict levels.
func (l Level) Forbids(a Anomaly) bool {
	if from, ok := singleRead[a]; ok {
		// The families below do not all imply one another in the lattice, which compares definitions; these anomalies
		// all forbid that speak of transactions at all.
		return from == ReadCommitted || l != ReadCommitted
	}
	if base, ok := strings.CutSuffix(string(a), "-session"); ok {
		return l.Sessions() && l.Forbids(Anomaly(base))
	}
	if base, ok := strings.CutSuffix(string(a), "-realtime"); ok {
		return l.RealTime() && l != Linearizable && l.Forbids(Anomaly(base))
	}
	for _, from := range cycle[a] {
		// By locality a history of one key a transaction that has no serial order has a key that is not linearizable.
		if l.Implies(from) || l == Linearizable && from == RepeatableRead {
			return true
		}
	}
	return false
}
