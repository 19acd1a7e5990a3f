package check

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"isovet/certify"
	"isovet/check/census"
	"isovet/evidence"
	"isovet/internal/slice"
	"isovet/internal/sorts"
	"isovet/level"
)

// Census adds to a violation the other anomalies that its level forbids: up to most examples of each kind, the
// smallest, certified as the first was, and counts of all. The anomalies that prove the violation stay, the first of
// them first. At levels whose anomalies are no cycles, and for histories with predicates, only the anomalies found are
// counted. Where a bound ended the count, the note says so. Cost: that of census.Of and certify.Check.
func Census(ctx context.Context, r *evidence.Result, o Options, most int) {
	if r.Verdict != evidence.Violated || r.Timestamps || r.Items || most < 1 {
		return
	}
	found, reads, cut := census.Of(ctx, r.H, r.Level, o.ClockSkew)
	evidence.NameAll(found, r.H, r.Level, o.ClockSkew)
	seen := make(map[string]bool, len(found)) // a lost update may be a cycle, too
	counts := map[level.Anomaly]int{}
	for i := range r.Anomalies {
		seen[string(identity(&r.Anomalies[i], nil))] = true
		counts[r.Anomalies[i].Kind]++
	}
	var more []evidence.Anomaly
	var id []byte
	for _, i := range census.Sorted(found) {
		a := &found[i]
		if id = identity(a, id[:0]); seen[string(id)] || !r.Level.Forbids(a.Kind) {
			continue
		}
		seen[string(id)] = true
		if counts[a.Kind]++; counts[a.Kind] <= most {
			if a.Text == "" {
				a.Text = evidence.Describe(a, r.H)
			}
			more = append(more, *a)
		}
	}
	more = certifiedOf(ctx, r, more, o, counts)
	listed := len(r.Anomalies) + r.Also
	r.Anomalies = append(r.Anomalies, more...)
	sorts.Stable(r.Anomalies[1:], func(a, b evidence.Anomaly) int {
		return slices.Index(level.Anomalies(), a.Kind.Base()) - slices.Index(level.Anomalies(), b.Kind.Base())
	})
	for k, n := range reads {
		if r.Level.Forbids(k) {
			counts[k] = max(counts[k], n)
		}
	}
	r.Counts, r.Also = counts, max(slice.Sum(maps.Values(counts)), listed)-len(r.Anomalies)
	if r.CountsCut = cut || ctx.Err() != nil; r.CountsCut {
		r.Note = strings.TrimPrefix(r.Note+"; a limit ended the count of anomalies: there may be more", "; ")
	}
}

// identity appends to b what is equal for anomalies of one kind with the same transactions and reads.
func identity(a *evidence.Anomaly, b []byte) []byte {
	b = append(append(b, a.Kind...), 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(a.Ops)))
	for _, op := range a.Ops {
		b = binary.LittleEndian.AppendUint32(b, op)
	}
	txns := slices.Clone(a.Txns)
	slices.Sort(txns)
	for _, t := range txns {
		b = binary.LittleEndian.AppendUint32(b, t)
	}
	return b
}

// certifiedOf returns the anomalies that certify accepts, with the names that it gives them, and corrects counts.
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
