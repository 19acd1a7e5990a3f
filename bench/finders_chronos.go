package bench

import (
	"cmp"
	"fmt"
	"slices"
)

// What the claims of CHRONOS are measured with.

// slower is by how much more the second series grows than the first, from the first size that both have to the last.
func slower(a, b string) func(*Report) Found {
	return func(r *Report) Found {
		var first, last string
		for _, g := range r.Groups("time") {
			if r.Find("time", g, a) != nil && r.Find("time", g, b) != nil {
				if first == "" {
					first = g
				}
				last = g
			}
		}
		if first == last {
			return notMeasured(b + " beside " + a + " at two sizes")
		}
		x := r.Find("time", last, a).Value / r.Find("time", first, a).Value
		y := r.Find("time", last, b).Value / r.Find("time", first, b).Value
		return Found{y / x, false, fmt.Sprintf("from %s to %s transactions: %s and %s times as much", first, last,
			number(y), number(x)), ""}
	}
}

// sameHistory is by how much the runs of the default workload differ, which is one of each parameter's: as much, but
// for a fifth, as those of one parameter.
func sameHistory(metric, prefix, series string) showing {
	return func(r *Report) (string, bool) {
		same := steady(metric, among("#txns 20000", "#txns 100000", "#ops/txn 15", "#sess 50", "#keys 1000",
			"#reads 50 %", "dist zipf"), series)(r)
		own := steady(metric, startsWith(prefix), series)(r)
		if same.None != "" || own.None != "" {
			return "", false
		}
		return "of these the greatest is " + number(same.Value) + " times the least",
			same.Value-1 >= 0.8*(own.Value-1)
	}
}

// lastGrowth is growing from the last but one to the last of the groups with a prefix.
func lastGrowth(metric, prefix, series string) func(*Report) Found {
	return func(r *Report) Found {
		var groups []string
		for _, g := range r.Groups(metric) {
			if _, ok := numberIn(g, prefix); ok && r.Find(metric, g, series) != nil {
				groups = append(groups, g)
			}
		}
		if len(groups) < 3 {
			return notMeasured(series + " at three sizes")
		}
		from, to := groups[len(groups)-2], groups[len(groups)-1]
		a, _ := numberIn(from, prefix)
		b, _ := numberIn(to, prefix)
		times := r.Find(metric, to, series).Value / r.Find(metric, from, series).Value
		return Found{times / (b / a), false, fmt.Sprintf("from %s to %s", number(a), number(b)), ""}
	}
}

// longestStage is by how much a stage is longer than the longest of others at the last group.
func longestStage(stage string, others ...string) func(*Report) Found {
	return func(r *Report) Found {
		best := Found{None: stage + " is not among what was run"}
		for _, g := range r.Groups("time") {
			own, other := r.Find("time", g, stage), 0.0
			for _, o := range others {
				if p := r.Find("time", g, o); p != nil {
					other = max(other, p.Value)
				}
			}
			if own != nil && other > 0 && (best.None != "" || own.Value/other < best.Value) {
				best = Found{own.Value / other, false, r.place(g), ""}
			}
		}
		return best
	}
}

// stageShare is the share of loading, sorting and checking that a stage takes over groups, in percent, at most.
func stageShare(stage string, keep func(string) bool) func(*Report) Found {
	return func(r *Report) Found {
		best := Found{None: stage + " is not among what was run"}
		for _, g := range r.Groups("time") {
			if !keep(g) {
				continue
			}
			whole := 0.0
			for _, s := range []string{"loading", "sorting", "checking"} {
				if p := r.Find("time", g, s); p != nil {
					whole += p.Value
				}
			}
			if p := r.Find("time", g,
				stage); p != nil && whole > 0 && (best.None != "" || p.Value/whole > best.Value/100) {
				best = Found{100 * p.Value / whole, false, r.place(g), ""}
			}
		}
		return best
	}
}

