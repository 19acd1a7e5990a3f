package timestamp

import "isovet/internal/bounds"

// init lets the tests lower these bounds.
func init() {
	bounds.Register("timestamp.maxAhead", &maxAhead)
}
