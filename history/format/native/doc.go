// Package native is isovet's binary file of a history: its columns as they lie in memory, so that a file is mapped and
// used in place. Versions are resolved: reading does not repeat the join. docs/history-format.md has the layout.
//
// # Trust
//
// A file that is cut off or altered anywhere is refused, by its size or by a checksum; so is one whose checksums are
// right but whose content no history could have, such as an index out of range: what Read returns keeps every promise
// that history.Builder keeps and that a checker relies on, but one: that keys, texts and versions are each listed once
// is the writer's word.
//
// # Mapped files
//
// The columns of a mapped file are used where they are. They stay mapped for as long as the process lives, since
// columns are handed on without the History they came from; what that costs is address space, as the pages belong to
// the system's cache. A file must not be overwritten in place while it is in use. Write is to be given a new file,
// which package format then renames.
//
// # Files
//
//   - layout.go: header and table of sections
//   - column.go: which column is which section, and bytes as columns
//   - write.go
//   - read.go: from a file, a stream or memory
//   - verify.go: checksums, and the checks of single rows, block by block on all cores
//   - check.go: what takes more than a row to see
//
// Experimental: this package may still change.
package native
