// Package cli holds the commands of isovet: flags in, exit status out. What a command does is done by the packages
// below; here is only how a person, a script or a CI job asks for it and is told the answer.
//
// Results go to standard output, everything else to standard error. "-" is standard input. The exit statuses are
// Jepsen's set (docs/cli.md): every way out of the program goes through [Main], which maps an error to its status in
// one place (exit.go).
//
// # Files
//
//   - cli.go: the command tree and Main
//   - exit.go: statuses, which error has which, the worst of several
//   - flags.go: flags whose values come from a list, sizes in bytes
//   - load.go: a history from a path or standard input
//   - check.go, verify.go, stats.go, convert.go, gen.go, lists.go, bench.go: a command each
//   - guard.go: time-outs, the memory bound, interrupts
//   - progress.go: the bar on a terminal, a line now and then elsewhere
//   - table.go: tables for people
package cli
