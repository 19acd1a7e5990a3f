package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"isovet/internal/cli/checks"
	"isovet/internal/cli/console"
)

// Engine is how a program of its own checks, elsewhere, what memory does not hold.
type Engine = checks.Engine

// MainWith is Main of a program with another engine.
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

// Exit is the error of a command that ends the program with a status, and has said why.
func Exit(s int) error { return console.Status(s) }
