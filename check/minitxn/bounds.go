package minitxn

import "isovet/internal/bounds"

// init lets the tests lower these bounds.
func init() {
	bounds.Register("minitxn.maxWork", &maxWork)
	bounds.Register("minitxn.fewOps", &fewOps)
	bounds.Register("minitxn.patience", &patience)
	bounds.Register("minitxn.foresight", &foresight)
	bounds.Register("minitxn.fewChoices", &fewChoices)
	bounds.Register("minitxn.maxCoreSteps", &maxCoreSteps)
	bounds.Register("minitxn.maxConflict", &maxConflict)
}
