package weak

import "isovet/internal/bounds"

// init lets the tests lower these bounds.
func init() {
	bounds.Register("weak.maxGuesses", &maxGuesses)
	bounds.Register("weak.maxWalk", &maxWalk)
	bounds.Register("weak.maxDirect", &maxDirect)
	bounds.Register("weak.maxChoices", &maxChoices)
	bounds.Register("weak.maxConflicts", &maxConflicts)
	bounds.Register("weak.maxPicks", &maxPicks)
	bounds.Register("weak.fewWrites", &fewWrites)
	bounds.Register("weak.maxClocks", &maxClocks)
}
