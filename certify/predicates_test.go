package certify_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"isovet/certify"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

var predicateOptions = random.Options{Predicates: true, Duplicates: true, Deletes: true, Aborted: true, Unknown: true,
	Txns: 4}

// Of histories with predicates, some order is accepted if and only if brute force finds one; brute force's own is.
func TestPredicateOrders(t *testing.T) {
	n := histtest.Long[uint64](550, 40_000)
	if testing.Short() {
		n = 400
	}
	accepted, rejected := 0, 0
	histtest.Each(t, n, func(seed uint64) *history.History { return random.Tiny(seed, predicateOptions) },
		func(t testing.TB, seed uint64, h *history.History) {
			for _, l := range []level.Level{level.Serializable, level.SnapshotIsolation} {
				want, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
				must.OK(t, err, "seed %d", seed)
				if want.Verdict == evidence.Holds {
					must.OK(t, certify.Check(want, certify.Options{}), "seed %d, %s: brute force's order", seed, l)
				}
			}
			var sure, perhaps []uint32
			for x := range uint32(h.NumTxns()) {
				if x != h.Init && h.Txns.Status[x] == history.Committed {
					sure = append(sure, x)
				} else if x != h.Init && h.Txns.Status[x] == history.Unknown {
					perhaps = append(perhaps, x)
				}
			}
			want, _ := oracle.Check(h, oracle.Options{VerdictOnly: true})
			some := false
			for set := range 1 << len(perhaps) {
				part := append([]uint32(nil), sure...)
				for i, x := range perhaps {
					if set>>i&1 == 1 {
						part = append(part, x)
					}
				}
				permutations(part, 0, func(order []uint32) bool {
					err := certify.Check(&evidence.Result{Verdict: evidence.Holds, H: h, Order: order},
						certify.Options{})
					some = some || err == nil
					if u := (*certify.Unsupported)(nil); errors.As(err, &u) {
						t.Fatalf("seed %d: %v", seed, err)
					}
					return !some
				})
			}
			must.Hold(t, some == (want.Verdict == evidence.Holds),
				"seed %d: brute force says %s; some order is accepted: %v", seed, want.Verdict, some)
			if some {
				accepted++
			} else {
				rejected++
			}
		})
	if histtest.Whole() && (accepted == 0 || rejected == 0) {
		t.Errorf("%d accepted, %d rejected: not both are tried", accepted, rejected)
	}
}

// permutations calls f with each order of part, until it returns false.
func permutations(part []uint32, fixed int, f func([]uint32) bool) bool {
	if fixed == len(part) {
		return f(part)
	}
	for i := fixed; i < len(part); i++ {
		part[fixed], part[i] = part[i], part[fixed]
		ok := permutations(part, fixed+1, f)
		part[fixed], part[i] = part[i], part[fixed]
		if !ok {
			return false
		}
	}
	return true
}

// Under snapshot isolation no order of events is accepted for what brute force refutes.
func TestPredicateEventsRefused(t *testing.T) {
	tried := 0
	histtest.Each(t, uint64(1500), func(seed uint64) *history.History { return random.Tiny(seed, predicateOptions) },
		func(t testing.TB, seed uint64, h *history.History) {
			want, _ := oracle.Check(h, oracle.Options{Level: level.SnapshotIsolation, VerdictOnly: true})
			if want.Verdict != evidence.Violated {
				return
			}
			rng := rand.New(rand.NewPCG(seed, 5))
			for range 40 {
				var events []uint32
				for x := range uint32(h.NumTxns()) {
					if x != h.Init && (h.Txns.Status[x] == history.Committed || h.Txns.Status[x] == history.Unknown &&
						rng.IntN(2) == 0) {
						events = append(events, x, x)
					}
				}
				rng.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
				begun := map[uint32]bool{}
				for i, x := range events {
					events[i] = x << 1
					if begun[x] {
						events[i] |= 1
					}
					begun[x] = true
				}
				tried++
				if certify.Check(&evidence.Result{Verdict: evidence.Holds, Level: level.SnapshotIsolation, H: h,
					Order: events}, certify.Options{}) == nil {
					t.Fatalf("seed %d: accepted, against brute force: %v", seed, events)
				}
			}
		})
	if histtest.Whole() && tried == 0 {
		t.Error("no violation was tried")
	}
}
