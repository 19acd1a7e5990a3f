package datasets

import (
	"strings"

	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/level"
)

// Class is a class of anomalies in the taxonomy of Coo (arXiv:2206.14602): by the pairs of conflicting operations in
// the cycle.
type Class string

const (
	RAT Class = "RAT" // read anomaly type: a read of what has not been committed
	WAT Class = "WAT" // write anomaly type: none such, but an overwriting of what has not been committed
	IAT Class = "IAT" // intersection anomaly type: all others; every pair of them could arise under read committed
)

// Synthesized is an anomaly that violates serializability. It is a schedule that is executed without isolation: every
// read sees the last write of any transaction, and an abort restores the values from before. Vbox's Table 1 was made
// in this way (§5.1, in MySQL at read uncommitted). Transactions that only read, after all others have committed, show
// the last writes.
type Synthesized struct {
	Name  string
	Class Class
	About string
	// Schedule is a sequence of operations:
	//
	// 	R1x     transaction 1 reads x
	// 	W1x     it writes x, with a new value of 10 or more; W1x=3 writes the value 3
	// 	D1x     it deletes x
	// 	P1<5    it reads the rows whose value is less than 5; P1>=0 those of 0 or more
	// 	U1<5    it writes a new value to each of these rows
	// 	C1 A1   it commits, it aborts
	//
	// It begins with the rows that exist at first, as in "x=0 y=9: P1<5 C1". If none are given, every key has value 0.
	Schedule string
	// Violates lists the serializable and snapshot levels that it violates. It satisfies the others.
	Violates []level.Level
	// lines are the transactions as executed, in JSON.
	lines string
}

// History returns the executed schedule. Each transaction has its own session; client times are the numbers of steps.
func (a *Synthesized) History() *history.History {
	h, err := jsonl.Read([]byte(strings.ReplaceAll(a.lines, "} {", "}\n{")), "")
	if err != nil {
		panic("catalogue: " + a.Name + ": " + err.Error())
	}
	h.Meta.Name, h.Meta.Note = a.Name, a.About
	clear(h.Txns.Line) // it comes from no file
	return h
}
