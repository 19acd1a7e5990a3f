package oracle

import (
	"slices"
)

func value(model []bool, l lit) bool {
	if l < 0 {
		return !model[-l]
	}
	return model[l]
}

// propagate returns the literals that unit propagation derives, and whether it met a contradiction.
func propagate(n lit, clauses [][]lit) (facts map[lit]bool, contradiction bool) {
	facts = map[lit]bool{}
	for changed := true; changed; {
		changed = false
		for _, c := range clauses {
			open, satisfied := []lit(nil), false
			for _, l := range c {
				satisfied = satisfied || facts[l]
				if !facts[-l] {
					open = append(open, l)
				}
			}
			switch {
			case satisfied:
			case len(open) == 0:
				return facts, true
			case len(open) == 1:
				facts[open[0]] = true
				changed = true
			}
		}
	}
	return facts, false
}

// solve returns a model of the clauses, indexed by variable from 1, or nil.
func solve(n lit, clauses [][]lit) []bool {
	facts, contradiction := propagate(n, clauses)
	if contradiction {
		return nil
	}
	for v := lit(1); v <= n; v++ {
		if facts[v] || facts[-v] {
			continue
		}
		// Deciding a variable that no open clause has would only cost time.
		free := true
		for _, c := range clauses {
			if !slices.ContainsFunc(c, func(l lit) bool { return facts[l] }) && (slices.Contains(c, v) ||
				slices.Contains(c, -v)) {
				free = false
			}
		}
		if free {
			continue
		}
		units := make([][]lit, 0, len(facts)+1)
		for l := -n; l <= n; l++ {
			if facts[l] {
				units = append(units, []lit{l})
			}
		}
		for _, l := range [...]lit{v, -v} {
			if m := solve(n, append(append([][]lit{{l}}, units...), clauses...)); m != nil {
				return m
			}
		}
		return nil
	}
	m := make([]bool, n+1)
	for l := range facts {
		if l > 0 {
			m[l] = true
		}
	}
	return m
}
