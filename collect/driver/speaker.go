package driver

// Answer is what a statement of the user's gave.
type Answer struct {
	Columns []string
	// Rows have a value for each column: int64, string, or nil.
	Rows     [][]any
	Affected int64 // rows that it inserted, changed or deleted
}

// Speaker is a Session that runs statements of the user's own.
type Speaker interface {
	// Say runs one statement, in which all values are written out.
	Say(statement string) (Answer, error)
}
