package check

import (
	"cmp"
	"slices"

	"isovet/certify"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/sorts"
	"isovet/level"
)

// maxPlain is of up to how many cases one is looked for that proves the violation alone.
const maxPlain = 16

// plain makes a proof easier to read. Where one of its cases is a cycle that holds whatever the order of the versions,
// the others are left out: a list's reads may settle an order that the checker left open. And of several anomalies
// those with the fewest transactions come first. Larger histories keep what the checker says.
func plain(r *evidence.Result, how certify.Options) {
	if r.Verdict != evidence.Violated || r.Timestamps || r.H.NumTxns() > maxRelaxed {
		return
	}
	for i := range r.Anomalies {
		a := &r.Anomalies[i]
		cases := slices.Clone(a.Cycles)
		if len(a.Cycle) > 0 {
			cases = append(cases, a.Cycle)
		}
		if len(cases) < 2 || len(cases) > maxPlain || a.Kind.Base() == level.Divergence { // which is told as a whole
			continue
		}
		sorts.Stable(cases, func(x, y []evidence.Edge) int { return cmp.Compare(len(x), len(y)) })
		// What violates a level without sessions or real time is not to be shown by what needs them.
		at := r.Level.Needs(a.Kind)
		for _, c := range cases {
			one := evidence.Anomaly{Cycle: c}
			one.Complete(r.H, at, how.ClockSkew)
			if proves(r.H, at, one, how) && proves(r.H, r.Level, one, how) {
				*a = one
				break
			}
		}
	}
	sorts.Stable(r.Anomalies, func(a, b evidence.Anomaly) int { return cmp.Compare(len(a.Txns), len(b.Txns)) })
}

// proves reports whether an anomaly is accepted as a violation of a level.
func proves(h *history.History, l level.Level, a evidence.Anomaly, how certify.Options) bool {
	return certify.Check(&evidence.Result{Verdict: evidence.Violated, Level: l, H: h,
		Anomalies: []evidence.Anomaly{a}}, how) == nil
}
