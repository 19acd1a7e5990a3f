package hunt

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// Group are violations of one kind.
type Group struct {
	Kind level.Anomaly
	// Txns are the names of the workload's transactions that take part in them, the most frequent first.
	Txns []string
	// Rounds is in how many rounds it was found, Anomalies how many of them the checks listed.
	Rounds, Anomalies int
	// First is the round that showed it first.
	First Round
	// Text says what happened first, in words.
	Text string

	times map[string]int // of Txns
}

// Name is by what to call it: "lost-update of deposit, withdraw".
func (g *Group) Name() string {
	if len(g.Txns) == 0 {
		return string(g.Kind)
	}
	return string(g.Kind) + " of " + strings.Join(g.Txns, ", ")
}

// After is how long the hunt took to find it.
func (g *Group) After() time.Duration { return g.First.At }

// group enters the anomalies of a round, and returns the groups that are new.
func (h *Hunted) group(r Round, res *evidence.Result) (fresh []*Group) {
	seen := map[*Group]bool{}
	for i := range res.Anomalies {
		a := &res.Anomalies[i]
		at := slices.IndexFunc(h.Found, func(g *Group) bool { return g.Kind == a.Kind })
		if at < 0 {
			at = len(h.Found)
			g := &Group{Kind: a.Kind, First: r, Text: evidence.Describe(a, res.H), times: map[string]int{}}
			h.Found, fresh = append(h.Found, g), append(fresh, g)
		}
		g := h.Found[at]
		g.Anomalies++
		g.count(namesOf(res, a))
		if !seen[g] {
			seen[g] = true
			g.Rounds++
		}
	}
	return fresh
}

// count enters the names of an anomaly's transactions.
func (g *Group) count(names []string) {
	for _, n := range names {
		if g.times[n]++; g.times[n] == 1 {
			g.Txns = append(g.Txns, n)
		}
	}
	slices.SortFunc(g.Txns, func(a, b string) int {
		return cmp.Or(cmp.Compare(g.times[b], g.times[a]), cmp.Compare(a, b))
	})
}

// namesOf are the names of the transactions of an anomaly, each once.
func namesOf(res *evidence.Result, a *evidence.Anomaly) (names []string) {
	h := res.H
	for _, t := range a.Txns {
		if t == h.Init || h.Txns.Name == nil || h.Txns.Name[t] == history.None {
			continue
		}
		names = append(names, string(h.Texts.Text(h.Txns.Name[t])))
	}
	slices.Sort(names)
	return slices.Compact(names)
}
