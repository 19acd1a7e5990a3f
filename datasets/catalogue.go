package datasets

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"isovet/level"
)

// What an anomaly violates, from the strongest set to the weakest.
var (
	everything = Judged()
	aboveRC    = without(everything, level.ReadCommitted)
	aboveRA    = without(aboveRC, level.ReadAtomic)
	sessions   = []level.Level{level.SessionSerializable, level.StrictSerializable, level.SessionSnapshotIsolation,
		level.StrictSnapshotIsolation, level.Causal, level.ReadAtomic}
	// sixLevels are the serializable and the snapshot levels.
	sixLevels = everything[:6]
)

// violated are these sets by their names in the tables.
var violated = map[string][]level.Level{
	"all":                       everything,
	"above read committed":      aboveRC,
	"above read atomic":         aboveRA,
	"above causal":              without(aboveRA, level.Causal),
	"serializable":              everything[:3],
	"serializable and snapshot": sixLevels,
	"sessions":                  sessions,
	"sessions but read atomic":  without(sessions, level.ReadAtomic),
	"sessions, of six":          sessions[:4],
	"real time":                 {level.StrictSerializable, level.StrictSnapshotIsolation},
	"none":                      nil,
}

func without(ls []level.Level, l level.Level) []level.Level {
	return slices.DeleteFunc(slices.Clone(ls), func(m level.Level) bool { return m == l })
}

// anomaliesTSV has the columns catalogue ("items", or "predicates" for those of predicate reads and writes), name,
// kind, what it violates, "fault" where it can be planted, about, and the text with " | " between transactions.
//
//go:embed anomalies.tsv
var anomaliesTSV string

// synthesizedTSV has the columns name, class, init, what it violates, about, schedule.
//
//go:embed synthesized.tsv
var synthesizedTSV string

// eachRow calls f with the columns of each row, and with the set of levels that it violates. The tables are part of the
// program, so that a mistake in one is ours.
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

// anomalies are those of a catalogue.
func anomalies(catalogue string) []Anomaly {
	var all []Anomaly
	eachRow(anomaliesTSV, 7, func(c []string, violates []level.Level) {
		if c[0] == catalogue {
			all = append(all, Anomaly{Name: c[1], Kind: level.Anomaly(c[2]), Violates: violates, Fault: c[4] != "",
				About: c[5], Text: strings.ReplaceAll(c[6], " | ", "\n")})
		}
	})
	return all
}

// faults are those that can be planted.
func faults(all []Anomaly) []Anomaly {
	return slices.DeleteFunc(all, func(a Anomaly) bool { return !a.Fault })
}

// Anomalies returns the catalogue: the fourteen anomalies of MTC's Figure 5 with their variations, then others.
// Verdicts are those of brute force over all orders (TestAnomaliesByBruteForce).
func Anomalies() []Anomaly { return anomalies("items") }

// PredicateAnomalies returns the catalogue of anomalies of predicate reads and writes. Verdicts are for the
// serializable and the snapshot levels: those of brute force (TestPredicateAnomaliesByBruteForce).
func PredicateAnomalies() []Anomaly { return anomalies("predicates") }

// Faults returns the anomalies without predicates that can be planted.
func Faults() []Anomaly { return faults(Anomalies()) }

// PredicateFaults returns the anomalies of predicate reads and writes that can be planted.
func PredicateFaults() []Anomaly { return faults(PredicateAnomalies()) }

// SynthesizedAnomalies returns 29 anomalies: 13 RAT, 9 WAT, 7 IAT, as many as Vbox's Table 1 has (errata V29: the
// numbers are the table's, the text's are in another order). The paper does not list them; these are Coo's, with
// predicates among them as there. Verdicts are those of brute force (TestSynthesizedByBruteForce).
func SynthesizedAnomalies() []Synthesized {
	var all []Synthesized
	eachRow(synthesizedTSV, 6, func(c []string, violates []level.Level) {
		all = append(all, Synthesized{Name: c[0], Class: Class(c[1]), Init: c[2], Violates: violates, About: c[4],
			Schedule: c[5]})
	})
	return all
}
