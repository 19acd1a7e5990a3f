//go:build !checkonly

package cli

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"

	"isovet/datasets"
	"isovet/datasets/workload"
)

// heavy are the commands whose packages, with databases' clients, a message queue and charts behind them, are most of
// the program: it is built without them with -tags checkonly.
func heavy(e *env) []*cobra.Command {
	return slices.Concat([]*cobra.Command{newGen(e), newEncode(e), newWorkloads(e), newView(e)}, networked(e),
		[]*cobra.Command{newBench(e), newRun(e)})
}

// benchRoot is the tree of the other program.
func benchRoot(e *env) *cobra.Command {
	root := newBench(e)
	root.AddCommand(newRun(e))
	return root
}

// startGen is the first of the first steps.
const startGen = `  isovet gen --workload blindw --fault write-skew -o h.jsonl    a history with a planted fault
`

// startHeavy is the line of them among the first steps.
const startHeavy = `  isovet bench compare --workload blindw                        which checker is how fast?
`

// aboutHeavy says what the values of a flag of theirs mean.
func aboutHeavy(kind string, about map[string]string) {
	if kind == "workload" {
		for _, w := range workload.All() {
			about[w.Name] = w.About
		}
		return
	}
	for _, f := range slices.Concat(datasets.Faults(), datasets.PredicateFaults()) {
		about[f.Name] = f.About
	}
}

func newWorkloads(e *env) *cobra.Command {
	return newList(e, "workloads", "List the workloads: what isovet gen --workload takes",
		"workloads lists what isovet gen --workload and isovet bench compare --workload take, with their variants, "+
			"the default first.",
		func() (items []listItem) {
			for _, w := range workload.All() {
				it := listItem{Name: w.Name, About: w.About, Paper: w.Paper, Keys: w.Keys, Scales: cmp.Or(w.Scales,
					"keys"), Ops: w.Ops, Zipf: w.Zipf}
				for _, v := range w.Variants {
					if v.Name != "" {
						it.Variants = append(it.Variants, v.Name)
					}
				}
				items = append(items, it)
			}
			return items
		})
}
