// Package jsonl reads and writes the project's own history format: JSON lines, an optional header and then one
// transaction a line, as docs/history-format.md defines it.
//
// # How a line is read
//
// Most files are written by programs, without white space and without escapes. The scanner (scan.go) knows the schema:
// it switches on the first bytes of a field's name, parses integers in place, eight digits at a time, and hands each
// operation to a [history.Builder] at once, so that nothing is allocated for a line. Any order of fields is fine with
// it. On a surprise, be it white space, an escape, an unknown field or an error, the line is read again by the tolerant
// reader (tolerant.go), which knows all of JSON and explains what is wrong; operations that the scanner has already
// handed over are not handed over twice. Both give identical histories, and a third reader in the tests, made of
// encoding/json, agrees with them.
//
// # Pieces
//
// A large file is cut at line ends into one piece for each core; each piece fills a builder of its own, and the
// builders are merged in order (history.Builder.Merge). Compressed input is read in blocks that end at line ends,
// decompressed on one core while the block before is scanned on another; it never stands in memory as a whole.
//
// Files:
//
//   - read.go: Read, ReadParallel, ReadFrom: pieces, blocks, lines
//   - stream.go: lines of a stream, each by itself
//   - scan.go: the scanner; scan_predicate.go: of predicates; introws.go: of rows of integers
//   - tolerant.go: the tolerant reader of lines; tolerant_values.go: of JSON texts and numbers; value.go: of values and
//     operations; predicate.go: of predicates
//   - write.go: the writer
//
// Experimental: this package may still change.
package jsonl
