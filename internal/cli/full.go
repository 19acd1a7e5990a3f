//go:build !checkonly

package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"isovet/internal/cli/benches"
	"isovet/internal/cli/console"
	"isovet/internal/cli/workloads"
)

// heavy are the commands whose packages, with databases' clients, a message queue and charts behind them, are most of
// the program: it is built without them with -tags checkonly.
func heavy(e *console.Env) []*cobra.Command {
	return slices.Concat([]*cobra.Command{workloads.NewGen(e), workloads.NewEncode(e), workloads.NewWorkloads(e),
		newView(e)}, networked(e),
		[]*cobra.Command{benches.NewBench(e), benches.NewRun(e)})
}

// benchRoot is the tree of the other program.
func benchRoot(e *console.Env) *cobra.Command {
	root := benches.NewBench(e)
	root.AddCommand(benches.NewRun(e))
	return root
}

// startGen is the first of the first steps.
const startGen = `  isovet gen --workload blindw --fault write-skew -o h.jsonl    a history with a planted fault
`

// startHeavy is the line of them among the first steps.
const startHeavy = `  isovet bench compare --workload blindw                        which checker is how fast?
`
