//go:build !checkonly

package cli

import "github.com/spf13/cobra"

// heavy are the commands whose packages, with databases' clients, a message queue and charts behind them, are most of
// the program: it is built without them with -tags checkonly.
func heavy(e *env) []*cobra.Command {
	return []*cobra.Command{newCollect(e), newHunt(e), newProbe(e), newWatch(e), newBench(e), newRun(e)}
}

// benchRoot is the tree of the other program.
func benchRoot(e *env) *cobra.Command {
	root := newBench(e)
	root.AddCommand(newRun(e))
	return root
}

// startHeavy is the line of them among the first steps.
const startHeavy = `  isovet bench compare --workload blindw                        which checker is how fast?
`
