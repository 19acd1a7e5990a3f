package lists

import "isovet/internal/bounds"

// init lets the tests lower these bounds.
func init() {
	bounds.Register("lists.maxWays", &maxWays)
	bounds.Register("lists.maxSteps", &maxSteps)
	bounds.Register("lists.maxBlamed", &maxBlamed)
	bounds.Register("lists.maxWork", &maxWork)
	bounds.Register("lists.maxCycles", &maxCycles)
}
