// Package native reads and writes isovet's binary files. A file has a history's columns in the form that they have in
// memory, so that they are mapped and used in place. Versions are resolved, so that reading need not repeat the join.
// docs/history-format.md has the layout.
//
// # Trust
//
// A damaged file is refused by its size or a checksum. A file with right checksums is refused too if no history can
// have its content, for example if an index is out of range. So a history from Read has every property that
// history.Builder ensures and checkers rely on, with one exception: Read does not check that keys, texts and versions
// have no duplicates.
//
// # Mapped files
//
// The columns of a mapped file are used in place. They stay mapped until the process ends, since they may be in use
// after their History is gone. That costs only address space: the pages belong to the system's cache. A file must not
// be overwritten in place while it is in use. Write writes a new file, which package format then renames.
//
// # Files
//
//   - layout.go: header and table of sections
//   - column.go: which column is which section, and bytes as columns
//   - write.go
//   - read.go: from a file, a stream or memory
//   - verify.go: checksums, and the checks of single rows, block by block on all cores
//   - check.go: checks that need more than one row
//
// Experimental: this package may still change.
package native
