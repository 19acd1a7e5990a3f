package spill

import (
	"context"
	"slices"
	"time"

	"isovet/check"
	"isovet/check/spill/plan"
	"isovet/check/timestamp"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// These checkers of package check work out of core. All except chronos look for an order by rule and windows, and
// differ in how they show a violation.
const (
	byOrder = "replay"
	byMini  = "mtc"
	byKey   = "lwt"
	byWeak  = "weak"
)

// Checkers are the names of the checkers that work out of core.
func Checkers() []string { return []string{byOrder, byStamps, byMini, byKey, byWeak} }

// Levels are the levels that the search for an order decides.
func Levels() []level.Level {
	return []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable,
		level.SnapshotIsolation, level.SessionSnapshotIsolation, level.StrictSnapshotIsolation}
}

// LevelsOf returns the levels that a checker decides out of core.
func LevelsOf(checker string) []level.Level {
	switch checker {
	case byStamps:
		return timestamp.Levels()
	case byKey:
		return []level.Level{level.Linearizable}
	case byWeak:
		return []level.Level{level.ReadCommitted, level.ReadAtomic, level.Causal}
	case byOrder:
		return append(Levels(), level.RepeatableRead)
	}
	return Levels()
}

// CheckerOf returns the default checker of a level.
func CheckerOf(l level.Level) string {
	for _, c := range []string{byKey, byWeak} {
		if slices.Contains(LevelsOf(c), l) {
			return c
		}
	}
	return byOrder
}

// orderOf returns the level of the order to search for. It implies the level of the question.
func orderOf(l level.Level) level.Level {
	switch l {
	case level.ReadCommitted, level.ReadAtomic, level.Causal:
		return level.SessionSnapshotIsolation
	case level.RepeatableRead: // only item operations
		return level.Serializable
	}
	return l
}

// shortTime bounds searches among a few transactions that have no bound on conflicts.
const shortTime = 5 * time.Second

// violated reports how some transactions violate the level of the question; nil: no violation was found.
func (e *engine) violated(ctx context.Context, h *history.History) (*evidence.Result, error) {
	c, err := check.ByName(e.o.Checker)
	if err != nil {
		return nil, err
	}
	most := proofTime
	if e.o.Checker == byKey || e.o.Checker == byWeak {
		most = shortTime
	} else {
		o := plan.Options{Level: e.o.Level, Skew: e.o.Skew, Conflicts: refuteConflicts}
		if is, err := plan.Refuted(ctx, h, o); !is || err != nil {
			return nil, err
		}
	}
	short, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	r, err := check.Run(short, c, h, check.Options{Level: e.asked, ClockSkew: e.o.Skew})
	if err != nil || r.Verdict != evidence.Violated {
		return nil, err
	}
	r.Anomalies = r.Anomalies[:1]
	return r, nil
}
