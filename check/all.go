package check

import (
	"fmt"
	"slices"
	"strings"

	"isovet/check/run"
	"isovet/history"
	"isovet/level"
)

// All returns every checker: this package's, the only ones that auto needs, and those of the packages that the program
// is linked with beside it, as check/papers.
func All() []Checker {
	return append([]Checker{run.Replay{}, weakly{}, miniTxns{}, run.Vbox{}, elle{}, run.Lwt{}, chronos{}, aion{},
		leopard{}}, run.Registered()...)
}

// suited is a checker for histories of one shape, faster there than those for all. suits must be quick.
type suited interface {
	suits(h *history.History, l level.Level) bool
}

// AutoName has Choose take what Auto picks.
const AutoName = "auto"

// Choose is the checker of a name, for AutoName Auto's, or with a solver one that uses it; nil with a reason where it
// does not decide the level.
func Choose(name, solver string, h *history.History, l level.Level) (Checker, string) {
	if name == AutoName {
		c, ok := Auto(h, l)
		if ok && solver != "" {
			c = autoSolving(h, l)
			ok = c != nil
		}
		if !ok {
			return nil, fmt.Sprintf("no checker decides %s for this history%s", l, deciders(l))
		}
		return c, ""
	}
	c, err := ByName(name)
	if err != nil {
		return nil, err.Error()
	}
	if in := c.Info(); !in.Decides(l) {
		return nil, fmt.Sprintf("checker %s does not decide %s%s", name, l, deciders(l))
	}
	return c, ""
}

// deciders says which checkers decide a level.
func deciders(l level.Level) string {
	if l.IsMixed() {
		return "; auto decides it"
	}
	var names []string
	for _, c := range Deciding(l) {
		names = append(names, c.Info().Name)
	}
	if len(names) == 0 {
		return "; no checker decides it"
	}
	return "; these decide the level: " + strings.Join(names, ", ")
}

// Auto picks the fastest checker that decides the level for this history; false where none does.
func Auto(h *history.History, l level.Level) (Checker, bool) {
	if l.IsMixed() {
		return mixedLevels{}, true
	}
	deciding := Deciding(l)
	find := func(fits func(c Checker, in Info) bool) (Checker, bool) {
		i := slices.IndexFunc(deciding, func(c Checker) bool { return fits(c, c.Info()) })
		if i < 0 {
			return nil, false
		}
		return deciding[i], true
	}
	if h.HasLists() {
		if c, ok := find(func(c Checker, in Info) bool { return !in.Takes.Items }); ok {
			return c, true
		}
	}
	c, ok := find(func(c Checker, _ Info) bool { s, ok := c.(suited); return ok && s.suits(h, l) })
	if !ok {
		c, ok = find(func(_ Checker, in Info) bool { return !in.Hidden && !in.Partial && !in.Timestamps })
	}
	if !ok {
		return nil, false
	}
	return byKeys(h, l, c), true
}

// AutoSolves reports whether a checker that uses a solver can be chosen for a level.
func AutoSolves(l level.Level) bool { return autoSolving(nil, l) != nil }

// autoSolving picks the first checker that uses solvers, any of ours and other programs, and takes the history; where
// none does, the first that decides the level, which says why. nil: none decides it.
func autoSolving(h *history.History, l level.Level) (first Checker) {
	for _, c := range Deciding(l) {
		in := c.Info()
		if len(in.Solvers) == 0 || in.Hidden || in.Partial || in.Timestamps {
			continue
		}
		if h == nil || run.Refuses(in, h, l) == "" {
			return c
		}
		if first == nil {
			first = c
		}
	}
	return first
}

// Deciding lists the checkers that decide a level, in the order of All.
func Deciding(l level.Level) []Checker {
	return slices.DeleteFunc(All(), func(c Checker) bool { in := c.Info(); return !in.Decides(l) })
}
