package bench

import (
	"fmt"
	"slices"
	"strings"
)

// byWorkload is the least factor between two kinds of series that end in a workload's name.
func byWorkload(metric, fast, slow string) func(*Report) Found {
	return func(r *Report) Found {
		best, n := Found{}, 0
		for _, s := range r.Series(metric) {
			w, ok := strings.CutPrefix(s, fast)
			if !ok {
				continue
			}
			if f := timesLeast(metric, s, slow+w)(r); f.None == "" {
				f.At = w + " " + f.At
				if n++; n == 1 || f.Value < best.Value {
					best = f
				}
			}
		}
		if n == 0 {
			return notMeasured(slow)
		}
		return best
	}
}

// mostOfWorkloads is the share of sizes at which BlindW-RW+ has more than the other workloads.
func mostOfWorkloads(metric, kind string) func(*Report) Found {
	return shareOf(metric, "sizes", func(r *Report, g string) (yes, ok bool) {
		own := r.Find(metric, g, kind+", BlindW-RW+")
		if own == nil {
			return false, false
		}
		for _, w := range []string{"SmallBank", "TPC-C"} {
			if p := r.Find(metric, g, kind+", "+w); p != nil && p.Value > own.Value {
				return false, true
			}
		}
		return true, true
	})
}

// majorFactors is how much more the overlap varies by skew and by threads, whichever is less, than by the kind of
// operations.
func majorFactors(series string) func(*Report) Found {
	return func(r *Report) Found {
		of := func(keep func(string) bool) Found { return steady("overlap", keep, series)(r) }
		skew, threads := of(startsWith("skew ")), of(endsWith(" threads"))
		kinds := of(func(g string) bool { return strings.HasSuffix(g, " reads") || g == "read-modify-writes" })
		for _, f := range []Found{skew, threads, kinds} {
			if f.None != "" {
				return f
			}
		}
		return Found{min(skew.Value, threads.Value) / kinds.Value, false,
			fmt.Sprintf("(by skew %s times, by threads %s, "+
				"by kind %s)", number(skew.Value), number(threads.Value), number(kinds.Value)), ""}
	}
}

// endsWith keeps groups by their ending.
func endsWith(with string) func(string) bool {
	return func(g string) bool { return strings.HasSuffix(g, with) }
}

// inGroups keeps points of groups by the beginning of their names, notInGroups the others.
func inGroups(prefix string) func(*Point) bool {
	return func(p *Point) bool { return strings.HasPrefix(p.Group, prefix) }
}

func notInGroups(prefix string) func(*Point) bool {
	return func(p *Point) bool { return !strings.HasPrefix(p.Group, prefix) }
}

// rises and falls are what steps ask of a step.
func rises(a, b float64) bool { return b >= a }
func falls(a, b float64) bool { return b <= a }

// mostMemory is the share of groups at which a series takes no less memory than others.
func mostMemory(series string, others ...string) func(*Report) Found {
	return shareOf("memory", "runs", func(r *Report, g string) (yes, ok bool) {
		own := r.Find("memory", g, series)
		if own == nil {
			return false, false
		}
		yes = true
		for _, o := range others {
			if p := r.Find("memory", g, o); p != nil {
				ok = true
				yes = yes && own.Value >= p.Value
			}
		}
		return yes, ok
	})
}

// growsMore is by how much more the second series grows than the first over groups with an ending.
func growsMore(metric, ending, a, b string) func(*Report) Found {
	return func(r *Report) Found {
		var first, last string
		for _, g := range r.Groups(metric) {
			if _, ok := behind(g, ending); ok && r.Find(metric, g, a) != nil && r.Find(metric, g, b) != nil {
				if first == "" {
					first = g
				}
				last = g
			}
		}
		if first == last {
			return notMeasured(b + " beside " + a + " at two sizes")
		}
		x := r.Find(metric, last, a).Value / r.Find(metric, first, a).Value
		y := r.Find(metric, last, b).Value / r.Find(metric, first, b).Value
		return Found{y / x, false, fmt.Sprintf("from %s to %s: %s and %s times as much", first, last, number(y),
			number(x)), ""}
	}
}

// behind reads the number before a group's ending: "2000 transactions".
func behind(group, ending string) (float64, bool) {
	rest, ok := strings.CutSuffix(group, ending)
	if !ok {
		return 0, false
	}
	return numberIn(rest, "")
}

// growingBy is growing for groups whose numbers stand before an ending.
func growingBy(metric, ending, series string) func(*Report) Found {
	return func(r *Report) Found {
		var at, is []float64
		late := false
		for _, g := range r.Groups(metric) {
			n, ok := behind(g, ending)
			if v, beyond, there := r.timed(metric, g, series); ok && there && v > 0 && !late {
				at, is, late = append(at, n), append(is, v), beyond
			}
		}
		last := len(at) - 1
		if last < 1 {
			return notMeasured(series + " at two sizes")
		}
		return Found{is[last] / is[0] / (at[last] / at[0]), late, fmt.Sprintf("from %s to %s%s: %s times as much",
			number(at[0]), number(at[last]), ending, number(is[last]/is[0])), ""}
	}
}

// steps is the share of steps between groups with an ending of which something is true.
func steps(metric, ending, series string, is func(a, b float64) bool) func(*Report) Found {
	return func(r *Report) Found {
		var values []float64
		for _, g := range r.Groups(metric) {
			if _, ok := behind(g, ending); ok {
				if p := r.Find(metric, g, series); p != nil {
					values = append(values, p.Value)
				}
			}
		}
		yes := 0
		for i := range max(len(values), 1) - 1 {
			if is(values[i], values[i+1]) {
				yes++
			}
		}
		if len(values) < 2 {
			return notMeasured(series)
		}
		return Found{float64(yes) / float64(len(values)-1), false, fmt.Sprintf("%d of %d steps", yes, len(values)-1),
			""}
	}
}

// throughput is the least factor between Leopard's throughput, while the database runs and afterwards, and the
// database's.
func throughput(r *Report) Found {
	best := notMeasured("a database")
	for _, s := range []string{"leopard, while it runs", "leopard, afterwards"} {
		for _, m := range []string{"rate", "traces"} {
			f := timesLeast(m, "database", s)(r)
			if f.None == "" && (best.None != "" || f.Value < best.Value) {
				best = f
			}
		}
	}
	return best
}

// atSize is a finder for runs of so many transactions: it asks whether there is a group of that name.
func atSize(n int, find func(*Report) Found) func(*Report) Found {
	return func(r *Report) Found {
		want := fmt.Sprintf("%d transactions", n)
		if !slices.Contains(r.Groups("time"), want) {
			return notMeasured("a history of " + want)
		}
		return find(r)
	}
}

// lastFactor is the factor at the last of the groups that are numbers of transactions.
func lastFactor(metric, base, series string) func(*Report) Found {
	return func(r *Report) Found {
		for _, g := range slices.Backward(r.Groups(metric)) {
			if _, ok := behind(g, " transactions"); !ok {
				continue
			}
			if f, beyond, ok := r.factor(metric, g, base, series); ok && !beyond {
				return Found{f, false, r.place(g), ""}
			}
		}
		return notMeasured(series)
	}
}

// foundBy is 1 where a point of a case says "found".
func foundBy(series, group string) func(*Report) Found {
	return func(r *Report) Found {
		series, missed := strings.CutSuffix(series, " misses")
		p := r.Find("found", group, series)
		if p == nil {
			return notMeasured(group)
		}
		if (p.Value == 0) == missed {
			return Found{1, false, "1 of 1 histories", ""}
		}
		return Found{0, false, "0 of 1 histories", ""}
	}
}
