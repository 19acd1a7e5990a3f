package datasets

import (
	"slices"

	"isovet/level"
)

// PredicateFaults returns the anomalies of predicate reads and writes that can be planted.
func PredicateFaults() []Anomaly {
	return slices.DeleteFunc(PredicateAnomalies(), func(a Anomaly) bool { return !a.Fault })
}

// PredicateAnomalies returns the catalogue of anomalies of predicate reads and writes. Verdicts are for the
// serializable and the snapshot levels: those of brute force (TestPredicateAnomaliesByBruteForce).
func PredicateAnomalies() []Anomaly {
	return []Anomaly{
		{Name: "phantom-write-skew", Kind: level.G2, Violates: serOnly, Fault: true,
			About: "two transactions find no row and each makes one that the other looked for: a double booking",
			Text:  "T1 s1 [1,3]: r(x,0) pr(x!0,y!0:) w(x,1)\nT2 s2 [2,4]: r(y,0) pr(x!0,y!0:) w(y,1)"},
		{Name: "phantom-delete-skew", Kind: level.G2, Violates: serOnly, Fault: true,
			About: "two transactions find two rows and each deletes another one: nobody is on call",
			Text:  "T1 s1 [1,3]: pr(x=0,y=0:x=0,y=0) w(x,-)\nT2 s2 [2,4]: pr(x=0,y=0:x=0,y=0) w(y,-)"},
		{Name: "predicate-write-skew", Kind: level.G2, Violates: serOnly, Fault: true,
			About: "two predicate writes, each of which would have found what the other made",
			Text:  "T1 s1 [1,3]: pw(x=0,y!0:x=0>1)\nT2 s2 [2,4]: pw(y=0,x!0:y=0>2)"},
		{Name: "phantom-read", Kind: level.NonRepeatableRead, Violates: sixLevels, Fault: true,
			About: "the same predicate read twice finds a row only the second time",
			Text:  "T1 s1 [1,4]: pr(x=1:) pr(x=1:x=1)\nT2 s2 [2,3]: r(x,0) w(x,1)"},
		{Name: "missed-row", Kind: level.ReadSkew, Violates: sixLevels, Fault: true,
			About: "of a transaction's two writes one is read, the other not found by a predicate",
			Text:  "T1 s1 [1,3]: r(x,0) r(y,0) w(x,1) w(y,1)\nT2 s2 [2,4]: r(y,1) pr(x!0:)"},
		{Name: "deleted-row", Kind: level.ReadSkew, Violates: sixLevels, Fault: true,
			About: "a predicate finds a row that a transaction has deleted whose other write is seen",
			Text:  "T1 s1 [1,3]: r(x,0) r(y,0) w(x,-) w(y,1)\nT2 s2 [2,4]: r(y,1) pr(x=0:x=0)"},
		{Name: "row-not-matching", Kind: level.PredicateMismatch, Violates: sixLevels, Fault: true,
			About: "a predicate finds a row of which it is not true",
			Text:  "T1 s1 [1,2]: pr(x=1:x=0)"},
		{Name: "row-always-matching", Kind: level.PredicateMismatch, Violates: sixLevels, Fault: true,
			About: "a predicate does not find a row of which it is true, nobody else writing it",
			Text:  "T1 s1 [1,2]: r(x,0) w(x,1)\nT2 s1 [3,4]: r(x,1) pr(x=0,x=1:) r(x,1)"},
		{Name: "own-write-missed", Kind: level.NotMyOwnWrite, Violates: sixLevels, Fault: true,
			About: "a predicate does not find what its own transaction has written",
			Text:  "T1 s1 [1,2]: r(x,0) w(x,1) pr(x=1:)"},
		{Name: "aborted-predicate-read", Kind: level.G1a, Violates: sixLevels, Fault: true,
			About: "a predicate finds a row whose writer rolled back",
			Text:  "T1 s1 [1,2] aborted: r(x,0) w(x,1)\nT2 s2 [3,4]: pr(x=1:x=1)"},
		{Name: "intermediate-predicate-read", Kind: level.G1b, Violates: sixLevels, Fault: true,
			About: "a predicate finds a version that its writer overwrote before committing",
			Text:  "T1 s1 [1,4]: r(x,0) w(x,1) w(x,2)\nT2 s2 [2,3]: pr(x=1:x=1)"},
		{Name: "lost-predicate-update", Kind: level.LostUpdate, Violates: sixLevels, Fault: true,
			About: "two predicate writes find the same version of a row",
			Text:  "T1 s1 [1,3]: pw(x=0,y=0:x=0>1,y=0>1)\nT2 s2 [2,4]: pw(x=0:x=0>2)"},
		{Name: "missed-update", Kind: level.ReadSkew, Violates: sixLevels, Fault: true,
			About: "a predicate write leaves out a row that its transaction knows to be there",
			Text:  "T1 s1 [1,2]: r(x,0) r(y,0) w(x,1) w(y,1)\nT2 s2 [3,4]: r(y,1) pw(x!0,y=1:y=1>2)"},
		{Name: "stale-predicate-read", Kind: level.StaleRead, Violates: realTime, Fault: true,
			About: "a predicate does not find a row that was committed before its transaction began",
			Text:  "T1 s1 [1,2]: r(x,0) w(x,1)\nT2 s2 [3,4]: pr(x!0:)"},
		{Name: "predicate-session-guarantee", Kind: level.SessionGuarantee, Fault: true,
			Violates: []level.Level{level.SessionSerializable, level.StrictSerializable, level.SessionSnapshotIsolation,
				level.StrictSnapshotIsolation},
			About: "a predicate does not find what its own session has committed before",
			Text:  "T1 s1 [1,2]: r(x,0) w(x,1)\nT2 s1 [3,4]: pr(x!0:)"},
		{Name: "no-phantom",
			About: "no anomaly: a row comes into a predicate's range and leaves it, and predicates see it in " +
				"between or not",
			Text: "T1 s1 [1,2]: pr(x=1:)\nT2 s2 [3,4]: pw(x=0,y=7:x=0>1)\nT3 s3 [5,6]: pr(x=1,y=7:x=1)\nT4 s1 " +
				"[7,8]: pw(x=1:x=1>-)\nT5 s2 [9,10]: pr(x=1:)"},
	}
}
