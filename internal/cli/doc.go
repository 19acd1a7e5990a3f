// Package cli has the tree of isovet's commands: flags in, exit status out. Each group of commands is a package below
// it; package console has what they share; other packages do the work. The part of the tree that every program has is
// package base. The tests of the commands are here: scripts (testdata/script) that run them in processes.
package cli
