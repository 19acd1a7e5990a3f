package evidence

import (
	"slices"

	"isovet/level"
)

// Levels returns what the counted anomalies say about all levels: the weakest that are ruled out, because they forbid
// one of them or imply the violated level, and the strongest that are not. The latter may hold or not: what violates
// them need not be among the anomalies that the violated level forbids. Linearizability, which is about each key by
// itself, is considered only if it is the violated level.
//
// Source: the table of Elle's elle.consistency-model, by what each level here forbids.
func (r *Result) Levels() (ruledOut, mayHold []level.Level) {
	all := slices.DeleteFunc(level.All(), func(l level.Level) bool { return l == level.Linearizable && r.Level != l })
	out := func(l level.Level) bool {
		if l.Implies(r.Level) {
			return true
		}
		for k, n := range r.Counts {
			if n > 0 && slices.ContainsFunc(all, func(m level.Level) bool { return l.Implies(m) && m.Forbids(k) }) {
				return true
			}
		}
		return false
	}
	for _, l := range all {
		is := out(l)
		next := slices.ContainsFunc(all, func(m level.Level) bool {
			return m != l && out(m) == is && (is && l.Implies(m) || !is && m.Implies(l))
		})
		switch {
		case next:
		case is:
			ruledOut = append(ruledOut, l)
		default:
			mayHold = append(mayHold, l)
		}
	}
	return ruledOut, mayHold
}
