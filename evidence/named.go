package evidence

import (
	"slices"
	"strings"

	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// Named returns the name that Complete would give to a proof by cycles, found at level l with clocks off by at most
// skew ns, whatever its Kind; "" for anomalies without cycles. So whoever receives a proof can tell whether its name is
// right. Cost: that of Complete.
func (a *Anomaly) Named(h *history.History, l level.Level, skew int64) level.Anomaly {
	n := namer{h: h, l: l, skew: skew}
	if kind, ok := n.divergent(a); ok {
		return kind
	}
	if a.Kind == level.IncompatibleOrder && n.incompatible(a) {
		return a.Kind
	}
	return n.name(a)
}

// Above returns the level at which a proof by cycles found at level l is named: l itself, or, with mixed levels, the
// weakest serializable level that asks for l's orders, which any violation of l violates too.
func (a *Anomaly) Above(l level.Level) level.Level {
	if !l.IsMixed() {
		return l
	}
	above := level.Serializable
	for _, e := range a.Edges() {
		switch e.Dep {
		case RT:
			return level.StrictSerializable
		case SO:
			above = level.SessionSerializable
		}
	}
	return above
}

// divergent names a divergence of the form that diverge makes: a lost update of two, with cycles of the first of them
// and others that overwrote the same version.
func (n *namer) divergent(a *Anomaly) (level.Anomaly, bool) {
	cycles := slices.Concat(cyclesOf(a), a.Cycles)
	if len(cycles) == 0 || len(cycles[0]) != 2 {
		return "", false
	}
	two := Anomaly{Cycle: a.Cycle}
	var forks []uint32
	pair := [][]Edge{cycles[0]}
	for i, c := range cycles {
		if len(c) != 2 || shapeOf(c) != level.LostUpdate {
			return "", false
		}
		alone := i == 0 && len(a.Cycle) > 0 // not a case: its edges show that both overwrote what they read
		for _, e := range c {
			if e.Dep == RW || alone {
				forks = slice.Union(forks, e.From)
			}
		}
	}
	if len(forks) < 3 {
		return "", false
	}
	two.Cycles = slice.Filter(a.Cycles, func(c []Edge) bool { return sameTwo([][]Edge{pair[0], c}) })
	two.Kind = n.name(&two)
	of := *a
	of.Kind = two.Kind
	f, ok := n.fork(&of)
	if !ok {
		return "", false
	}
	want := map[fork][]uint32{f: nil}
	for _, t := range forks {
		n.overwriters(want, t, t+1)
		if !slices.Contains(want[f], t) {
			return "", false
		}
	}
	return level.Divergence + level.Anomaly(string(two.Kind)[len(level.LostUpdate):]), true
}

// incompatible reports whether two transactions appended to one list, each before the other.
func (n *namer) incompatible(a *Anomaly) bool {
	c := a.Cycle
	return len(a.Cycles) == 0 && len(c) == 2 && count(c, WW) == 2 && c[0].Key == c[1].Key && isList(n.h, c[0].To,
		c[0].Key) && isList(n.h, c[1].To, c[1].Key)
}

// known reports whether a kind is one of package level, with at most one suffix.
func known(kind level.Anomaly) bool {
	switch kind {
	case level.Session, level.Int, level.Ext, level.NoConflict, level.Timestamps:
		return true
	}
	if base := kind.Base(); base != kind && strings.Contains(string(kind), "-session-realtime") {
		return false
	}
	return slices.Contains(level.Anomalies(), kind.Base())
}
