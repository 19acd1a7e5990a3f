package mechanism

import (
	"testing"

	"isovet/level"
)

// TestLevelOf looks at what headers name: levels as isovet spells them, and "repeatable read" as each database means
// it.
func TestLevelOf(t *testing.T) {
	for _, x := range []struct {
		db, isolation string
		want          level.Level
		named         bool
	}{
		{"", "", level.Serializable, false},
		{"", "as safe as can be", level.Serializable, false},
		{"PostgreSQL 16.3", "as safe as can be", level.Serializable, false},
		{"", "serializable", level.Serializable, true},
		{"", "Strict Serializable", level.StrictSerializable, true},
		{"", "strong_snapshot_isolation", level.StrictSnapshotIsolation, true},
		{"", "read committed", level.ReadCommitted, true},
		{"", "repeatable read", level.RepeatableRead, true},
		{"PostgreSQL 16.3", "repeatable read", level.SnapshotIsolation, true},
		{"PostgreSQL 16.3", "serializable", level.Serializable, true},
		{"MySQL 8.0.36", "repeatable read", level.ReadCommitted, true},
		{"Microsoft SQL Server 2022", "snapshot", level.SnapshotIsolation, true},
		{"Oracle 19c", "serializable", level.Serializable, true},
	} {
		got, why := LevelOf(x.db, x.isolation)
		if got != x.want || (why != "") != x.named {
			t.Errorf("LevelOf(%q, %q) = %v, %q; want %v, named %v", x.db, x.isolation, got, why, x.want, x.named)
		}
	}
}
