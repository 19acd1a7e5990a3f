package check

import (
	"slices"

	"isovet/history"
	"isovet/level"
)

// All returns every checker; a new one is one file and one line here.
func All() []Checker {
	return []Checker{replayer{}, weakly{}, miniTxns{}, vbox{}, cobra{}, cobraRounds{}, biswasEnea{}, elle{}, elleRegister{}, lightweight{}, porcupineLib{},
		viper{}, polysi{}, bc{}, adya{}, adya{full: true},
		chronos{}, aion{}, emme{"emme-si", false}, emme{"emme-ser", true}, leopard{}, bruteForce{}}
}

// suited is a checker for histories of one shape, faster there than those for all. suits must be quick.
type suited interface {
	suits(h *history.History, l level.Level) bool
}

// Auto picks the fastest checker that decides the level for this history; false where none does.
func Auto(h *history.History, l level.Level) (Checker, bool) {
	if h.HasLists() && slices.Contains(orderLevels, l) {
		return elle{}, true
	}
	for _, c := range All() {
		if s, ok := c.(suited); ok && slices.Contains(c.Info().Levels, l) && s.suits(h, l) {
			return byKeys(h, l, c), true
		}
	}
	for _, c := range All() {
		if in := c.Info(); !in.Hidden && !in.Partial && !in.Timestamps && slices.Contains(in.Levels, l) {
			return byKeys(h, l, c), true
		}
	}
	return nil, false
}
