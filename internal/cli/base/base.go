// Package base has the commands that every program of isovet has: those that read, check and explain histories.
// cmd/isovet-check has only these; package cli adds the others.
package base

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"isovet/internal/cli/checks"
	"isovet/internal/cli/console"
	"isovet/internal/cli/histories"
)

// Main runs the program isovet-check and returns its exit status.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return console.Run(args, stdin, stdout, stderr, func(e *console.Env) *cobra.Command {
		root := Root(e, "", "")
		root.Long += "\n\nThis program only checks. " +
			"The full isovet also has gen, collect, hunt, probe, watch and bench."
		for _, name := range []string{"gen", "encode", "workloads", "view", "collect", "hunt", "replay", "campaign",
			"probe", "watch", "bench"} {
			root.AddCommand(&cobra.Command{Use: name, Hidden: true, DisableFlagParsing: true,
				RunE: func(*cobra.Command, []string) error {
					return console.Usagef("this program only checks; %s is a command of the full isovet", name)
				}})
		}
		console.SetUp(root, e)
		return root
	})
}

// Root returns the tree of these commands. Its help also shows the examples before and behind. The caller adds its own
// commands and calls [console.SetUp].
func Root(e *console.Env, before, behind string) *cobra.Command {
	root := console.Command("isovet", nil, nil)
	root.Example = before + root.Example + "\n" + behind
	root.Version = strings.TrimPrefix(console.BuildVersion().String(), "isovet ") // "isovet version" stands before it
	root.AddGroup(&cobra.Group{ID: "work", Title: "Histories:"}, &cobra.Group{ID: "lists", Title: "Lists:"})
	e.Add(console.Commands{
		"check":  func(e *console.Env) *cobra.Command { return checks.NewCheck(e, nil) },
		"verify": checks.NewVerify, "shrink": checks.NewShrink, "report": checks.NewReport,
		"stats": histories.NewStats, "convert": histories.NewConvert, "levels": histories.NewLevels,
		"anomalies": histories.NewAnomalies, "checkers": histories.NewCheckers, "formats": histories.NewFormats,
		"solvers": histories.NewSolvers, "profiles": checks.NewProfiles, "version": console.NewVersion,
	})
	return root
}
