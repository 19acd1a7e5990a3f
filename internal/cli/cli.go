package cli

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"isovet/internal/cli/checks"
	"isovet/internal/cli/console"
	"isovet/internal/cli/histories"
)

// Program says which of the two programs is run.
type Program uint8

const (
	Isovet Program = iota
	Bench          // the bench tree alone
)

// Main runs a program and returns its exit status. The first SIGINT, SIGTERM or SIGHUP asks for an orderly end, the
// second, half a second later, kills.
func Main(p Program, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return console.Run(args, stdin, stdout, stderr, func(e *console.Env) *cobra.Command { return newRoot(e, p) })
}

// Root is the tree of a program's commands, for who writes man pages and completions of it.
func Root(p Program) *cobra.Command {
	return newRoot(console.NewEnv(nil, os.Stdin, os.Stdout, os.Stderr), p)
}

func newRoot(e *console.Env, p Program) *cobra.Command {
	if p == Bench {
		root := benchRoot(e)
		console.SetUp(root, e)
		return root
	}
	root := &cobra.Command{
		Use:   "isovet",
		Short: "Did the database keep its isolation promise?",
		Long: `isovet reads a history: the transactions that the clients of a database ran, and what they saw. It says whether
the history satisfies an isolation level. "Valid" comes with an order of the transactions that explains every read.
"Violation" comes with a cycle, or with wrong reads, that can be checked by hand. A separate certifier checks both
before isovet prints them.

Start here:
` + startGen + `  isovet stats h.jsonl                                          what is in it
  isovet check h.jsonl                                          is it serializable?
` + startHeavy + `
` + console.ExitHelp,
	}
	root.Version = strings.TrimPrefix(console.BuildVersion().String(), "isovet ") // "isovet version" stands before it
	root.AddGroup(
		&cobra.Group{ID: "work", Title: "Histories:"},
		&cobra.Group{ID: "lists", Title: "What there is:"},
	)
	root.AddCommand(
		checks.NewCheck(e, nil), checks.NewVerify(e, nil), checks.NewShrink(e), checks.NewReport(e), histories.NewStats(
			e), histories.NewConvert(e),
		histories.NewLevels(e), histories.NewAnomalies(e), histories.NewCheckers(e), histories.NewFormats(
			e), histories.NewSolvers(e),
		checks.NewProfiles(e), console.NewVersion(e),
	)
	root.AddCommand(heavy(e)...)
	console.SetUp(root, e)
	return root
}
