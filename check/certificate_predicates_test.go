package check

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"isovet/certify"
	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/must"
)

// TestPredicateCertificates: certificates with predicate edges, of vbox and of replay, are written, read again against
// the history and replayed; one in which an edge names another version that the operation was based on, or the other
// kind of predicate edge, is refused.
func TestPredicateCertificates(t *testing.T) {
	seen := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](300, 10_000), func(seed uint64) *history.History {
		return tinyPredicates(
			seed, predicateOptions[[]int{1, 5}[seed%2]])
	}, func(t testing.TB, seed uint64, h *history.History) {
		if h == nil {
			return
		}
		for _, c := range []Checker{run.Vbox{}, run.Replay{}} {
			for _, l := range run.SerialLevels {
				r := answer(t, c, h, Options{Level: l})
				if r.Verdict == evidence.Unknown {
					continue
				}
				var b bytes.Buffer
				if err := evidence.WriteCertificate(&b, r); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				text := b.String()
				again, err := evidence.ReadCertificate(strings.NewReader(text), h)
				if err == nil {
					err = certify.Check(again, certify.Options{})
				}
				if err != nil {
					t.Fatalf("seed %d, %s, %s: %v\n%s\n%s", seed, c.Info().Name, l, err, text, notation.Format(h))
				}
				seen[r.Verdict.String()]++
				for i := range again.Anomalies {
					a := &again.Anomalies[i]
					for _, cycle := range append([][]evidence.Edge{a.Cycle}, a.Cycles...) {
						for j := range cycle {
							e := &cycle[j]
							if e.Dep != evidence.PRW && e.Dep != evidence.PWR {
								continue
							}
							seen[fmt.Sprint(e.Dep)]++
							whole := *e
							e.Dep = evidence.PRW + evidence.PWR - e.Dep
							refused(t, again, seed, "an edge of the other kind")
							*e = whole
							e.From, e.To = e.To, e.From
							refused(t, again, seed, "an edge the other way round")
							*e = whole
						}
					}
				}
			}
		}
	})
	t.Log(seen)
	for _, k := range []string{"valid", "violation", fmt.Sprint(evidence.PRW), fmt.Sprint(evidence.PWR)} {
		histtest.Mix(t, seen[k] < 6, "%s came up %d times only", k, seen[k])
	}
}

func refused(t testing.TB, r *evidence.Result, seed uint64, what string) {
	t.Helper()
	if certify.Check(r, certify.Options{}) == nil {
		t.Errorf("seed %d: %s is certified\n%s", seed, what, notation.Format(r.H))
	}
}

// TestBookingCertificates: a booking history of some size, with inserts, deletes and phantoms, from either checker to
// verify.
func TestBookingCertificates(t *testing.T) {
	for _, isolation := range []string{"serializable", "snapshot-isolation", "repeatable-read"} {
		h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "booking", Txns: 600, Seed: 3,
			Isolation: isolation}))(t)
		for _, c := range []Checker{run.Vbox{}, run.Replay{}} {
			r := answer(t, c, h, Options{})
			want := evidence.Violated
			if isolation == "serializable" {
				want = evidence.Holds
			}
			if r.Verdict != want {
				t.Errorf("%s: %s says %s (%s)", isolation, c.Info().Name, r.Verdict, r.Reason)
				continue
			}
			var b bytes.Buffer
			must.OK(t, evidence.WriteCertificate(&b, r))
			again, err := evidence.ReadCertificate(&b, h)
			if err == nil {
				err = certify.Check(again, certify.Options{})
			}
			if err != nil {
				t.Errorf("%s, %s: %v", isolation, c.Info().Name, err)
			}
		}
	}
}
