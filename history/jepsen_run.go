package history

// Run is what the file of a Jepsen test says besides the transactions, on the clock of Txns.Start. It is for figures.
// No checker uses it.
type Run struct {
	Events []Event // the operations of the nemesis, which makes faults, in the file's order
	Calls  []Call  // the operations that are not committed transactions: failed, unknown, or not judged
}

// Event is an operation of a nemesis, such as start-partition.
type Event struct {
	At int64
	F  string
}

// Call is an operation of a client. End is NoTime if it never returned.
type Call struct {
	Start, End int64
	Status     Status
}
