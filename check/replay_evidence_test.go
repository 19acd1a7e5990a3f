package check

import (
	"bytes"
	"context"
	"testing"

	"isovet/certify"
	"isovet/check/prepass"
	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
)

// without is the part of a history of unique values with some transactions, less the reads of what the others wrote.
func without(h *history.History, keep []uint32) *history.History {
	in := slice.Set(keep)
	lost := make(map[uint32]bool) // versions whose writer is left out
	for t := range uint32(h.NumTxns()) {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			if h.Ops.Kind[op] == history.Write && !in[t] && t != h.Init {
				lost[h.Ops.Ver[op]] = true
			}
		}
	}
	return history.Restrict(h, keep, func(op uint32) bool {
		return h.Ops.Kind[op] != history.Read || !lost[h.Ops.Ver[op]]
	}).H
}

// inSession orders transactions as history.Restrict wants a session's.
func inSession(h *history.History, txns []uint32) (out []uint32) {
	in := slice.Set(txns)
	for _, t := range h.SessTxn {
		if in[t] {
			out = append(out, t)
		}
	}
	return out
}

// TestReplayMinimal: the transactions of an explanation violate the level by themselves, and none of them can be
// spared; brute force is the judge.
func TestReplayMinimal(t *testing.T) {
	explained := map[level.Level]int{}
	histtest.Each(t, histtest.Long[uint64](600, 20000), func(seed uint64) *history.History {
		o := random.Options{Aborted: seed%2 == 0, NoTimes: seed%3 == 0}
		return random.Tiny(seed, o)
	}, func(t testing.TB, seed uint64, h *history.History) {
		o := random.Options{Aborted: seed%2 == 0, NoTimes: seed%3 == 0}
		if seed%2 != 0 {
			o.Txns = 40
			h = random.Medium(seed, o)
		}
		for _, l := range run.OrderLevels {
			r := answer(t, run.Replay{}, h, Options{Level: l})
			// which shows more than is needed
			if r.Verdict != evidence.Violated || len(r.Anomalies[0].Ops) > 0 ||
				r.Anomalies[0].Kind.Base() == level.Divergence {
				continue
			}
			names := inSession(h, r.Anomalies[0].Txns)
			if len(names) > 8 {
				t.Logf("seed %d, %s: %d transactions are too many for brute force", seed, l, len(names))
				continue
			}
			explained[l]++
			verdict := func(keep []uint32) evidence.Verdict {
				part := without(h, keep)
				v, err := Run(context.Background(), bruteForce{}, part, Options{Level: l.Needs(r.Anomalies[0].Kind)})
				if err != nil || v.Verdict == evidence.Unknown {
					t.Fatalf("seed %d, %s: brute force: %v, %v\n%s", seed, l, v, err, notation.Format(part))
				}
				return v.Verdict
			}
			if verdict(names) != evidence.Violated {
				t.Fatalf("seed %d, %s: the transactions named, %v, violate nothing\n%s\n%s", seed, l, names,
					r.Anomalies[0].Text, notation.Format(h))
			}
			for i := range names {
				rest := append(append([]uint32(nil), names[:i]...), names[i+1:]...)
				if verdict(rest) != evidence.Holds {
					t.Fatalf("seed %d, %s: transaction %d is not needed\n%s\n%s", seed, l, h.Txns.ID[names[i]],
						r.Anomalies[0].Text, notation.Format(h))
				}
			}
		}
	})
	t.Log(explained)
	for _, l := range run.OrderLevels {
		histtest.Mix(t, explained[l] < 20, "%s: only %d explanations", l, explained[l])
	}
}

// TestReplayCertificates: an answer of every kind, written as a certificate, read back and verified; and refuted if
// what it says is changed.
func TestReplayCertificates(t *testing.T) {
	kinds := map[string]int{}
	try := func(name string, h *history.History, l level.Level) {
		r := answer(t, run.Replay{}, h, Options{Level: l})
		kind := r.Verdict.String()
		if r.Verdict == evidence.Violated {
			switch a := r.Anomalies[0]; {
			case len(a.Ops) > 0:
				kind += " by reads"
			case len(a.Cycle) == 0:
				kind += " by cases"
			case len(a.Cycles) > 0:
				kind += " by a cycle with reasons"
			default:
				kind += " by a cycle"
			}
		}
		if l.Snapshot() {
			kind += ", snapshot"
		}
		kinds[kind]++
		var b bytes.Buffer
		must.OK(t, evidence.WriteCertificate(&b, r), "%s, %s", name, l)
		back := must.Get(evidence.ReadCertificate(bytes.NewReader(b.Bytes()), h))(t)
		must.Hold(t, back.Verdict == r.Verdict && back.Level == l && back.Reason == r.Reason,
			"%s, %s: read back: %s at %s", name, l, back.Verdict, back.Level)
		if err := certify.Check(back, certify.Options{}); err != nil {
			t.Fatalf("%s, %s: %v\n%s", name, l, err, b.Bytes())
		}
		if r.Verdict == evidence.Unknown {
			return
		}
		ambiguous := prepass.Run(h).Ambiguous()
		// Not of another history, not with less of it.
		if len(back.Order) > 0 {
			back.Order = back.Order[1:]
			must.Hold(t, certify.Check(back, certify.Options{}) != nil,
				"%s, %s: an order without its first entry passes", name, l)
		}
		for i := range back.Anomalies {
			a := &back.Anomalies[i]
			switch {
			case len(a.Ops) > 0:
				a.Ops = nil
			case len(a.Cycle) == 0 && ambiguous:
				a.Cycles = nil // one of several ways to see an ambiguous read may follow from the others
			case len(a.Cycle) == 0:
				a.Cycles = a.Cycles[1:]
			default:
				a.Cycle = a.Cycle[1:]
			}
			must.Hold(t, certify.Check(back, certify.Options{}) != nil,
				"%s, %s: an anomaly without its first part passes", name, l)
		}
		other := notation.MustParse("s1: w(other,1)")
		if _, err := evidence.ReadCertificate(bytes.NewReader(b.Bytes()), other); err == nil {
			t.Fatalf("%s, %s: it passes for another history's", name, l)
		}
	}
	for _, a := range datasets.Anomalies() {
		for _, l := range run.OrderLevels {
			try(a.Name, a.History(), l)
		}
	}
	// Two orders that two cycles force, and a third cycle that assumes both.
	forced := notation.MustParse(`s1: w(x,1) w(p,1) | s2: r(q,1) w(x,2) w(m,1) | s3: r(p,1) w(q,1) | s7: r(x,1) r(n,1) |
		s4: w(y,1) w(u,1) | s5: r(v,1) w(y,2) w(n,1) | s6: r(u,1) w(v,1) | s8: r(y,1) r(m,1)`)
	for _, l := range run.OrderLevels {
		try("forced", forced, l)
	}
	histtest.Each(t, histtest.Long[uint64](200, 5000), func(seed uint64) *history.History {
		return random.Tiny(seed, every(seed))
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range run.OrderLevels {
			try(notation.Format(h), h, l)
		}
	})
	t.Log(kinds)
	for _, k := range []string{"valid", "valid, snapshot", "unknown", "unknown, snapshot", "violation by reads",
		"violation by cases", "violation by a cycle",
		"violation by a cycle with reasons", "violation by a cycle, snapshot",
		"violation by a cycle with reasons, snapshot", "violation by reads, snapshot"} {
		histtest.Mix(t, kinds[k] == 0, "no certificate of the kind %q came up", k)
	}
}
