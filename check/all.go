package check

import (
	"slices"

	"isovet/history"
	"isovet/level"
)

// All returns every checker; a new one is one file and one line here.
func All() []Checker {
	return []Checker{replayer{}, vbox{}, cobra{}, biswasEnea{}, elle{}, elleRegister{}, chronos{}, bruteForce{}}
}

// Auto picks the fastest checker that decides the level for this history; false where none does.
func Auto(h *history.History, l level.Level) (Checker, bool) {
	if h.HasLists() && slices.Contains(orderLevels, l) {
		return elle{}, true
	}
	for _, c := range All() {
		if in := c.Info(); !in.Hidden && !in.Partial && !in.Timestamps && slices.Contains(in.Levels, l) {
			return c, true
		}
	}
	return nil, false
}
