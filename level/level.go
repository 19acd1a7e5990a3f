// Package level names isolation levels and anomalies, and says which level implies which and which anomalies each level
// forbids. It is data with its sources, and computes nothing from histories.
//
// Papers use one name for several levels; the definitions here are those of docs/levels.md. "Serializable" alone asks
// only for an order that explains the reads; "session-" adds session order, "strict-" adds session order and real time.
//
// Stable: this package's API changes only with a new major version.
package level

import (
	"fmt"
	"slices"
	"strings"

	"isovet/internal/slice"
)

// Level is an isolation level. The zero value is Serializable, the default of every command.
type Level uint8

const (
	Serializable Level = iota // Adya PL-3: some serial order explains every read
	SessionSerializable
	StrictSerializable
	SnapshotIsolation // Adya's PL-SI without time order: snapshot reads, first committer wins
	SessionSnapshotIsolation
	StrictSnapshotIsolation
	Causal        // Biswas and Enea's CC
	ReadAtomic    // Biswas and Enea's RA
	ReadCommitted // Biswas and Enea's RC
	RepeatableRead
	Linearizable
	numLevels
)

type info struct {
	name    string
	short   []string
	implies []Level // directly
	about   string
}

// levels has, for each level, its names and the levels that it directly implies: Adya 1999 for PL-3 and PL-SI; Biswas
// and Enea, doi:10.1145/3360591, for CC, RA and RC.
var levels = [numLevels]info{
	Serializable: {"serializable", []string{"ser", "pl-3", "conflict-serializable"},
		[]Level{SnapshotIsolation, RepeatableRead},
		"some serial order of the committed transactions explains every read"},
	SessionSerializable: {"session-serializable", []string{"session-ser", "strong-session-serializable",
		"strong-session-pl-3"},
		[]Level{Serializable, SessionSnapshotIsolation}, "serializable, in an order that respects sessions"},
	StrictSerializable: {"strict-serializable", []string{"sser", "strict-ser", "strong-serializable", "pl-ss",
		"strong-pl-3"},
		[]Level{SessionSerializable, StrictSnapshotIsolation}, "serializable, in an order that respects sessions " +
			"and real time"},
	SnapshotIsolation: {"snapshot-isolation", []string{"si", "pl-si"}, nil, "every transaction reads a snapshot; of " +
		"two concurrent writers of a key one aborts"},
	SessionSnapshotIsolation: {"session-snapshot-isolation", []string{"session-si", "strong-session-si",
		"strong-session-snapshot-isolation"}, []Level{SnapshotIsolation, Causal},
		"snapshot isolation; a snapshot includes the earlier transactions of its session"},
	StrictSnapshotIsolation: {"strict-snapshot-isolation", []string{"strict-si", "strong-si",
		"strong-snapshot-isolation"}, []Level{SessionSnapshotIsolation},
		"snapshot isolation; a snapshot includes every transaction that ended before the reader began"},
	Causal: {"causal", []string{"cc", "tcc"}, []Level{ReadAtomic},
		"a transaction that sees an effect sees its causes too (transactional causal consistency)"},
	ReadAtomic: {"read-atomic", []string{"ra"}, []Level{ReadCommitted},
		"a transaction sees all writes of another transaction, or none"},
	ReadCommitted: {"read-committed", []string{"rc"}, nil, "reads see the last writes of committed " +
		"transactions, and no later read of a transaction goes back to an older state"},
	RepeatableRead: {"repeatable-read", []string{"rr", "pl-2.99"}, nil, "serializable, except for predicates " +
		"(Adya PL-2.99)"},
	Linearizable: {"linearizable", []string{"lin"}, nil, "each transaction has one key and takes " +
		"effect at one moment between its start and its end"},
}

// mixed is the bit set in a level by which each transaction is judged at its own level.
const mixed Level = 1 << 7

// Mixed returns the level at which each transaction is judged at the level that it names; others is the level of the
// transactions that name none. All does not list it.
func Mixed(others Level) Level { return mixed | others }

// IsMixed reports whether each transaction is judged at its own level.
func (l Level) IsMixed() bool { return l&mixed != 0 && l&^mixed < numLevels }

// Of returns the level at which to judge a transaction that names a level, or none (""): if l is mixed the named one,
// or the default, with repeatable read treated as serializability; otherwise l.
func (l Level) Of(name string) Level {
	if !l.IsMixed() {
		return l
	}
	l &^= mixed
	for m, in := range levels {
		if in.name == name {
			l = Level(m)
		}
	}
	if l == RepeatableRead {
		return Serializable
	}
	return l
}

