package mechanism

import (
	"fmt"
	"slices"

	"isovet/evidence"
	"isovet/internal/plural"
	"isovet/internal/slice"
)

// Mechanism is one of the four mechanisms.
type Mechanism uint8

const (
	ConsistentRead Mechanism = iota
	MutualExclusion
	FirstUpdaterWins
	SerializationCertifier
)

var mechanismNames = [...]string{"consistent-read", "mutual-exclusion", "first-updater-wins", "serialization-certifier"}

func (m Mechanism) String() string { return mechanismNames[m] }

// MarshalText returns the mechanism's name.
func (m Mechanism) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// Kinds of violations: how a mechanism failed.
const (
	Overwritten = "overwritten" // consistent read: the version had surely been overwritten at the snapshot
	Uncommitted = "uncommitted" // consistent read: its writer surely committed after the snapshot
	// consistent read: no transaction whose commit the snapshot may see installed the value
	NotVisible    = "not-visible"
	OwnWrite      = "own-write"      // consistent read: not what the transaction itself had written
	NoSnapshot    = "no-snapshot"    // consistent read: no moment at which all versions read were visible
	Fractured     = "fractured"      // consistent read: it saw a part of what a transaction wrote, and missed another
	TwoHolders    = "two-holders"    // mutual exclusion
	LostUpdate    = "lost-update"    // first updater wins
	Cycle         = "cycle"          // certifier
	DangerousPath = "dangerous-path" // certifier, a warning: the structure that PostgreSQL's own rule refuses
)

// Reason is the rule by which a dependency was deduced.
type Reason uint8

const (
	ByValue     Reason = iota // wr: only one transaction wrote the value; no assumption
	ByCandidate               // wr: only one version with the value can have been visible (consistent read)
	ByTime                    // ww: one commit ended before the other was sent (versions appear at commit)
	ByLock                    // only one order of the two locks is possible (mutual exclusion)
	BySnapshot                // ww: only one order of commit and snapshot is possible (first updater wins)
	ByRead                    // ww: the later writer read the earlier version first; no assumption
	ByChain                   // rw: of a wr and the ww that follows it
	numReasons
)

var reasonNames = [...]string{"value", "candidate", "time", "lock", "snapshot", "read", "chain"}

func (r Reason) String() string { return reasonNames[r] }

// MarshalText returns the reason's name.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Dependency says that transaction From comes before To, on a key, and how that was deduced. Transactions are
// named as in their traces.
type Dependency struct {
	From, To uint64
	Key      uint32
	Dep      evidence.Dep
	Reason   Reason
}

// Violation is a failure of a mechanism, under the profile.
type Violation struct {
	Mechanism Mechanism
	Kind      string
	Txns      []uint64 // the transactions, as their traces name them; of consistent read the reader first
	// These are operations (Trace.Op): the read or the two lock requests; for no-snapshot and fractured the two reads
	// that exclude each other; for a lost update that only a read shows, the read too.
	Ops   []uint32
	Key   uint32
	Val   uint64 // consistent read: the value read
	Cycle []Dependency
	// Uninstalled lists, for not-visible, the transactions that wrote the value and never installed it, or installed it
	// later.
	Uninstalled []uint64 `freeze:"as=Vain"`
}

// Whose returns the transaction of Ops[i].
func (v *Violation) Whose(i int) uint64 {
	switch {
	case v.Kind == NoSnapshot || v.Kind == Fractured:
		return v.Txns[0]
	case v.Kind == LostUpdate && i == 2:
		return v.Txns[1]
	}
	return v.Txns[i]
}

// Report has the findings of a verifier.
type Report struct {
	Profile Profile
	// Violations has at most Options.MaxViolations; Found counts all, by mechanism.
	Violations []Violation
	Found      [4]int
	// Warnings are dangerous structures (SSICertifier), at most Options.MaxViolations; Warned counts all.
	Warnings []Violation
	Warned   int

	Traces, Txns, Verified int // dispatched traces; ended transactions; those that committed
	// Deps counts deduced dependencies by kind (wr, ww, rw in this order) and reason.
	Deps [3][numReasons]int
	// Undecided counts pairs of versions next to each other in time whose order nothing decides; Decided counts the
	// others.
	Decided, Undecided int
	// Overlaps counts dependencies whose operations overlap in time, the uncertain ones of [Leopard] §IV-B, by kind.
	Overlaps [3]int
	// PeakVersions, PeakTxns and PeakLocks are the greatest numbers in memory at once.
	PeakVersions, PeakTxns, PeakLocks int
	// Edges are all deduced dependencies, with Options.KeepEdges.
	Edges []Dependency
}

// Total counts the violations.
func (r *Report) Total() int { return slice.Sum(slices.Values(r.Found[:])) }

// Deduced counts the dependencies of a kind: 0 wr, 1 ww, 2 rw.
func (r *Report) Deduced(kind int) int { return slice.Sum(slices.Values(r.Deps[kind][:])) }

func (r *Report) String() string {
	return fmt.Sprintf("%s: %s, %s (%v)", r.Profile.Name(), plural.Of(r.Verified, "transaction"),
		plural.Of(r.Total(), "violation"), r.Found)
}