// collecting is by how much collecting is longer than any other stage where it is most frequent.
func collecting(r *Report) Found {
	groups := r.Groups("time")
	if len(groups) == 0 {
		return notMeasured("this")
	}
	own, other := r.Find("time", groups[0], "garbage collecting"), 0.0
	for _, s := range []string{"loading", "checking"} {
		if p := r.Find("time", groups[0], s); p != nil {
			other = max(other, p.Value)
		}
	}
	if own == nil || other == 0 {
		return notMeasured("garbage collecting")
	}
	return Found{own.Value / other, false, r.place(groups[0]), ""}
}

// falling is the share of steps from one group to the next at which a value does not rise.
func falling(metric string, value func(r *Report, group string) (float64, bool)) func(*Report) Found {
	return func(r *Report) Found {
		var is []float64
		for _, g := range r.Groups(metric) {
			if v, ok := value(r, g); ok {
				is = append(is, v)
			}
		}
		if len(is) < 2 {
			return notMeasured("this")
		}
		down := 0
		for i := range is[1:] {
			if is[i+1] <= is[i] {
				down++
			}
		}
		return Found{float64(down) / float64(len(is)-1), false, fmt.Sprintf("%d of %d steps", down, len(is)-1), ""}
	}
}

// perCollection is what collecting takes where it is most frequent over where it is least, over the collections there.
func perCollection(r *Report) Found {
	groups := r.Groups("time")
	if len(groups) < 2 {
		return notMeasured("this")
	}
	first, last := groups[0], groups[len(groups)-1]
	a, b := r.Find("time", first, "garbage collecting"), r.Find("time", last, "garbage collecting")
	n, m := r.Find("cycles", first, "collections"), r.Find("cycles", last, "collections")
	if a == nil || b == nil || n == nil || m == nil || a.Value == 0 || b.Value == 0 || m.Value == 0 {
		return notMeasured("garbage collecting")
	}
	return Found{a.Value / b.Value / (n.Value / m.Value), false,
		fmt.Sprintf("from %s to %s collections: from %s to %s ms",
			number(n.Value), number(m.Value), number(a.Value), number(b.Value)), ""}
}

// risingUntilLoaded is the share of steps during the loading at which the memory held does not fall.
func risingUntilLoaded(r *Report) Found {
	end := r.Find("loaded", "all", "chronos")
	if end == nil {
		return notMeasured("when loading ended")
	}
	var is []float64
	for _, g := range r.Groups("memory") {
		percent, _ := numberIn(g, "")
		if p := r.Find("memory", g, "chronos"); p != nil && percent <= end.Value {
			is = append(is, p.Value)
		}
	}
	up := 0
	for i := range max(len(is), 1) - 1 {
		if is[i+1] >= is[i] {
			up++
		}
	}
	if len(is) < 2 {
		return notMeasured("memory while it is loaded")
	}
	return Found{float64(up) / float64(len(is)-1), false, fmt.Sprintf("%d of %d steps", up, len(is)-1), ""}
}

// stageAt is a series' value at a group.
func stageAt(metric, series string) func(r *Report, group string) (float64, bool) {
	return func(r *Report, group string) (float64, bool) {
		p := r.Find(metric, group, series)
		if p == nil {
			return 0, false
		}
		return p.Value, true
	}
}

// wholeRun is what loading and checking took by the clock, collections included.
func wholeRun(r *Report, group string) (float64, bool) {
	loading, ok := stageAt("time", "loading")(r, group)
	checking, both := stageAt("time", "checking")(r, group)
	return loading + checking, ok && both
}

// collections are the series of Figure 6 in which the collector is called, most frequent first.
func collections(r *Report) []string {
	var out []string
	for _, s := range r.Series("time") {
		if _, ok := numberIn(s, everyTxns6); ok {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		x, _ := numberIn(a, everyTxns6)
		y, _ := numberIn(b, everyTxns6)
		return cmp.Compare(x, y)
	})
	return out
}

