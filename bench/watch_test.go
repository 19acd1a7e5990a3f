package bench_test

import (
	"os"

	"isovet/internal/cli"
)

// This test program is the isovet whose watch figures measure, too.
func init() {
	if len(os.Args) > 1 && os.Args[1] == "watch" {
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
}
