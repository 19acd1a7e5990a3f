package check

import (
	"context"
	"errors"
	"slices"

	"isovet/check/mechanism"
	"isovet/check/replay"
	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/plural"
	"isovet/internal/slice"
	"isovet/level"
)

// leopard verifies the mechanisms of the database (package mechanism), under a profile, and then the level itself.
type leopard struct{}

// weakLevels are levels at which leopard only finds anomalies of single reads. It never says that they hold.
var weakLevels = []level.Level{level.ReadCommitted, level.RepeatableRead}

func (leopard) Info() Info {
	return Info{
		Name: "leopard", Paper: "Leopard", Levels: slices.Concat(run.OrderLevels, weakLevels), Hidden: true,
		Takes: Takes{Items: true, Predicates: slices.Concat(run.OrderLevels, weakLevels), Unknown: run.OutcomesDecided,
			Duplicates: true},
		About: "compares client times with the database's mechanisms, as in --profile; then replay",
	}
}

// maxTried bounds the violations of mechanisms that are tried as violations of the level.
var maxTried = 20

// Check verifies the mechanisms. It keeps three things apart: the verdict, which the history alone proves; failures
// under the profile (Result.Mechanisms); and finding nothing, which proves nothing (Unknown) unless some order explains
// the history.
func (c leopard) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, err := run.New(ctx, c.Info(), h, o)
	if err != nil {
		return nil, err
	}
	p := o.Profile
	if p == nil {
		if p, err = mechanism.ProfileOf(h.Meta.DB, h.Meta.Isolation); err != nil {
			x.Unknown("leopard needs a profile: %v", err)
			return x.Result, nil
		}
	}
	rep, err := mechanism.Verify(ctx, h, mechanism.Options{Profile: *p, Skew: o.ClockSkew})
	if missing, ok := errors.AsType[*mechanism.MissingTimes](err); ok {
		x.Unknown("leopard needs client times: %v", missing)
		return x.Result, nil
	}
	if err != nil {
		x.Stopped()
		return x.Result, nil
	}
	m := section(h, rep, o.ClockSkew)
	x, err = c.level(ctx, h, o, rep, m)
	if err != nil {
		return nil, err
	}
	x.Result.Checker, x.Result.Mechanisms = "leopard", m
	if n := m.Total(); n > 0 && x.Result.Verdict == evidence.Holds {
		x.Result.Order = nil
		x.Unknown("an order explains the history, but under profile %s the check found %s", m.Profile,
			plural.Of(n, "mechanism violation"))
	} else if n > 0 && x.Result.Verdict == evidence.Unknown {
		x.Unknown("under profile %s the check found %s, none of which proves a violation of the level (%s)", m.Profile,
			plural.Of(n, "mechanism violation"), x.Result.Reason)
	}
	return x.Result, nil
}

// level decides the verdict that the history alone proves at the level.
func (leopard) level(ctx context.Context, h *history.History, o Options, rep *mechanism.Report,
	m *evidence.Mechanisms) (*run.Run, error) {
	weak := slices.Contains(weakLevels, o.Level)
	x, done, err := run.Begin(ctx, leopard{}.Info(), h, o)
	if err != nil {
		return nil, err
	}
	x.Result.Stats.KnownEdges = rep.Deduced(0) + rep.Deduced(1) + rep.Deduced(2)
	if o.Level == level.RepeatableRead { // other levels ask another question (settle)
		x.Result.Anomalies, x.Result.Also = nil, 0
		x.Unknown(run.NoRepeatable)
		return x, nil
	}
	if done && x.Result.Verdict == evidence.Violated && weak {
		x.Result.Anomalies = slices.DeleteFunc(x.Result.Anomalies, func(a evidence.Anomaly) bool {
			return !o.Level.Forbids(a.Kind)
		})
		if x.Result.Also = 0; len(x.Result.Anomalies) == 0 {
			x.Unknown("Leopard found no violation")
		}
	}
	if done {
		return x, nil
	}
	if weak {
		x.Unknown("Leopard found no violation, which proves nothing; it cannot prove that %s holds", o.Level)
		return x, nil
	}
	for i := range rep.Violations[:min(len(rep.Violations), maxTried)] {
		seed := rep.Violations[i].Txns
		if len(seed) < 2 || len(seed) > run.MaxTrial {
			continue
		}
		var counts []uint32
		for _, t := range seed {
			if t < uint64(len(x.View.Counts)) && x.View.Counts[t] {
				counts = append(counts, uint32(t))
			}
		}
		if err := x.Try(counts, replay.Refute); err != nil {
			return nil, err
		}
		if x.Result.Verdict == evidence.Violated {
			m.Violations[i].Proved = true
			return x, nil
		}
	}
	if o.MechanismsOnly {
		x.Unknown("Leopard found no violation, which proves nothing: it did not look for cycles among the " +
			"dependencies it cannot decide")
		return x, nil
	}
	r, err := run.Ask(ctx, run.Replay{}, h, o)
	if err != nil {
		return nil, err
	}
	for k, v := range x.Result.Stats.Stages {
		r.Stats.Stages[k] += v
	}
	if r.Verdict == evidence.Unknown {
		r.Reason = "Leopard found no violation, which proves nothing; its search for a commit order ended: " + r.Reason
	}
	x.Result = r
	return x, nil
}

func section(h *history.History, rep *mechanism.Report, skew int64) *evidence.Mechanisms {
	m := &evidence.Mechanisms{Profile: rep.Profile.Name(), Found: map[string]int{},
		Violations: []evidence.MechanismViolation{}, Warnings: rep.Warned,
		Deduced:   map[string]int{"wr": rep.Deduced(0), "ww": rep.Deduced(1), "rw": rep.Deduced(2)},
		Undecided: rep.Undecided}
	for i, n := range rep.Found {
		if n > 0 {
			m.Found[mechanism.Mechanism(i).String()] = n
		}
	}
	if len(rep.Violations) == 0 {
		return m
	}
	for i, text := range mechanism.Describe(h, rep, skew) {
		v := &rep.Violations[i]
		e := evidence.MechanismViolation{Mechanism: v.Mechanism.String(), Kind: v.Kind,
			Assumes: rep.Profile.Assumes(v.Mechanism), Text: text, Key: h.Texts.AppendValue(nil, h.Keys[v.Key]),
			Txns: slice.Pick(h.Txns.ID, v.Txns)}
		m.Violations = append(m.Violations, e)
	}
	return m
}
