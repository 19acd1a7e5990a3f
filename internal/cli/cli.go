package cli

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	_ "isovet/bench/charts" // packages that register themselves: smaller programs go without
	_ "isovet/bench/databases"
	"isovet/check/shrink"
	"isovet/collect/campaign"
	_ "isovet/collect/driver/all"
	_ "isovet/history/format/parquet"
	_ "isovet/history/format/xz"
	"isovet/internal/cli/base"
	"isovet/internal/cli/benches"
	"isovet/internal/cli/collects"
	"isovet/internal/cli/console"
	"isovet/internal/cli/watches"
	"isovet/internal/cli/workloads"
	"isovet/report/incident"
)

// Main runs isovet and returns its exit status. The first SIGINT, SIGTERM or SIGHUP asks for an orderly end; a second
// one, at least half a second later, kills.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return console.Run(args, stdin, stdout, stderr, newRoot)
}

// Root returns the tree of isovet's commands, for programs that write man pages and completions.
func Root() *cobra.Command { return newRoot(console.NewEnv(nil, os.Stdin, os.Stdout, os.Stderr)) }

func newRoot(e *console.Env) *cobra.Command {
	e.Incident = func(r *shrink.Result, dir string) error {
		return incident.Of(r, console.BuildVersion().String()).Write(dir)
	}
	root := base.Root(e,
		`  isovet gen --workload blindw --fault write-skew -o h.jsonl    a history with a planted fault
`, `  isovet probe --db sqlite:                                     what does a database allow?
  isovet bench compare --workload blindw                        which checker is how fast?
`)
	e.Add(console.Commands{
		"gen": workloads.NewGen, "encode": workloads.NewEncode, "workloads": workloads.NewWorkloads, "view": newView,
		"collect": collects.NewCollect, "hunt": collects.NewHunt, "replay": collects.NewReplay,
		"campaign": collects.NewCampaign, "probe": collects.NewProbe, "proxy": collects.NewProxy,
		"databases": collects.NewDatabases, "watch": watches.NewWatch, "bench": newBench,
		"__run": benches.NewRun,
	})
	console.SetUp(root, e)
	return root
}

// newBench returns the command bench with grid. The smaller program bench has no grid, since it has no YAML.
func newBench(e *console.Env) *cobra.Command {
	c := benches.NewBench(e)
	c.AddCommand(benches.NewGrid(e, campaign.Decode))
	return c
}
