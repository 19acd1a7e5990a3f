package replay

import registry "isovet/internal/bounds"

// init lets the tests lower these bounds.
func init() {
	registry.Register("replay.saturateAfter", &saturateAfter)
	registry.Register("replay.fewReaders", &fewReaders)
	registry.Register("replay.fewMoved", &fewMoved)
	registry.Register("replay.askedTogether", &askedTogether)
	registry.Register("replay.laterRounds", &laterRounds)
	registry.Register("replay.settleChained", &settleChained)
	registry.Register("replay.settleSingle", &settleSingle)
	registry.Register("replay.facts", &defaultBounds.facts)
	registry.Register("replay.words", &defaultBounds.words)
	registry.Register("replay.guards", &defaultBounds.guards)
}
