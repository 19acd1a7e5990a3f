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

// Group is the violations of one kind.
type Group struct {
	Kind  level.Anomaly
	Level level.Level // the first violated one
	// Txns are the names of the workload's transactions in the violations, the most frequent first.
	Txns []string
	// Rounds counts the rounds with such a violation. Anomalies counts the violations that the checks listed.
	Rounds, Anomalies int
	// First is the first round with such a violation.
	First Round
	// Text describes the first violation.
	Text string

	times map[string]int // of Txns
}

// Name returns a name such as "lost-update of deposit, withdraw".
func (g *Group) Name() string {
	if len(g.Txns) == 0 {
		return string(g.Kind)
	}
	return string(g.Kind) + " of " + strings.Join(g.Txns, ", ")
}

// After returns the hunting time until the first violation.
func (g *Group) After() time.Duration { return g.First.At }

// group adds the anomalies of a round, and returns the new groups.
func (h *Hunted) group(r Round, res *evidence.Result) (fresh []*Group) {
	seen := map[*Group]bool{}
	for i := range res.Anomalies {
		a := &res.Anomalies[i]
		at := slices.IndexFunc(h.Found, func(g *Group) bool { return g.Kind == a.Kind })
		if at < 0 {
			at = len(h.Found)
			g := &Group{Kind: a.Kind, Level: res.Level, First: r, Text: evidence.Describe(a, res.H),
				times: map[string]int{}}
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

// count counts the names of an anomaly's transactions.
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

// namesOf returns the names of an anomaly's transactions without repetition.
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
