package mechanism

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/datasets"
	"isovet/datasets/store"
	"isovet/history"
	"isovet/internal/keyed"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// streamed is a history as it would arrive: a run of the store, and an order of arrival near that of the ends.
type streamed struct {
	name    string
	h       *history.History
	p       *Profile
	skew    int64
	arrival []uint32
	every   int   // transactions after which it is pruned
	apart   int64 // no transaction begins so long before an end that came before it
}

func stream(t testing.TB, iso, workload, broken string, seed uint64, txns int) *streamed {
	t.Helper()
	spec := datasets.Spec{Workload: workload, Txns: txns, Isolation: iso, Seed: seed, Keys: 30, AbortRate: .1,
		UnknownRate: .03, Break: broken, Skew: int64(seed%2) * 20_000}
	h := must.Get(datasets.Generate(t.Context(), spec))(t)
	p := must.Get(ProfileOf(h.Meta.DB, h.Meta.Isolation))(t)
	s := &streamed{name: fmt.Sprintf("%s, %s, break %q, seed %d", iso, workload, broken, seed), h: h, p: p,
		skew: spec.Skew, every: 1 + int(seed%7)*int(seed%5)}
	rng := rand.New(rand.NewPCG(seed, 0xa))
	at := make([]int64, h.NumTxns())
	jitter := int64(1 + rng.IntN(3_000_000))
	for x := range uint32(h.NumTxns()) {
		if x != h.Init {
			s.arrival = append(s.arrival, x)
			at[x] = s.end(x) + rng.Int64N(jitter)
		}
	}
	slices.SortStableFunc(s.arrival, func(a, b uint32) int { return cmp.Compare(at[a], at[b]) })
	latest := int64(-Forever)
	for _, x := range s.arrival {
		if start := h.Start(x); start != history.NoTime {
			s.apart = max(s.apart, latest-start)
		}
		latest = max(latest, s.end(x))
	}
	return s
}

func (s *streamed) end(t uint32) int64 { return max(s.h.End(t), s.h.Commit(t), s.h.Start(t)) }

// run verifies the stream online, with pauses in which what has arrived is final if it is quiet.
func (s *streamed) run(t testing.TB, lateness int64, o Options) (vs []Violation, us []Unjudged, st OnlineStats) {
	t.Helper()
	str := NewStream(keyed.Draw())
	str.Starts(s.h)
	o.Profile, o.Skew, o.Initial = *s.p, s.skew, str.Initial
	x := NewOnline(OnlineOptions{Options: o, Lateness: lateness})
	str.Piece(s.h)
	var buf []Trace
	if s.h.Init != history.None {
		buf = must.Get(str.Txn(buf, s.h.Init, uint64(s.h.Init)))(t)
	}
	take := func() {
		v, u := x.Take()
		vs, us = append(vs, v...), append(us, u...)
	}
	for _, id := range s.arrival {
		buf = must.Get(str.Txn(buf[:0], id, uint64(id)))(t)
		if len(buf) > 0 {
			x.Add(buf)
		}
		take()
	}
	st = x.Stats()
	x.Close()
	take()
	return vs, us, st
}

// keysOf says of violations what they are, without the order of two whose order means nothing.
func (s *streamed) keysOf(vs []Violation, global bool) []string {
	var out []string
	for _, v := range vs {
		txns := slices.Clone(v.Txns)
		op := uint32(0)
		switch v.Mechanism {
		case ConsistentRead:
			if op = v.Ops[0]; global {
				op -= s.h.Txns.OpOff[v.Txns[0]]
			}
		default:
			slices.Sort(txns)
		}
		out = append(out, fmt.Sprint(v.Mechanism, v.Kind, txns, v.Key, op))
	}
	slices.Sort(out)
	return out
}

// has reports whether the store at an isolation has a part that can be broken.
func has(t testing.TB, iso, part string) bool {
	t.Helper()
	i := must.Get(store.ParseIsolation(iso))(t)
	b := must.Get(store.ParseBreak(part))(t)
	return i.Has(b)
}

func eachStream(t *testing.T, seeds uint64, f func(t testing.TB, s *streamed)) {
	for _, iso := range datasets.Isolations() {
		for _, broken := range []string{"", "version", "lock", "first-updater", "certifier"} {
			randtest.Seeds(t, uint64(seeds), func(t testing.TB, seed uint64) {
				w := []string{"blindw", "smallbank", "list-append", "blindw-pred", "rmw"}[seed%5]
				if broken != "" {
					if w = []string{"blindw", "rmw"}[seed%2]; !has(t, iso, broken) {
						return
					}
				}
				f(t, stream(t, iso, w, broken, seed, 400))
			})
		}
	}
}

// TestOnlineIsOffline: when nothing is late, what is found online is what Verify finds.
func TestOnlineIsOffline(t *testing.T) {
	found := [4]int{}
	eachStream(t, max(5, seeds()/500), func(t testing.TB, s *streamed) {
		want := must.Get(Verify(t.Context(), s.h, Options{Profile: *s.p, Skew: s.skew, every: s.every}))(t)
		got, unjudged, st := s.run(t, s.apart, Options{every: s.every})
		if st.Late > 0 || len(unjudged) > 0 {
			t.Fatalf("%s: %d late, %d reads not judged", s.name, st.Late, len(unjudged))
		}
		a, b := s.keysOf(got, false), s.keysOf(want.Violations, true)
		if !slices.Equal(a, b) {
			t.Fatalf("%s:\nonline  %s\noffline %s", s.name, strings.Join(a, "\n        "), strings.Join(b,
				"\n        "))
		}
		for i, n := range want.Found {
			found[i] += n
		}
	})
	for m, n := range found {
		randtest.Mix(t, n < 5, "%v: %d violations are too few to compare", Mechanism(m), n)
	}
	t.Logf("violations compared: %v", found)
}

// TestLateIsNoFalseAlarm: of correct runs nothing is found, however much comes late.
func TestLateIsNoFalseAlarm(t *testing.T) {
	late, unjudged := int64(0), 0
	eachStream(t, max(5, seeds()/500), func(t testing.TB, s *streamed) {
		if !strings.Contains(s.name, `break ""`) {
			return
		}
		for _, part := range []int64{2, 5, 20, 1 << 40} {
			got, us, st := s.run(t, s.apart/part, Options{every: s.every})
			if len(got) > 0 {
				t.Fatalf("%s, lateness %d of %d: false alarm: %v", s.name, s.apart/part, s.apart, s.keysOf(got, false))
			}
			late += st.Late
			unjudged += len(us)
		}
	})
	randtest.Mix(t, late < 1000 || unjudged < 20,
		"%d late, %d reads of what they wrote: too few to be a test", late, unjudged)
	t.Logf("%d late, %d reads of what they wrote", late, unjudged)
}
