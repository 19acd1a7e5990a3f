package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"isovet/check/run"
	"isovet/history"
	"isovet/level"
)

// All returns every checker. The checkers of this package are all that auto needs; other packages of the program, such
// as check/papers, add theirs.
func All() []Checker {
	return append([]Checker{run.Replay{}, weakly{}, miniTxns{}, run.Vbox{}, elle{}, run.Lwt{}, chronos, aion,
		leopard{}}, run.Registered()...)
}

// suited is a checker for histories of one shape, on which it is faster than checkers for all histories. suits must be
// quick.
type suited interface {
	suits(h *history.History, l level.Level) bool
}

// AutoName is the name with which Choose returns the checker that Auto picks.
const AutoName = "auto"

// Choose returns the checker of a name. For AutoName that is Auto's, or with a solver one that uses solvers. If it does
// not decide the level, Choose returns nil with a reason.
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

// deciders names the checkers that decide a level, as the end of a message.
func deciders(l level.Level) string {
	if l.IsMixed() {
		return "; auto decides it"
	}
	names := Names(Deciding(l))
	if names == nil {
		return "; no checker decides it"
	}
	return "; these decide the level: " + strings.Join(names, ", ")
}

// Auto picks the fastest checker that decides the level for this history, or returns false if there is none.
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

// AutoSolves reports whether auto can pick a checker that uses a solver for a level.
func AutoSolves(l level.Level) bool { return autoSolving(nil, l) != nil }

// autoSolving picks the first checker that uses solvers, isovet's or other programs, and takes the history. If there is
// none, it returns the first one that decides the level, which then gives the reason; or nil.
func autoSolving(h *history.History, l level.Level) (first Checker) {
	for _, c := range Deciding(l) {
		in := c.Info()
		if len(in.Solvers) == 0 || in.Hidden || in.Partial || in.Timestamps {
			continue
		}
		if h == nil || run.Refuses(in, h, l) == "" {
			return c
		}
		first = cmp.Or(first, c)
	}
	return first
}

// Deciding lists the checkers that decide a level, in the order of All.
func Deciding(l level.Level) []Checker {
	return slices.DeleteFunc(All(), func(c Checker) bool { in := c.Info(); return !in.Decides(l) })
}
