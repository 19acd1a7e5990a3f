package probe

import (
	_ "embed"
	"fmt"
	"strings"

	"isovet/level"
)

// Phenomenon is an anomaly that Run looks for. It has schedules that cause it on a database that allows it, and the
// weakest level that forbids it. A schedule shows it if the schedule's history violates that level.
type Phenomenon struct {
	Name  string
	About string
	Level level.Level
	// Kinds are the names that checkers give it when they find it in a random load.
	Kinds []level.Anomaly
	// Schedules are in the notation of ParseSchedule.
	Schedules []string
}

// phenomenaTSV has a row for each: its name, the level, the kinds separated by blanks, what it is, and the schedules
// separated by " | ".
//
//go:embed phenomena.tsv
var phenomenaTSV string

// Phenomena lists the phenomena that Run looks for, the worst first. The schedules are those of the papers that named
// them: Berenson et al. (SIGMOD 1995) A1 to A5B and P4, Adya (1999) G0 to G2, Fekete et al. (2004) for the read-only
// anomaly. Readers are added at the end if the writers' effects would not show otherwise.
func Phenomena() []Phenomenon {
	var all []Phenomenon
	_, rows, _ := strings.Cut(phenomenaTSV, "\n") // the columns' names
	for row := range strings.Lines(rows) {
		c := strings.Split(strings.TrimSuffix(row, "\n"), "\t")
		l, err := level.Parse(c[1])
		if err != nil {
			panic(fmt.Sprintf("phenomena.tsv: %s: %v", c[0], err))
		}
		ph := Phenomenon{Name: c[0], Level: l, About: c[3], Schedules: strings.Split(c[4], " | ")}
		for _, kind := range strings.Fields(c[2]) {
			ph.Kinds = append(ph.Kinds, level.Anomaly(kind))
		}
		all = append(all, ph)
	}
	return all
}
