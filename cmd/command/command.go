// Package command lets another program run isovet, for programs that add their own databases
// (collect/driver.RegisterStore, Register).
//
// Stable: this package's API changes only with a new major version.
package command

import (
	"os"

	"isovet/internal/cli"
)

// Main runs isovet with the program's arguments and ends the program with isovet's exit status.
func Main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
