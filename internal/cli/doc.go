// Package cli is the tree of isovet's commands: flags in, exit status out. A group of commands is a package below it,
// what they share is package console; what a command does is done by the packages below. Here is the tree of
// isovet, of which package base has the part that every program has, and the tests of the commands: scripts
// (testdata/script) that run them in processes.
package cli
