// Package fressian reads the binary files of Jepsen's stores, test.jepsen and test.fressian. It returns their history
// as EDN, which package jepsen reads: so one reader defines the meaning of operations.
//
// A test.jepsen consists of blocks, each with its length and checksum. An index numbers them. The root block is the
// test's map; its history is one block, or a vector in blocks of 16,384 operations each. A test.fressian is one such
// map. Values are in Fressian, a binary notation of Clojure's data. Within a block, a repeated value is a reference to
// the first.
//
// An unknown tag stays a tag before its fields. The text may be 64 times as long as the file. A longer one is an error,
// since references to references can repeat a value without bound.
//
// Source: jepsen.store.format and jepsen.store.fressian in Jepsen, org.fressian.impl in Datomic's fressian.
//
// Experimental: this package may still change.
package fressian
