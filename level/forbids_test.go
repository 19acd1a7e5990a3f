package level_test

import (
	"testing"

	"isovet/internal/test/must"
	"isovet/level"
)

var kinds = level.Anomalies()

// A stronger level forbids what a weaker one does.
func TestForbidsFollowsImplies(t *testing.T) {
	for _, l := range level.All() {
		for _, m := range level.All() {
			if !l.Implies(m) {
				continue
			}
			for _, a := range kinds {
				for _, suffix := range []level.Anomaly{"", "-session", "-realtime"} {
					if m.Forbids(a+suffix) && !l.Forbids(a+suffix) {
						t.Errorf("%s implies %s, which forbids %s, and allows it", l, m, a+suffix)
					}
				}
			}
		}
	}
}

// What separates neighbouring levels (errata §5.1).
func TestForbids(t *testing.T) {
	for _, c := range []struct {
		l    level.Level
		a    level.Anomaly
		want bool
	}{
		{level.ReadCommitted, level.NonRepeatableRead, false},
		{level.ReadAtomic, level.NonRepeatableRead, true},
		{level.ReadCommitted, level.G1a, true},
		{level.ReadAtomic, level.CausalityViolation, false},
		{level.Causal, level.CausalityViolation, true},
		{level.Causal, level.LongFork, false},
		{level.SnapshotIsolation, level.LongFork, true},
		{level.SnapshotIsolation, level.WriteSkew, false},
		{level.StrictSnapshotIsolation, level.G2Item, false},
		{level.Serializable, level.WriteSkew, true},
		{level.Serializable, level.SessionGuarantee, false},
		{level.SessionSerializable, level.SessionGuarantee, true},
		{level.SessionSerializable, level.StaleRead, false},
		{level.StrictSerializable, level.StaleRead, true},
		{level.StrictSerializable, level.CausalReverse, true},
		{level.RepeatableRead, level.G2, false},
		{level.Serializable, level.G2, true},
		{level.Serializable, "G-single-session", false},
		{level.SessionSerializable, "G-single-session", true},
		{level.SessionSerializable, "G-single-realtime", false},
		{level.StrictSerializable, "G2-item-realtime", true},
		{level.StrictSnapshotIsolation, "G2-item-realtime", false},
		{level.Linearizable, "no such", false},
	} {
		must.Equal(t, c.l.Forbids(c.a), c.want, "%s forbids %s", c.l, c.a)
	}
}
