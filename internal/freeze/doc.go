// Package freeze writes the value that a pointer refers to, with unexported fields, to a file, and reads it into a
// value of the same type. So an algorithm can continue in another process as if it had not been interrupted.
//
// It writes all fields except those tagged `freeze:"-"`, which keep their values when the file is read: they are set
// by a constructor, such as options and functions. So a new field cannot be forgotten; a field that cannot be written,
// such as a function without this tag, is an error. If a type's pointer has a method Thawed, it is called after
// reading, to compute the fields left out. Equal pointers are equal afterwards; slices become separate, with their
// capacities. A pointer into a slice or struct that is also reached otherwise must be left out, since it would get a
// value of its own. The fields of a struct tagged `freeze:"flat"` are written as fields of the outer struct, so that
// fields can be grouped and old files can still be read. `freeze:"as=NAME"` gives a field the name NAME in the file,
// for fields that were renamed.
//
// # The file
//
// A magic line, and for each value its type as JSON and its content: numbers with the least byte first, lengths as
// varints, for a pointer the number of its target. Then the length, and a checksum (CRC-32C). Fields are matched by
// name: those that the file lacks keep their values, those that the type lacks are skipped, and integers may be wider
// than in the file.
//
// Cost: near that of copying for slices of numbers and of structs without pointers; otherwise some 10 ns a value, and
// 100 ns a map entry.
package freeze
