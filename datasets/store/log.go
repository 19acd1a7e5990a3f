package store

import (
	"math"

	"isovet/datasets/workload"
)

// NoTime marks a time that the log does not have.
const NoTime = math.MinInt64

// Absent is the value that a read finds where there is no row, and that a delete writes.
const Absent = -1

// Initial is the value that loaded rows hold at first.
const Initial = 0

// Status is a transaction's outcome as its client knows it.
type Status uint8

const (
	Committed Status = iota
	Aborted
	Unknown
)

// LogOp is one operation: Value is the unique id of the version read or written, Absent, or Initial.
type LogOp struct {
	Value      int64
	Start, End int64
	Row        uint32
	Write      bool
}

// LogTxn is one attempt at a transaction, with operations Ops[Off:Off+N].
type LogTxn struct {
	Start, Commit, End int64 // client times; NoTime: never sent, or no answer
	StartTS, CommitTS  int64 // the store's own; NoTime: none
	Off                int
	N                  int32
	Session            uint32
	Name               string
	Status             Status
	Planted            bool // by the script
}

// Log is what the clients of a run saw, in the order in which the server ended the transactions.
type Log struct {
	Tables  []workload.Table
	Rows    []workload.Key // row → key
	Touched []bool         // by an operation of the log
	Txns    []LogTxn
	Ops     []LogOp
	Stats   Stats
}

// Loaded reports whether a row was there at the start.
func (l *Log) Loaded(row uint32) bool {
	k := l.Rows[row]
	return k.PK() < int64(l.Tables[k.Table()].Rows)
}

// Stats counts what happened in a run.
type Stats struct {
	Committed  int
	Rollbacks  int // by the client
	Unknown    int
	Deadlocks  int
	Conflicts  int   // first updater wins
	Dangerous  int   // pivots of two anti-dependencies
	Waits      int   // operations that waited for a lock
	SimulateNS int64 // simulated time
}
