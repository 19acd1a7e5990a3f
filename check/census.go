package check

import (
	"context"
	"slices"
	"time"

	"isovet/certify"
	"isovet/check/census"
	"isovet/evidence"
	"isovet/internal/sorts"
	"isovet/level"
)

// Census adds to a violation the other anomalies that its level forbids: of each kind up to most examples, the
// smallest, each certified as the first was, and counts of all. The anomalies that prove the violation stay, the first
// of them first. Levels whose anomalies are no cycles, and histories with predicates, get counts of what they have.
// Cost: that of census.Of and certify.Check; it takes at most as long as the answer took, and a second.
func Census(ctx context.Context, r *evidence.Result, o Options, most int) {
	if r.Verdict != evidence.Violated || r.Timestamps || r.Items || most < 1 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second+
		time.Duration((r.Stats.CheckMS+r.Stats.CertifyMS)*float64(time.Millisecond)))
	defer cancel()
	found, reads := census.Of(ctx, r.H, r.Level, o.ClockSkew)
	evidence.CompleteAll(found, r.H, r.Level, o.ClockSkew)
	found = slices.DeleteFunc(found, func(a evidence.Anomaly) bool {
		return !r.Level.Forbids(a.Kind) || slices.ContainsFunc(r.Anomalies, func(b evidence.Anomaly) bool {
			return sameAnomaly(&a, &b)
		})
	})
	census.Sorted(found)
	for i := 0; i < len(found); i++ { // a lost update may be a cycle, too
		found = append(found[:i+1], slices.DeleteFunc(found[i+1:], func(a evidence.Anomaly) bool {
			return sameAnomaly(&a, &found[i])
		})...)
	}
	counts := map[level.Anomaly]int{}
	for i := range r.Anomalies {
		counts[r.Anomalies[i].Kind]++
	}
	var more []evidence.Anomaly
	for _, a := range found {
		if counts[a.Kind]++; counts[a.Kind] <= most {
			more = append(more, a)
		}
	}
	more = certifiedOf(ctx, r, more, o, counts)
	listed := len(r.Anomalies) + r.Also
	r.Anomalies = append(r.Anomalies, more...)
	rest := r.Anomalies[1:]
	sorts.Stable(rest, func(a, b evidence.Anomaly) int {
		return slices.Index(level.Anomalies(), a.Kind.Base()) - slices.Index(level.Anomalies(), b.Kind.Base())
	})
	for k, n := range reads {
		if r.Level.Forbids(k) {
			counts[k] = max(counts[k], n)
		}
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	r.Counts, r.Also = counts, max(total, listed)-len(r.Anomalies)
}

// sameAnomaly reports whether two anomalies are of one kind, by the same transactions and reads.
func sameAnomaly(a, b *evidence.Anomaly) bool {
	if a.Kind != b.Kind || !slices.Equal(a.Ops, b.Ops) {
		return false
	}
	x, y := slices.Sorted(slices.Values(a.Txns)), slices.Sorted(slices.Values(b.Txns))
	return slices.Equal(x, y)
}

// certifiedOf are the anomalies that certify accepts, by the names that it gives them; counts has them then.
func certifiedOf(ctx context.Context, r *evidence.Result, as []evidence.Anomaly, o Options,
	counts map[level.Anomaly]int) (good []evidence.Anomaly) {
	try := func(as []evidence.Anomaly) ([]evidence.Anomaly, bool) {
		s := *r
		s.Anomalies, s.Also = slices.Clone(as), 0
		names, err := certify.Names(&s, certify.Options{ClockSkew: o.ClockSkew,
			Stop: func() bool { return ctx.Err() != nil }})
		if err != nil {
			return nil, false
		}
		for i, kind := range names {
			if a := &s.Anomalies[i]; kind != "" && kind != a.Kind {
				counts[a.Kind]--
				counts[kind]++
				a.Kind = kind
				a.Text = evidence.Describe(a, r.H)
			}
		}
		return s.Anomalies, true
	}
	if len(as) == 0 {
		return nil
	}
	if good, ok := try(as); ok {
		return good
	}
	for _, a := range as {
		if one, ok := try([]evidence.Anomaly{a}); ok {
			good = append(good, one...)
		} else {
			counts[a.Kind]--
		}
	}
	return good
}
