package store

import (
	"math"

	"isovet/datasets/workload"
)

// NoTime marks a time that the log does not have.
const NoTime = math.MinInt64

// Absent is the value that a read finds if there is no row, and that a delete writes.
const Absent = -1

// Initial is the value that loaded rows have at first.
const Initial = 0

// Status is a transaction's outcome as its client knows it.
type Status uint8

const (
	Committed Status = iota
	Aborted
	Unknown
)

// OpKind is the kind of a logged operation.
type OpKind uint8

const (
	Read       OpKind = iota
	Write             // deletes too
	Append            // to a list
	PredRead          // Value: index into Log.Preds
	PredWrite         // Value: index into Log.Preds
	ScriptRead        // a predicate read of the script; Value: index into Log.Scripts
	ScriptWrite
)

// LogOp is an operation. Value identifies the version read or written. It is Absent or, in a plain table, the unique
// id of the write, or Initial; in a table with columns, the index of the row in Log.Cells; in a table of lists, the
// index of the last element in Log.Elems.
type LogOp struct {
	Value      int64
	Start, End int64
	Row        uint32
	Kind       OpKind
}

// LogPred is an operation with a condition. Matched[Off:Off+N] are the rows for which the condition was true.
type LogPred struct {
	Table int
	Where []workload.Range
	Off   int
	N     int32
}

// LogMatch is a row for which a condition was true, with its version and, in a predicate write, the new version.
type LogMatch struct {
	Row      uint32
	Old, New int64
}

// LogElem is an element of a list, and the index of the element before it, or Absent.
type LogElem struct{ ID, Before int64 }

// LogIs is a condition that is true for one version of a row or, with Not, for all other versions of the row.
type LogIs struct {
	Row     uint32
	Version int64
	Not     bool
}

// LogScriptPred is a predicate of a script. It is true if one of Of is. Matched is what it returned.
type LogScriptPred struct {
	Of      []LogIs
	Matched []LogMatch
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
	Planted            bool  // by a script, or for whom something failed
	Script             int32 // of a script's: 1 + its place among Config.Scripts
}

// Log is what the clients of a run saw, in the order in which the server ended the transactions.
type Log struct {
	Tables  []workload.Table
	Rows    []workload.Key // row → key
	Touched []bool         // by an operation of the log
	Txns    []LogTxn
	Ops     []LogOp
	Preds   []LogPred
	Matched []LogMatch
	Scripts []LogScriptPred
	Cells   []int64 // rows, each the unique id of its write and then its columns
	Elems   []LogElem
	Stats   Stats

	cells []int // table with columns → where its loaded rows begin in Cells
}

// Loaded reports whether a row existed at the start.
func (l *Log) Loaded(row uint32) bool {
	k := l.Rows[row]
	return k.PK() < int64(l.Tables[k.Table()].Rows)
}

// First returns the value of a row at the start.
func (l *Log) First(row uint32) int64 {
	k := l.Rows[row]
	t := k.Table()
	switch {
	case !l.Loaded(row):
		return Absent
	case l.Tables[t].Columns == nil:
		return Initial
	}
	return int64(l.cells[t]) + k.PK()*int64(1+len(l.Tables[t].Columns))
}

// Columns returns the columns of a version, which must not be Absent, in a table with columns.
func (l *Log) Columns(table int, version int64) []int64 {
	return l.Cells[version+1 : version+1+int64(len(l.Tables[table].Columns))]
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