// ParseMixed is Parse that also accepts "mixed" and "mixed:LEVEL", with the level of transactions that name none.
func ParseMixed(s string) (Level, error) {
	others, is := strings.CutPrefix(strings.ToLower(strings.TrimSpace(s)), "mixed")
	if !is {
		return Parse(s)
	}
	if others == "" {
		return Mixed(Serializable), nil
	}
	l, err := Parse(strings.TrimPrefix(others, ":"))
	return Mixed(l), err
}

func (l Level) String() string {
	switch {
	case l == Mixed(Serializable):
		return "mixed"
	case l.IsMixed():
		return "mixed:" + (l &^ mixed).String()
	}
	if l < numLevels {
		return levels[l].name
	}
	return fmt.Sprintf("level %d", uint8(l))
}

// About returns one line that says what the level promises.
func (l Level) About() string {
	if l.IsMixed() {
		return "each transaction at the level that it names"
	}
	return levels[l].about
}

// MarshalText returns the level's name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText parses a name or short name, or what String returns for a mixed level.
func (l *Level) UnmarshalText(b []byte) (err error) {
	*l, err = ParseMixed(string(b))
	return err
}

// Parse returns the level of a name or short name, in any case, with blanks, underscores or hyphens, and in the form of
// a keyword or not. For a level of the literature that isovet lacks, the error names the nearest level that implies it.
func Parse(s string) (Level, error) {
	n := strings.NewReplacer(" ", "-", "_", "-").Replace(strings.ToLower(strings.TrimSpace(s)))
	n = strings.TrimPrefix(n, ":")
	for l, in := range levels {
		if n == in.name || slices.Contains(in.short, n) {
			return Level(l), nil
		}
	}
	if near, ok := Nearest(n); ok {
		return 0, fmt.Errorf("isovet does not decide the isolation level %q; the nearest level is %s, which implies "+
			"it: a history that is valid there is valid at %q, too; one that violates it may be", s, near, s)
	}
	return 0, fmt.Errorf("unknown isolation level %q; expected one of %s", s, strings.Join(Names(), ", "))
}

// All returns every level, strongest families first.
func All() []Level { return slice.Numbers[Level](int(numLevels)) }

// Names returns every level's name.
func Names() []string {
	return slice.Map(All(), Level.String)
}

// ShortNames returns a level's short names.
func (l Level) ShortNames() []string { return slices.Clone(levels[l].short) }

// Implies reports whether every history that satisfies l satisfies m.
func (l Level) Implies(m Level) bool {
	if l == m || l.IsMixed() {
		return l == m
	}
	return slices.ContainsFunc(levels[l].implies, func(d Level) bool { return d.Implies(m) })
}

// Relaxed returns the levels of the same family that ask for fewer orders, weakest first: the one without sessions,
// then the one with sessions.
func (l Level) Relaxed() []Level {
	switch l {
	case SessionSerializable, SessionSnapshotIsolation:
		return []Level{l - 1}
	case StrictSerializable, StrictSnapshotIsolation:
		return []Level{l - 2, l - 1}
	}
	return nil
}

// Serial reports whether the level belongs to the serializable family.
func (l Level) Serial() bool { return l <= StrictSerializable }

// Snapshot reports whether the level belongs to the snapshot-isolation family.
func (l Level) Snapshot() bool { return l >= SnapshotIsolation && l <= StrictSnapshotIsolation }

// Sessions reports whether the level's order must respect session order.
func (l Level) Sessions() bool {
	switch l {
	case SessionSerializable, StrictSerializable, SessionSnapshotIsolation, StrictSnapshotIsolation, Causal, ReadAtomic,
		ReadCommitted:
		return true
	}
	return false
}

// RealTime reports whether the level's order must respect real time, for which it needs start and end times.
func (l Level) RealTime() bool {
	return l == StrictSerializable || l == StrictSnapshotIsolation || l == Linearizable
}

// nearest maps the weakest level here that implies them to names of levels that isovet does not decide: Adya 1999 for
// PL-…; Elle's lattice, elle/consistency_model.clj, for the other names and for the implications between levels.
var nearest = []struct {
	level Level
	names string
}{
	// PL-2 lets a transaction see only a part of another's writes; read-committed here does not.
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

// Nearest returns the weakest level that implies a level of the literature which isovet lacks; false if there is no
// such name. Names are as in [Parse], in lower case.
func Nearest(name string) (Level, bool) {
	for _, n := range nearest {
		if slices.Contains(strings.Fields(n.names), name) {
			return n.level, true
		}
	}
	return 0, false
}
