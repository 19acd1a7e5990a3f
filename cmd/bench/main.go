// Command bench runs "isovet bench" as a program of its own, so that "bench compare --workload blindw" works as
// written.
package main

import (
	"os"

	"isovet/internal/cli/benches"
)

func main() { os.Exit(benches.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
