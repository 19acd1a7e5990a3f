package datasets

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"isovet/level"
)

// The sets of levels that an anomaly may violate, from the largest to the smallest.
var (
	everything = Judged()
	aboveRC    = without(everything, level.ReadCommitted)
	aboveRA    = without(aboveRC, level.ReadAtomic)
	sessions   = []level.Level{level.SessionSerializable, level.StrictSerializable, level.SessionSnapshotIsolation,
		level.StrictSnapshotIsolation, level.Causal, level.ReadAtomic}
	// sixLevels are the serializable and the snapshot levels.
	sixLevels = everything[:6]
)

// violated maps the names in the tables to these sets.
var violated = map[string][]level.Level{
	"all":                       everything,
	"above read committed":      aboveRC,
	"above read atomic":         aboveRA,
	"above causal":              without(aboveRA, level.Causal),
	"serializable":              everything[:3],
	"serializable and snapshot": sixLevels,
	"sessions":                  sessions,
	"sessions but read atomic":  without(sessions, level.ReadAtomic),
	"real time":                 {level.StrictSerializable, level.StrictSnapshotIsolation},
	"timestamps":                {everything[0], everything[1], sixLevels[3], sixLevels[4]}, // as CHRONOS' levels
	"timestamps of starts":      sixLevels[3:5],
	"timestamps of sessions":    {level.SessionSerializable, level.SessionSnapshotIsolation},
	"none":                      nil,
}

func without(ls []level.Level, l level.Level) []level.Level {
	return slices.DeleteFunc(slices.Clone(ls), func(m level.Level) bool { return m == l })
}

// anomaliesTSV has the columns catalogue ("items", "predicates" for anomalies of predicate operations, or "timestamps"
// for wrong database timestamps), name, kind, the set of levels that it violates, "fault" if it can be planted,
// description, and text with " | " between transactions.
//
//go:embed anomalies.tsv
var anomaliesTSV string

// synthesizedTSV has the columns name, class, schedule, what it violates, about, and the history as JSON lines.
//
//go:embed synthesized.tsv
var synthesizedTSV string

// eachRow calls f with the columns of each row, and the set of levels that it violates. It panics on a wrong row,
// since the tables are part of the program.
func eachRow(table string, columns int, f func(c []string, violates []level.Level)) {
	_, table, _ = strings.Cut(table, "\n") // the columns' names
	for line := range strings.Lines(table) {
		c := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(c) != columns {
			panic(fmt.Sprintf("catalogue: %q has %d columns; expected %d", line, len(c), columns))
		}
		violates, ok := violated[c[3]]
		if !ok {
			panic(fmt.Sprintf("catalogue: %s violates %q; expected the name of a set of levels", c[0], c[3]))
		}
		f(c, violates)
	}
}

func anomalies(catalogue string) []Anomaly {
	var all []Anomaly
	eachRow(anomaliesTSV, 7, func(c []string, violates []level.Level) {
		if c[0] == catalogue {
			all = append(all, Anomaly{Name: c[1], Kind: level.Anomaly(c[2]), Violates: violates, Fault: c[4] != "",
				Timestamps: catalogue == "timestamps", About: c[5], Text: strings.ReplaceAll(c[6], " | ", "\n")})
		}
	})
	return all
}

// faults returns those of the anomalies that can be planted.
func faults(all []Anomaly) []Anomaly {
	return slices.DeleteFunc(all, func(a Anomaly) bool { return !a.Fault })
}

// Anomalies returns the catalogue: the fourteen anomalies of MTC's Figure 5 with variations, then others. Brute force
// over all orders gives the same verdicts (TestAnomaliesByBruteForce).
func Anomalies() []Anomaly { return anomalies("items") }

// PredicateAnomalies returns the catalogue of anomalies of predicate reads and writes.
func PredicateAnomalies() []Anomaly { return anomalies("predicates") }

// Faults returns the anomalies without predicate operations that can be planted.
func Faults() []Anomaly { return faults(Anomalies()) }

// PredicateFaults returns the anomalies of predicate reads and writes that can be planted.
func PredicateFaults() []Anomaly { return faults(PredicateAnomalies()) }

// TimestampFaults returns the faults of database timestamps, as CHRONOS injects them (§V-D; the paper does not list its
// faults): clocks that are wrong, and transactions that are valid without their timestamps.
func TimestampFaults() []Anomaly { return anomalies("timestamps") }

// AllFaults returns all anomalies that can be planted.
func AllFaults() []Anomaly { return slices.Concat(Faults(), PredicateFaults(), TimestampFaults()) }

// SynthesizedAnomalies returns 29 anomalies: 13 RAT, 9 WAT, 7 IAT, as many as in Vbox's Table 1 (errata V29: the
// paper's text has the numbers in another order). The paper does not list them; these are Coo's, and some have
// predicates as there. Brute force gives the same verdicts (TestSynthesizedByBruteForce).
func SynthesizedAnomalies() []Synthesized {
	var all []Synthesized
	eachRow(synthesizedTSV, 6, func(c []string, violates []level.Level) {
		all = append(all, Synthesized{Name: c[0], Class: Class(c[1]), Schedule: c[2], Violates: violates, About: c[4],
			lines: c[5]})
	})
	return all
}
