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

// Checkers of package check that there are out of core: all but chronos look for an order, by rule and windows, and
// differ in what shows a violation.
const (
	byOrder = "replay"
	byMini  = "mtc"
	byKey   = "lwt"
	byWeak  = "weak"
)

// Checkers are those of package check that there are out of core.
func Checkers() []string { return []string{byOrder, byStamps, byMini, byKey, byWeak} }

// Levels are those for which an order is looked for.
func Levels() []level.Level {
	return []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable,
		level.SnapshotIsolation, level.SessionSnapshotIsolation, level.StrictSnapshotIsolation}
}

// LevelsOf are the levels that a checker decides out of core.
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

// CheckerOf is the checker of a level where none is named.
func CheckerOf(l level.Level) string {
	for _, c := range []string{byKey, byWeak} {
		if slices.Contains(LevelsOf(c), l) {
			return c
		}
	}
	return byOrder
}

// orderOf is the level of which an order is looked for: it implies the one that is asked for.
func orderOf(l level.Level) level.Level {
	switch l {
	case level.ReadCommitted, level.ReadAtomic, level.Causal:
		return level.SessionSnapshotIsolation
	case level.RepeatableRead: // of item operations
		return level.Serializable
	}
	return l
}

// shortTime is how long the search among a few transactions may take where no number of conflicts bounds it.
const shortTime = 5 * time.Second

// violated looks whether some transactions violate the level that is asked for, and says how; nil: it was not found
// that they do.
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
