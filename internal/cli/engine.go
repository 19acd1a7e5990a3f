package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"isovet/internal/cli/checks"
	"isovet/internal/cli/console"
)

// Engine is how another program checks histories that do not fit in memory.
type Engine = checks.Engine

// MainWith is Main for a program with such an engine.
func MainWith(x *Engine, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if x.Close != nil {
		defer x.Close()
	}
	return console.Run(args, stdin, stdout, stderr, func(e *console.Env) *cobra.Command {
		check := checks.NewCheck(e, x)
		check.Long += "\n\n" + x.Long
		check.Example = x.Example
		root := &cobra.Command{Use: x.Program, Short: x.Short, Long: x.Long + "\n\n" + console.ExitHelp,
			Version: strings.TrimPrefix(console.BuildVersion().String(), "isovet ")}
		root.AddGroup(&cobra.Group{ID: "work", Title: "Histories:"})
		root.AddCommand(check, console.NewVersion(e))
		root.AddCommand(x.Commands...)
		console.SetUp(root, e)
		return root
	})
}

// Exit returns the error by which a command ends the program with a status, after printing the reason.
func Exit(s int) error { return console.Status(s) }
