// Command isovet-check is isovet without databases, message queues and charts. It reads, checks and explains histories.
package main

import (
	"os"

	"isovet/internal/cli/base"
)

func main() { os.Exit(base.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
