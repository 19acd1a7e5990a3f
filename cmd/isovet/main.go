// Command isovet finds out whether a database kept its isolation promise. See isovet --help, or docs/cli.md.
package main

import (
	"os"

	"isovet/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
