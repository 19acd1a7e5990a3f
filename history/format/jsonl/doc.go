// Package jsonl reads and writes isovet's own history format: JSON lines with an optional header and then one
// transaction on each line, as docs/history-format.md defines it.
//
// # How a line is read
//
// Programs write most files, without white space and without escapes. The scanner (scan.go) knows the schema: it
// switches on the first bytes of a field's name, parses integers in place, eight digits at a time, and adds each
// operation to a [history.Builder] at once, so that a line needs no allocation. It accepts fields in any order. At
// anything unexpected (white space, an escape, an unknown field, an error) the tolerant reader (tolerant.go) reads the
// line again. It accepts all of JSON and explains errors; it does not add again the operations that the scanner has
// added. Both give identical histories, and a third reader in the tests, made of encoding/json, agrees with them.
//
// # Pieces
//
// A large file is cut at line ends into one piece for each core. Each piece fills a builder of its own, and the
// builders are merged in order (history.Builder.Merge). Compressed input is read in blocks that end at line ends: one
// core decompresses a block while another scans the block before, so that memory never has all of it.
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
