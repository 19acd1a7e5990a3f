package watches

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"isovet/internal/cli/console"
	"isovet/internal/escape"
	"isovet/watch"
)

// incidentFlags say how violations are told.
type incidentFlags struct {
	every bool
	max   int64
	kept  int
	early bool
	// folders is how many incidents have one.
	folders int
}

// minViolations is what the files of violations may take at least.
const minViolations = 64 << 10

func (f *incidentFlags) add(fl *pflag.FlagSet) {
	f.max = 256 << 20
	fl.BoolVar(&f.every, "all-violations", false, "write every violation of an incident")
	fl.Var(console.Size(&f.max), "violations-max", "`BYTES` of the files of violations, rotated")
	fl.BoolVar(&f.early, "suspects", false, "print reads that wait for a writer")
	fl.IntVar(&f.kept, "evidence", 100, "small histories to keep in FOLDER/evidence")
	fl.IntVar(&f.folders, "incident-folders", 20, "incident folders to keep in FOLDER/incidents")
}

func (f *incidentFlags) check() error {
	if f.max < minViolations {
		return console.Usagef("--violations-max %v; expected %d at least", console.Size(&f.max), minViolations)
	}
	if f.folders < 0 {
		return console.Usagef("--incident-folders %d is negative", f.folders)
	}
	if f.kept < 0 {
		return console.Usagef("--evidence %d is negative", f.kept)
	}
	return nil
}

// say tells at the end how many incidents there are.
func (f *incidentFlags) say(w io.Writer, state string, of *watch.Incidents) {
	all := of.List()
	total, found := int64(0), int64(0)
	for _, x := range all {
		if !x.Unjudged {
			found++
			total += x.Count
		}
	}
	if found > 0 {
		fmt.Fprintf(w, "isovet: violations %d, incidents %d: %s\n", total, found,
			escape.Shell(state+"/incidents.jsonl"))
	}
}
