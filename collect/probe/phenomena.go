package probe

import (
	"isovet/level"
)

// Phenomenon is an anomaly that Run looks for: schedules that bring it about where the database lets them, and the
// weakest level that forbids it. A schedule shows the phenomenon if what its clients saw violates that level.
type Phenomenon struct {
	Name  string
	About string
	Level level.Level
	// Kinds are the names under which checkers find it in a random load.
	Kinds []level.Anomaly
	// Schedules are in the notation of ParseSchedule.
	Schedules []string
}

// Phenomena lists what Run looks for, the worst first. The schedules are those of the papers that named the
// phenomena: Berenson et al. (SIGMOD 1995) A1 to A5B and P4, Adya (1999) G0 to G2, Fekete et al. (2004) for the
// read-only anomaly; each with readers behind it where what the writers did could not be told otherwise.
func Phenomena() []Phenomenon {
	return []Phenomenon{
		{Name: "dirty write", About: "the writes of two transactions to two items interleave (G0)",
			Level: level.ReadCommitted, Kinds: []level.Anomaly{level.G0},
			Schedules: []string{
				"b1 b2 w1(x) w2(x) w2(y) c2 w1(y) c1 b3 r3(x) r3(y) r3(x) c3",
				"b1 b2 w1(x) w2(x) w1(y) w2(y) c1 c2 b3 r3(x) r3(y) r3(x) c3",
			}},
		{Name: "aborted read", About: "a version is read whose writer rolls back (G1a, A1)",
			Level: level.ReadCommitted, Kinds: []level.Anomaly{level.G1a},
			Schedules: []string{"b1 b2 w1(x) r2(x) a1 c2", "b1 b2 u1(v=10:100) q2(v=100) a1 c2"}},
		{Name: "intermediate read", About: "a version is read that its writer then overwrites (G1b)",
			Level: level.ReadCommitted, Kinds: []level.Anomaly{level.G1b},
			Schedules: []string{"b1 b2 w1(x) r2(x) w1(x) c1 c2"}},
		{Name: "circular information flow", About: "two transactions read each other's writes (G1c)",
			Level: level.ReadCommitted, Kinds: []level.Anomaly{level.G1c},
			Schedules: []string{"b1 b2 w1(x) w2(y) r1(y) r2(x) c1 c2"}},
		{Name: "vanishing transaction",
			About: "a transaction's effects are seen, then the older ones that they had replaced (OTV)",
			Level: level.ReadCommitted, Kinds: []level.Anomaly{level.NonMonotonicRead},
			Schedules: []string{"b1 b2 b3 w1(x) w1(y) w2(x) c1 r3(x) w2(y) r3(y) c2 r3(x) r3(y) c3"}},
		{Name: "non-repeatable read", About: "an item is read twice, with two results (A2)",
			Level: level.ReadAtomic, Kinds: []level.Anomaly{level.NonRepeatableRead},
			Schedules: []string{"b1 r1(x) b2 w2(x) c2 r1(x) c1"}},
		{Name: "phantom read", About: "a condition is evaluated twice, and a row comes in between (A3)",
			Level: level.SnapshotIsolation,
			Schedules: []string{"b1 q1(v=30) b2 i2(4:30) c2 q1(v=30) c1",
				"b1 q1(v>=10) b2 e2(v=20) c2 q1(v>=10) c1"}},
		{Name: "read skew", About: "of a transaction's two writes one is seen, the other not (A5A, G-single)",
			Level: level.ReadAtomic, Kinds: []level.Anomaly{level.ReadSkew, level.FracturedRead, level.GSingle},
			Schedules: []string{"b1 r1(x) b2 w2(x) w2(y) c2 r1(y) c1"}},
		{Name: "predicate read skew", About: "an item is read, and a condition then finds a later state (G-single)",
			Level:     level.SnapshotIsolation,
			Schedules: []string{"b1 r1(x) b2 w2(x) u2(v=10:40) c2 q1(v=40) c1"}},
		{Name: "lost update", About: "two transactions read a version and both write the next (P4)",
			Level: level.SnapshotIsolation, Kinds: []level.Anomaly{level.LostUpdate, level.Divergence},
			Schedules: []string{"b1 b2 r1(x) r2(x) w1(x) c1 w2(x) c2", "b1 b2 r1(x) r2(x) w1(x) w2(x) c1 c2"}},
		{Name: "lost predicate update",
			About: "an update by a condition leaves out, or overwrites, rows that another changed meanwhile",
			Level: level.SnapshotIsolation,
			Schedules: []string{"b1 b2 q1(v>=10) u2(v>=10:+5) c2 u1(v>=10:+7) c1 b3 q3(v>=0) c3",
				"b1 b2 q1(v=20) e2(v=20) c2 u1(v=20:50) q1(v>=0) c1 b3 q3(v>=0) c3"}},
		{Name: "long fork", About: "two readers see two independent writes in opposite orders",
			Level: level.SnapshotIsolation, Kinds: []level.Anomaly{level.LongFork, level.GNonadjacent},
			Schedules: []string{"b1 b2 b3 b4 w1(x) w2(y) r3(x) r4(y) c1 c2 r3(y) r4(x) c3 c4"}},
		{Name: "write skew", About: "two transactions read two items, and each writes another one (A5B, G2-item)",
			Level: level.Serializable, Kinds: []level.Anomaly{level.WriteSkew, level.G2Item},
			Schedules: []string{"b1 b2 r1(x) r1(y) r2(x) r2(y) w1(x) w2(y) c1 c2"}},
		{Name: "phantom write skew", About: "two transactions find no row, and each inserts one that the other " +
			"looked for (G2)",
			Level: level.Serializable, Kinds: []level.Anomaly{level.G2},
			Schedules: []string{"b1 b2 q1(v=30) q2(v=30) i1(4:30) i2(5:30) c1 c2",
				"b1 b2 q1(v>=10) q2(v>=10) e1(v=10) e2(v=20) c1 c2"}},
		{Name: "read-only anomaly", About: "two writers alone are serializable; what a reader sees is not " +
			"(Fekete et al. 2004)",
			Level: level.Serializable, Kinds: []level.Anomaly{level.ReadOnlyAnomaly},
			Schedules: []string{"b1 r1(x) r1(y) b2 r2(y) w2(y) c2 b3 r3(x) r3(y) c3 w1(x) c1"}},
		{Name: "session's own write missed", About: "a session does not see what it has committed itself",
			Level: level.SessionSnapshotIsolation, Kinds: []level.Anomaly{level.SessionGuarantee},
			Schedules: []string{"b1 w1(x) c1 b1 r1(x) c1"}},
		{Name: "stale read", About: "a transaction that begins after a commit does not see it",
			Level: level.StrictSnapshotIsolation, Kinds: []level.Anomaly{level.StaleRead, level.CausalReverse},
			Schedules: []string{"b1 w1(x) c1 b2 r2(x) c2 b3 r3(x) c3"}},
	}
}
