package level

import (
	"slices"
	"strings"
)

// Anomaly is a kind of anomaly, named by its short name in the literature.
type Anomaly string

// Anomalies of single reads. G1a and G1b are Adya's; the others are the internal-consistency axiom INT of Biswas and
// Enea and of Cerone, split as Plume splits it (TAP a–f).
const (
	ThinAirRead       Anomaly = "thin-air-read"       // a value that no transaction wrote
	G1a               Anomaly = "G1a"                 // aborted read
	G1b               Anomaly = "G1b"                 // intermediate read
	FutureRead        Anomaly = "future-read"         // a read of the transaction's own later write
	NotMyOwnWrite     Anomaly = "not-my-own-write"    // after its own write, another transaction's value
	NotMyLastWrite    Anomaly = "not-my-last-write"   // after its own writes, not the last of them
	NonRepeatableRead Anomaly = "non-repeatable-read" // two reads of a key differ, with no own write between
	// the rows that matched or failed a predicate fit none of the versions that could have been seen
	PredicateMismatch Anomaly = "predicate-mismatch"
	DuplicateElement  Anomaly = "duplicate-element" // a list shows an element more often than it was appended
)

// Anomalies that are cycles, named by the edges of the cycle: Adya's G0, G1c, G2 and G-single, and Elle's refinements.
// A suffix "-session" or "-realtime" says that the cycle needs edges of session order or of real time.
const (
	G0           Anomaly = "G0"            // write cycle: ww only
	G1c          Anomaly = "G1c"           // circular information flow: ww and wr
	GSingle      Anomaly = "G-single"      // exactly one anti-dependency
	GNonadjacent Anomaly = "G-nonadjacent" // several anti-dependencies, no two adjacent
	G2Item       Anomaly = "G2-item"       // two adjacent item anti-dependencies at least
	G2           Anomaly = "G2"            // an anti-dependency on a predicate
)

// Special cases of the above that have a shape and a name of their own; a report uses the most specific name.
const (
	LostUpdate         Anomaly = "lost-update"
	Divergence         Anomaly = "divergence" // three transactions or more that read one version and overwrote it
	WriteSkew          Anomaly = "write-skew"
	ReadSkew           Anomaly = "read-skew"
	FracturedRead      Anomaly = "fractured-read"
	NonMonotonicRead   Anomaly = "non-monotonic-read"
	ReadOnlyAnomaly    Anomaly = "read-only-anomaly"
	LongFork           Anomaly = "long-fork"
	CausalityViolation Anomaly = "causality-violation"
	SessionGuarantee   Anomaly = "session-guarantee-violation"
	StaleRead          Anomaly = "stale-read"
	CausalReverse      Anomaly = "causal-reverse"
	// two reads show two elements of a list in different orders, or each shows only one of them: a G0
	IncompatibleOrder Anomaly = "incompatible-order"
	NoOrder           Anomaly = "no-version-order" // every way to order the versions closes a cycle
	// no order of the operations on a key is in real time and explains what they read
	NonLinearizable Anomaly = "non-linearizable"
)

// Violations of the axioms of CHRONOS, by the paper's names. They compare a history with the database's timestamps.
const (
	Session    Anomaly = "SESSION"
	Int        Anomaly = "INT"
	Ext        Anomaly = "EXT"
	NoConflict Anomaly = "NOCONFLICT"
	Timestamps Anomaly = "TIMESTAMPS" // Equation 1: start ≤ commit
)

var anomalyNames = map[Anomaly]string{
	ThinAirRead:        "thin-air read",
	G1a:                "aborted read",
	G1b:                "intermediate read",
	FutureRead:         "read of the future",
	NotMyOwnWrite:      "own write not seen",
	NotMyLastWrite:     "own last write not seen",
	NonRepeatableRead:  "non-repeatable read",
	PredicateMismatch:  "predicate result that no version explains",
	DuplicateElement:   "element read twice",
	IncompatibleOrder:  "two reads of a list, neither a prefix of the other",
	G0:                 "write cycle",
	G1c:                "circular information flow",
	GSingle:            "single anti-dependency cycle",
	GNonadjacent:       "cycle of non-adjacent anti-dependencies",
	G2Item:             "item anti-dependency cycle",
	G2:                 "predicate anti-dependency cycle",
	LostUpdate:         "lost update",
	Divergence:         "divergence",
	WriteSkew:          "write skew",
	ReadSkew:           "read skew",
	FracturedRead:      "fractured read",
	NonMonotonicRead:   "non-monotonic read",
	ReadOnlyAnomaly:    "read-only transaction anomaly",
	LongFork:           "long fork",
	CausalityViolation: "causality violation",
	SessionGuarantee:   "session guarantee violation",
	StaleRead:          "stale read",
	CausalReverse:      "causal reverse",
	Session:            "started before its predecessor in the session had committed",
	Int:                "read that disagrees with the transaction's own operations",
	Ext:                "read of a version outside the snapshot",
	NoConflict:         "two concurrent writers of a key",
	Timestamps:         "commit before start",
	NoOrder:            "no order of the versions explains the reads",
	NonLinearizable:    "no order of the operations on a key explains them in real time",
}

// Anomalies returns all kinds in the order of the tables above, without suffixes and without the axioms of CHRONOS.
func Anomalies() []Anomaly {
	return []Anomaly{ThinAirRead, G1a, G1b, FutureRead, NotMyOwnWrite, NotMyLastWrite, NonRepeatableRead,
		PredicateMismatch, DuplicateElement, G0, G1c, GSingle, GNonadjacent, G2Item, G2, LostUpdate, Divergence,
		WriteSkew, ReadSkew, FracturedRead, NonMonotonicRead, ReadOnlyAnomaly, LongFork, CausalityViolation,
		SessionGuarantee, StaleRead, CausalReverse, IncompatibleOrder, NoOrder, NonLinearizable}
}

// Base returns the kind without the suffixes that say which orders its cycles need.
func (a Anomaly) Base() Anomaly {
	s, _ := strings.CutSuffix(string(a), "-session")
	s, _ = strings.CutSuffix(s, "-realtime")
	return Anomaly(s)
}

// Name returns the anomaly's name in words, suffixes included.
func (a Anomaly) Name() string {
	if n, ok := anomalyNames[a]; ok {
		return n
	}
	for _, s := range [...]struct{ suffix, words string }{{"-session", " through session order"},
		{"-realtime", " through real time"}} {
		if n := len(a) - len(s.suffix); n > 0 && string(a[n:]) == s.suffix {
			if a[:n] == NoOrder {
				s.words = strings.Replace(s.words, "through", "and keeps", 1)
			}
			return a[:n].Name() + s.words
		}
	}
	return string(a)
}

// Words returns Name where it says more than the kind itself: "through real time" of a lost-update-realtime, "" of a
// lost-update.
func (a Anomaly) Words() string {
	base := a.Base()
	name := a.Name()
	said := strings.FieldsFunc(string(base), func(r rune) bool { return r == '-' })
	for _, w := range strings.FieldsFunc(base.Name(), func(r rune) bool { return r == '-' || r == ' ' }) {
		if w == "of" || w == "the" || w == "transaction" {
			continue
		}
		if !slices.Contains(said, w) {
			return name
		}
	}
	return strings.TrimSpace(strings.TrimPrefix(name, base.Name()))
}
