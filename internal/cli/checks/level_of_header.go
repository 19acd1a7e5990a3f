package checks

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"isovet/check"
	"isovet/check/mechanism"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/cli/console"
	"isovet/internal/escape"
	"isovet/internal/slice"
	"isovet/level"
)

// levelFlag adds --level to a command that without it uses the level of the history's header.
func levelFlag(c *cobra.Command, to latticeValue, choices string) {
	c.Flags().Var(to, "level", "isolation level"+choices+" (isovet levels)")
	c.Flags().Lookup("level").DefValue = "the file's"
	all := append(console.LevelCompletions(), cobra.CompletionWithDesc(level.Mixed(0).String(), level.Mixed(0).About()))
	if to.all != nil {
		all = append(all, cobra.CompletionWithDesc(allLevels, "every level"))
	}
	console.Complete(c, "level", all)
}

// named returns the level to check for a history with this header: the requested one or, without --level, the level
// that the header names or a Jepsen test asks for, if the checker decides it. why says why it differs from the default.
func (f *CheckFlags) named(m *history.Meta) (at level.Level, why string) {
	if f.levelSet || f.profile != nil {
		return f.level, ""
	}
	switch {
	case m.Isolation != "":
		at, why = mechanism.LevelOf(m.DB, m.Isolation)
	case m.Asks != "":
		if asked, err := level.Parse(m.Asks); err == nil {
			at, why = asked, "Jepsen's checkers judge such a test so"
		}
	}
	if at == f.level || why == "" {
		return f.level, ""
	}
	if c, err := check.ByName(f.judge.name); err == nil {
		if in := c.Info(); !in.Decides(at) {
			return f.level, ""
		}
	}
	return at, why
}

// sayNamed says on standard error which level a history's header sets, and how to request another.
func (f *CheckFlags) sayNamed(e *console.Env, path string, m *history.Meta) {
	if at, why := f.named(m); why != "" && f.judge.name != "leopard" {
		fmt.Fprintf(e.Stderr, "isovet: %s: judged at %s: %s; --level asks for another\n", path, at, escape.Line(why))
	}
}

// own returns the level to check for a history in which transactions name levels; at is the level of the others. If
// all name the same level, it is this one, otherwise each transaction has its own. Transactions that aborted or did
// nothing do not count.
func own(h *history.History, at level.Level) level.Level {
	if h.Txns.Level == nil {
		return at
	}
	first, all := "", true
	for t := range uint32(h.NumTxns()) {
		name := h.LevelName(t)
		if !asksOf(h, t) {
			continue
		}
		name = cmp.Or(name, at.String())
		all = all && (first == "" || name == first)
		first = name
	}
	if l, err := level.Parse(first); err == nil && all {
		return l
	}
	if first == "" {
		return at
	}
	return level.Mixed(at)
}

// asksOf reports whether a level restricts a transaction: it may have committed, and it has operations.
func asksOf(h *history.History, t uint32) bool {
	return t != h.Init && h.Txns.Status[t] != history.Aborted && h.Txns.OpOff[t] < h.Txns.OpOff[t+1]
}

// sayLevels says on standard error that transactions have levels of their own, and whether these are checked.
func (f *CheckFlags) sayLevels(e *console.Env, path string, h *history.History, at level.Level) {
	if h.Txns.Level == nil && !at.IsMixed() {
		return
	}
	count := map[string]int{}
	for t := range uint32(h.NumTxns()) {
		switch name := h.LevelName(t); {
		case !asksOf(h, t):
		case at.IsMixed() && name == "":
			count[at.Of("").String()]++
		case name != "" && name != at.String():
			count[name]++
		}
	}
	named := slice.Filter(level.Names(), func(l string) bool { return count[l] > 0 })
	all := strings.Join(slice.Map(named, func(l string) string { return fmt.Sprintf("%d at %s", count[l], l) }), ", ")
	switch {
	case named == nil && !f.levelSet && at != f.level:
		fmt.Fprintf(e.Stderr, "isovet: %s: judged at %s, which every transaction names; --level asks for another\n",
			path, at)
	case named == nil:
	case at.IsMixed():
		fmt.Fprintf(e.Stderr, "isovet: %s: each transaction is judged at its own level: %s; --level asks for one\n",
			path, all)
	default:
		fmt.Fprintf(e.Stderr, "isovet: %s: every transaction is judged at %s; some ran at a level of their own: %s; "+
			"--level mixed judges them so\n", path, at, all)
	}
}

// lookStricter makes a result say whether the strict form is violated, if a plain level that was not requested holds.
func (f *CheckFlags) lookStricter(ctx context.Context, r *evidence.Result, o check.Options) {
	if f.levelSet || f.profile != nil || f.judge.name != console.Auto {
		return
	}
	if at, violated := check.Stricter(ctx, r, o); violated {
		r.Stricter = at.String()
	}
}

// profiled returns the profile of a history's database, and the level to check: the requested one, or the header's, or
// for the checker leopard the one that the profile promises.
func (f *CheckFlags) profiled(h *history.History) (level.Level, *mechanism.Profile) {
	if f.judge.name != "leopard" || f.profile != nil {
		at, _ := f.named(&h.Meta)
		switch {
		case f.level == level.Mixed(level.Serializable):
			g := *f
			g.level, g.levelSet = level.Serializable, false
			at, _ = g.named(&h.Meta)
			at = level.Mixed(at)
		case !f.levelSet && f.profile == nil && f.judge.name == console.Auto:
			at = own(h, at)
		}
		return at, f.profile
	}
	p, err := mechanism.ProfileOf(h.Meta.DB, h.Meta.Isolation)
	if err != nil || f.levelSet {
		return f.level, p
	}
	return p.Level, p
}
