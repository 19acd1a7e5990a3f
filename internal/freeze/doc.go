// Package freeze writes what a pointer points to, unexported fields included, to a file, and reads it back into a value
// of the same type: the state of an algorithm that is to go on in another process as if nothing had been.
//
// Everything is taken but fields tagged `freeze:"-"`, which keep the value that they have when it is read back: what a
// constructor sets, such as options and functions. So a field that is added later is not forgotten; one that cannot be
// written, such as a function or a channel without that tag, is an error. A type with a method Thawed, on its pointer,
// has it called once its value is there, to make again what was left out. Pointers that are equal are so afterwards;
// slices become separate, with their capacities. A pointer into a slice or struct that is reached otherwise too must be
// left out: it would become a value of its own. The fields of a struct whose field is tagged `freeze:"flat"` are written
// as if they were the outer struct's: so fields can be grouped, and files of before are still read. A field tagged
// `freeze:"as=NAME"` has that name in the file: it was renamed, and files of before are still read.
//
// # The file
//
// A magic line, and for each value its type as JSON and the value: numbers with the least byte first, lengths as
// varints, of a pointer the number of what it points to. Behind all that its length, and a checksum (CRC-32C). Fields
// go by their names: those that the file does not know keep their values, those that the type does not know are passed
// over, and integers may have become wider.
//
// Cost: near that of copying for slices of numbers and of structs without pointers; some 10 ns a value elsewhere, and
// 100 ns an entry of a map.
package freeze
