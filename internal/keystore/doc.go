// Package keystore remembers something of every key of an endless stream in memory that does not grow: what has not
// been used for long lies on disk, and comes back when it is asked for.
//
// A [Table] numbers texts, keys of a database or names of sessions, for as long as they are in memory; the numbers are
// small and are given again. Whoever owns the table keeps its own state under these numbers, and says it in bytes when
// a number is to go. A [Store] holds these bytes, by kind and text: an LSM tree (Pebble). It needs no log of its own,
// since the stream can be read again from a checkpoint. Its files never change, so a checkpoint is a folder of hard
// links.
//
// Why Pebble: docs/design/004-where-idle-keys-lie.md.
//
// Files: table.go: numbers, and which of them go; store.go: the disk; filter.go: which keys the disk surely has not.
//
// Experimental: this package may still change.
package keystore
