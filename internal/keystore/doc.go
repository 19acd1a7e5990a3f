// Package keystore stores the state of every key of an endless stream in bounded memory: states that have not been
// used for long are on disk, and are loaded when they are needed.
//
// A [Table] gives numbers to texts (keys of a database, names of sessions) while they are in memory; the numbers are
// small and are reused. The owner of the table stores its own state under these numbers, and converts it to bytes when
// a number is freed. A [Store] stores these bytes, by kind and text, in an LSM tree (Pebble). It needs no log of its
// own, since the stream can be read again from a checkpoint. Its files never change, so that a checkpoint is a folder
// of hard links.
//
// Why Pebble: docs/design/004-where-idle-keys-lie.md.
//
// Files: table.go: numbers, and which are freed; store.go: the disk; filter.go: which keys are certainly not on disk.
//
// Experimental: this package may still change.
package keystore
