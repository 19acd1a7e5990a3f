package run

import (
	"fmt"
	"slices"
	"strings"

	"isovet/check/minitxn"
	"isovet/history"
	"isovet/level"
	"isovet/polygraph"
)

// These are levels that checkers have in common.
var (
	SerialLevels   = []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable}
	SnapshotLevels = []level.Level{level.SnapshotIsolation, level.SessionSnapshotIsolation,
		level.StrictSnapshotIsolation}
	OrderLevels  = slices.Concat(SnapshotLevels, SerialLevels)
	LinearLevels = []level.Level{level.Linearizable}
)

// Takes says what a checker can take. Run refuses everything else, with the reason.
type Takes struct {
	// Items says that it takes reads and writes of registers.
	Items bool
	// Predicates are the levels at which the checker also takes predicate operations. At its other levels it takes item
	// operations only.
	Predicates []level.Level
	// ItemsOnly says why it takes no predicates at any level, as text after a colon.
	ItemsOnly string
	Lists     Lists
	// Unknown says for which transactions of unknown outcome it decides whether they committed.
	Unknown Outcomes
	// Duplicates says that it takes reads with several possible writers, because several transactions wrote one value.
	Duplicates bool
}

// Lists says how a checker takes list histories.
type Lists uint8

const (
	ListsTold    Lists = iota // encoded as registers (package lists), at the serializable and snapshot levels
	ListsRead                 // by the checker itself
	ListsBeside               // by itself, even with predicate operations
	ListsRefused              // not at all
)

func (l Lists) String() string { return [...]string{"told", "read", "beside predicates", "no"}[l] }

// Outcomes says what a checker does about transactions of unknown outcome.
type Outcomes uint8

const (
	// they committed if a transaction read from them; if that does not show it, the checker does not decide
	OutcomesRead Outcomes = iota
	// it also decides over all their possible outcomes; but with predicate operations or lists only if the answer is
	// the same for all of them
	OutcomesTried
	OutcomesDecided // it tries all outcomes that they can have
)

func (u Outcomes) String() string { return [...]string{"read", "tried", "decided"}[u] }

// Decides reports whether the checker decides a level.
func (in *Info) Decides(l level.Level) bool { return slices.Contains(in.Levels, l) }

// TakesPredicates reports whether the checker takes predicate operations at a level.
func (in *Info) TakesPredicates(l level.Level) bool { return slices.Contains(in.Takes.Predicates, l) }

// NoRepeatable says why repeatable read is not decided.
const NoRepeatable = "repeatable-read is decided as serializability, and only without predicate operations"

// Settle turns the level that was asked for into the level to decide, which may be another one with the same meaning.
// why, if not "", says why the checker cannot be asked.
func Settle(in Info, h *history.History, asked level.Level) (l level.Level, why string) {
	l = asked
	if !in.Decides(l) {
		return l, fmt.Sprintf("%s does not decide %s", in.Name, l)
	}
	if l == level.RepeatableRead && !h.HasPredicates() {
		l = level.Serializable
	}
	if why := Refuses(in, h, l); why != "" {
		return l, why
	}
	if l == level.Linearizable {
		if why := minitxn.MultiKey(h); why != "" {
			return l, why
		}
	}
	if l.RealTime() {
		if t, missing := polygraph.MissingTime(h); missing {
			return l, fmt.Sprintf("%s needs the start and end of every committed transaction; transaction %d lacks one",
				l, h.Txns.ID[t])
		}
	}
	return l, ""
}

// Refuses says which of a history's operations a checker does not take at a level, or "" if it takes all.
func Refuses(in Info, h *history.History, l level.Level) string {
	predicates := h.HasPredicates() && !in.TakesPredicates(l)
	switch {
	case h.HasLists() && l == level.Linearizable:
		return "the history has lists, and isovet decides linearizability of registers only"
	case h.HasLists() && in.Takes.Lists == ListsTold && !slices.Contains(OrderLevels, l):
		return fmt.Sprintf("%s does not decide list histories at %s, only at the serializable and snapshot levels",
			in.Name, l)
	case h.HasLists() && in.Takes.Lists == ListsRefused:
		return fmt.Sprintf("%s checks registers, and the history has lists", in.Name)
	case h.HasLists() && h.HasPredicates() && !predicates && in.Takes.Lists != ListsBeside:
		return fmt.Sprintf("%s checks lists or predicate operations, but not both in one history", in.Name)
	case !h.HasLists() && !in.Takes.Items:
		return fmt.Sprintf("%s needs append-only lists, and the history has none", in.Name)
	case predicates && l == level.RepeatableRead:
		return NoRepeatable
	case predicates:
		return strings.TrimSuffix(in.Name+" does not check predicate operations: "+in.Takes.ItemsOnly, ": ")
	}
	return ""
}
