package evidence

import (
	"slices"

	"isovet/internal/slice"
	"isovet/level"
)

// Classify names a single cycle: by its shape if that has a name, else by its class, each with the suffix for its
// edges.
//
// Shapes, with the source of the name:
//
//   - lost-update: two transactions that both wrote a key, one of which read a version older than the other's (rw and
//     ww, or rw and rw, on one key; Berenson et al. 1995, P4)
//   - write-skew: two anti-dependencies on different keys (A5B there)
//   - read-skew: one of a transaction's writes seen and another missed (wr, rw; A5A there); where the levels below
//     snapshot isolation forbid it, it is a fractured or a non-monotonic read (MTC, Figure 5 i and j)
//   - long-fork: wr, rw, wr, rw (Cerone et al. 2015; Adya's non-monotonic snapshots)
//   - stale-read: a read misses what had ended before it began (rt, rw)
//   - session-guarantee-violation: a read misses an earlier write of its own session (so, rw; Terry et al. 1994, read
//     your writes)
//   - causality-violation: a read misses what its transaction saw through reads and sessions (so and wr, one rw; with a
//     session edge monotonic reads, monotonic writes and writes follow reads of Terry et al.)
//   - causal-reverse: the later of two transactions is seen and the earlier is not (rt, wr, rw)
//
// Classes, by Adya's thesis (1999) and Elle (Kingsbury and Alvaro 2020): only ww is G0; no anti-dependency G1c; one
// G-single; several, no two in a row, G-nonadjacent; else G2-item, or G2 if one is on a predicate.
func Classify(cycle []Edge) level.Anomaly {
	kind := shapeOf(cycle)
	switch kind {
	case "":
		kind = classOf(cycle)
	case level.StaleRead, level.CausalReverse, level.SessionGuarantee:
		return kind
	}
	switch {
	case count(cycle, RT) > 0:
		return kind + byTime.suffix()
	case count(cycle, SO) > 0:
		return kind + bySessions.suffix()
	}
	return kind
}

// classes are the classes of cycles, the worst first.
var classes = [...]level.Anomaly{level.G0, level.G1c, level.GSingle, level.GNonadjacent, level.G2Item, level.G2}

func classRank(kind level.Anomaly) int { return slices.Index(classes[:], kind) }

func classOf(cycle []Edge) level.Anomaly {
	switch antis := anti(cycle); {
	case antis == 0 && count(cycle, WR)+count(cycle, PWR) == 0:
		return level.G0
	case antis == 0:
		return level.G1c
	case antis == 1, shapeOf(cycle) == level.LostUpdate:
		return level.GSingle
	case !Adjacent(cycle):
		return level.GNonadjacent
	case count(cycle, PRW) > 0:
		return level.G2
	}
	return level.G2Item
}

// Adjacent reports whether two anti-dependencies of a cycle follow each other, where the first edge follows the last.
// Snapshot isolation allows such a cycle (errata B2).
func Adjacent(cycle []Edge) bool {
	for i, e := range cycle {
		if next := cycle[(i+1)%len(cycle)]; isAnti(e.Dep) && isAnti(next.Dep) {
			return true
		}
	}
	return false
}

func isAnti(d Dep) bool { return d == RW || d == PRW }

// anti returns the number of a cycle's anti-dependencies.
func anti(cycle []Edge) int { return count(cycle, RW) + count(cycle, PRW) }

func count(cycle []Edge, d Dep) int {
	return slice.Count(cycle, func(e Edge) bool { return e.Dep == d })
}

// shapeOf returns the shape of a cycle (see Classify), "" if it has none.
func shapeOf(cycle []Edge) level.Anomaly {
	var n [len(depNames)]int
	for _, e := range cycle {
		n[e.Dep]++
	}
	size := len(cycle)
	antis := n[RW] + n[PRW]
	if n[TS] > 0 {
		return ""
	}
	sameKey := size == 2 && cycle[0].Key == cycle[1].Key
	switch {
	case size == 2 && antis == 1 && n[WR] == 1:
		return level.ReadSkew
	case n[PWR]+n[PRW] > 0:
		return ""
	case size == 2 && sameKey && (n[RW] == 2 || n[RW] == 1 && n[WW] == 1):
		return level.LostUpdate
	case size == 2 && n[RW] == 2:
		return level.WriteSkew
	case size == 4 && n[RW] == 2 && n[WR] == 2 && !Adjacent(cycle):
		return level.LongFork
	case n[RT] > 0 && n[SO] == 0 && n[RW] == 1 && n[RT]+1 == size:
		return level.StaleRead
	case size == 2 && n[SO] == 1 && n[RW] == 1:
		return level.SessionGuarantee
	case n[RW] == 1 && n[RT] == 0 && n[WW] == 0 && n[WR]+n[SO] > 1:
		return level.CausalityViolation
	case n[RW] == 1 && n[RT] > 0 && n[WW] == 0 && n[WR] > 0:
		return level.CausalReverse
	}
	return ""
}
