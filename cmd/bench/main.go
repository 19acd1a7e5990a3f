//go:build !checkonly

// Command bench is "isovet bench" by itself, so that "bench compare --workload blindw" works as written.
package main

import (
	"os"

	"isovet/internal/cli"
)

func main() { os.Exit(cli.Main(cli.Bench, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
