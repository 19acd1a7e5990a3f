// Command bench is "isovet bench" by itself, so that "bench compare --workload blindw" works as written.
package main

import (
	"os"

	"isovet/internal/cli/benches"
)

func main() { os.Exit(benches.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
