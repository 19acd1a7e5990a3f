// Package fressian reads the binary files of Jepsen's stores, test.jepsen and test.fressian, and tells the history in
// them as EDN, which package jepsen reads: one reader says what operations mean.
//
// A test.jepsen is blocks, each with its length and checksum, that an index names by number: the root block is the
// test's map, whose history is one block, or a vector in blocks of 16,384 operations each. A test.fressian is one such
// map. Values are Fressian's, a binary notation of Clojure's data; what comes twice is a reference to the first,
// within one block.
//
// A tag that is not known here stays a tag before its fields. Text may be 64 times as long as the file: more is an
// error, since references to references can say anything as often as they like.
//
// Source: jepsen.store.format and jepsen.store.fressian in Jepsen, org.fressian.impl in Datomic's fressian.
//
// Experimental: this package may still change.
package fressian
