package driver

// Answer is the answer to a user's statement.
type Answer struct {
	Columns []string
	// Rows have a value for each column: int64, string, or nil.
	Rows     [][]any
	Affected int64 // rows that it inserted, changed or deleted
}

// Speaker is a Session that runs the user's own statements.
type Speaker interface {
	// Say runs one statement with all values written out.
	Say(statement string) (Answer, error)
}
