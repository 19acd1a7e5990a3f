package checks

import (
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
	"isovet/level"
)

// fromHeader says what the level is without --level.
func fromHeader(c *cobra.Command) {
	c.Flags().Lookup("level").DefValue = "the file's"
}

// named is the level to check of a history with such a header: the one that was asked for, else the one that the
// header names or a Jepsen test asks for, where the checker that was asked for decides it. why says that it is another
// than the default.
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

// sayNamed says on standard error which level was taken from a history, and how to ask for another.
func (f *CheckFlags) sayNamed(e *console.Env, path string, m *history.Meta) {
	if at, why := f.named(m); why != "" && f.judge.name != "leopard" {
		fmt.Fprintf(e.Stderr, "isovet: %s: judged at %s: %s; --level asks for another\n", path, at, escape.Line(why))
	}
}

// sayLevels says on standard error that transactions have levels of their own, by which they were not judged.
func sayLevels(e *console.Env, path string, h *history.History, at level.Level) {
	count := map[string]int{}
	for t := range uint32(h.NumTxns()) {
		if name := h.LevelName(t); name != "" && name != at.String() {
			count[name]++
		}
	}
	var names []string
	for _, l := range level.Names() {
		if count[l] > 0 {
			names = append(names, fmt.Sprintf("%d at %s", count[l], l))
		}
	}
	if names != nil {
		fmt.Fprintf(e.Stderr, "isovet: %s: every transaction is judged at %s; some ran at a level of their own: %s\n",
			path, at, strings.Join(names, ", "))
	}
}

// lookStricter has a plain level that was not asked for, and that holds, say if the strict one is violated.
func (f *CheckFlags) lookStricter(ctx context.Context, r *evidence.Result, o check.Options) {
	if f.levelSet || f.profile != nil || f.judge.name != console.Auto {
		return
	}
	if at, violated := check.Stricter(ctx, r, o); violated {
		r.Stricter = at.String()
	}
}

// profiled is the profile of a history's database and the level to check: the one that was asked for, else what the
// header names, with the checker leopard what the profile promises.
func (f *CheckFlags) profiled(h *history.History) (level.Level, *mechanism.Profile) {
	if f.judge.name != "leopard" || f.profile != nil {
		at, _ := f.named(&h.Meta)
		return at, f.profile
	}
	p, err := mechanism.ProfileOf(h.Meta.DB, h.Meta.Isolation)
	if err != nil || f.levelSet {
		return f.level, p
	}
	return p.Level, p
}
