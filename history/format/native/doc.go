// Package native reads and writes isovet's binary files. A file has a history's columns in their form in memory, so
// that it is mapped and used in place. Versions are resolved: reading does not repeat the join. docs/history-format.md
// has the layout.
//
// # Trust
//
// A file that is cut off or altered is refused, by its size or by a checksum. A file with right checksums is refused if
// no history can have its content, such as an index out of range. So a history from Read has every property that
// history.Builder ensures and checkers rely on, except one: that keys, texts and versions are listed once is not
// checked.
//
// # Mapped files
//
// The columns of a mapped file are used in place. They stay mapped until the process ends, since columns are used
// without the History that they came from. That costs only address space: the pages belong to the system's cache. A
// file must not be overwritten in place while it is in use. Write gets a new file, which package format then renames.
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