// collectedLonger is the share of steps from one strategy to the next less frequent one, at each parameter, at which
// the time falls.
func collectedLonger(r *Report) Found {
	longer, steps := 0, 0
	for _, g := range r.Groups("time") {
		was := (*Point)(nil)
		for _, s := range append(collections(r), neverCollected) {
			p := r.Find("time", g, s)
			if p == nil {
				continue
			}
			if was != nil {
				if steps++; was.Value > p.Value {
					longer++
				}
			}
			was = p
		}
	}
	if steps == 0 {
		return notMeasured("a run with collections")
	}
	return Found{float64(longer) / float64(steps), false, fmt.Sprintf("%d of %d steps", longer, steps), ""}
}

// collectedMost is the share of parameters at which the time is longer with the most collections than with none.
func collectedMost(r *Report) Found {
	return shareOf("time", "parameters", func(r *Report, g string) (longer, ok bool) {
		all := collections(r)
		if len(all) == 0 {
			return false, false
		}
		a, b := r.Find("time", g, all[0]), r.Find("time", g, neverCollected)
		return a != nil && b != nil && a.Value > b.Value, a != nil && b != nil
	})(r)
}

// aCollection is what a collection takes with the most transactions over what it takes with the fewest.
func aCollection(r *Report) Found {
	all := collections(r)
	if len(all) == 0 {
		return notMeasured("a run with collections")
	}
	every, _ := numberIn(all[0], everyTxns6)
	var took []float64
	for _, g := range r.Groups("time") {
		n, ok := numberIn(g, "#txns")
		a, b := r.Find("time", g, all[0]), r.Find("time", g, neverCollected)
		if ok && a != nil && b != nil && a.Value > b.Value {
			took = append(took, (a.Value-b.Value)/(n/every))
		}
	}
	if len(took) < 2 {
		return notMeasured("a run with collections at two sizes")
	}
	last := took[len(took)-1]
	return Found{last / took[0], false, fmt.Sprintf("(%s and %s ms)", number(sixDigits(last)),
		number(sixDigits(took[0]))), ""}
}

// growingCollected is growing where the collector is called most frequently.
func growingCollected(prefix string) func(*Report) Found {
	return func(r *Report) Found {
		all := collections(r)
		if len(all) == 0 {
			return notMeasured("a run with collections")
		}
		return r.grown("time", prefix, all[0], 1)
	}
}

func lastOf(x []float64) float64 { return x[len(x)-1] }

// afterLoading compares what is picked of the memory held after the loading with what is picked of that during it.
func afterLoading(then, first func([]float64) float64) func(*Report) Found {
	return func(r *Report) Found {
		end := r.Find("loaded", "all", "chronos")
		if end == nil {
			return notMeasured("when loading ended")
		}
		var during, after []float64
		for _, g := range r.Groups("memory") {
			p, percent := r.Find("memory", g, "chronos"), 0.0
			if _, err := fmt.Sscan(g, &percent); err != nil || p == nil {
				continue
			}
			if percent <= end.Value {
				during = append(during, p.Value)
			} else {
				after = append(after, p.Value)
			}
		}
		if len(during) == 0 || len(after) == 0 {
			return notMeasured("memory before and after loading")
		}
		return Found{then(after) / first(during), false, fmt.Sprintf("(%s and %s MB; loading ends at %s %%)",
			number(then(after)), number(first(during)), number(end.Value)), ""}
	}
}

// wasChecked says whether a workload's history was checked.
func wasChecked(r *Report, workload string) (yes, ok bool) {
	return r.Find("time", workload, "checking") != nil, true
}

// but keeps all groups but one, ofGroup the points of one.
func but(group string) func(string) bool { return func(g string) bool { return g != group } }

func ofGroup(group string) func(*Point) bool { return func(p *Point) bool { return p.Group == group } }

// greatest and smallest are of what is held over a run.
func greatest(x []float64) float64 { return slices.Max(x) }
func smallest(x []float64) float64 { return slices.Min(x) }
