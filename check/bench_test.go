package check

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

func blindw(b *testing.B, spec datasets.Spec) *history.History {
	b.Helper()
	spec.Workload, spec.Variant, spec.Seed = "blindw", "wr", 1
	h, err := datasets.Generate(context.Background(), spec)
	must.OK(b, err)
	return h
}

func benchmark(b *testing.B, c Checker, h *history.History, l level.Level) {
	b.Helper()
	b.ReportAllocs()
	var r *evidence.Result
	for b.Loop() {
		var err error
		if r, err = Run(context.Background(), c, h, Options{Level: l}); err != nil {
			b.Fatal(err)
		}
		if r.Verdict != evidence.Holds {
			b.Fatalf("%s (%s); want valid", r.Verdict, r.Reason)
		}
	}
	b.ReportMetric(float64(r.Stats.Constraints), "constraints")
	b.ReportMetric(float64(r.Stats.Left), "constraints_left")
	b.ReportMetric(float64(r.Stats.KnownEdges), "known_edges")
	b.ReportMetric(float64(r.Stats.Conflicts), "conflicts")
}

// BenchmarkVbox: the bounds are 100 ms at 10k and 1.5 s at 100k; 13 times the time from one to the other. open=long is
// a transaction left open through the whole run.
func BenchmarkVbox(b *testing.B) {
	for _, l := range []level.Level{level.Serializable, level.StrictSerializable} {
		for _, txns := range []int{10000, 100000} {
			for _, open := range []string{"short", "long"} {
				b.Run(fmt.Sprintf("data=blindw-wr/level=%s/txns=%dk/open=%s", l, txns/1000, open), func(b *testing.B) {
					benchmark(b, run.Vbox{}, blindw(b, datasets.Spec{Txns: txns, LongTxn: open == "long"}), l)
				})
			}
		}
	}
	b.Run("data=blindw-wr-untimed/level=serializable/txns=10k/open=short", func(b *testing.B) {
		benchmark(b, run.Vbox{}, blindw(b, datasets.Spec{Txns: 10000, Times: datasets.NoTimes}), level.Serializable)
	})
}

// BenchmarkCobra: vbox is to be 60 times faster at 10k. That takes seconds a round: with ISOVET_LONG=1 only.
func BenchmarkCobra(b *testing.B) {
	sizes := []int{2000}
	if histtest.Long(false, true) {
		sizes = append(sizes, 10000)
	}
	for _, l := range []level.Level{level.Serializable, level.StrictSerializable} {
		for _, txns := range sizes {
			b.Run(fmt.Sprintf("data=blindw-wr/level=%s/txns=%dk/open=short", l, txns/1000), func(b *testing.B) {
				benchmark(b, called("cobra"), blindw(b, datasets.Spec{Txns: txns}), l)
			})
		}
	}
}

func generated(b *testing.B, spec datasets.Spec) *history.History {
	b.Helper()
	spec.Seed = 1
	h, err := datasets.Generate(context.Background(), spec)
	must.OK(b, err)
	return h
}

// BenchmarkMTC: the bound is 300 ms for a million mini-transactions, certification (metric certify_ms) apart.
func BenchmarkMTC(b *testing.B) {
	for _, txns := range []int{100_000, 1_000_000} {
		h := generated(b, datasets.Spec{Workload: "mini", Txns: txns, Keys: 1000, Sessions: 24})
		for _, l := range []level.Level{level.SessionSerializable, level.SessionSnapshotIsolation,
			level.StrictSerializable, level.StrictSnapshotIsolation} {
			b.Run(fmt.Sprintf("data=mini/level=%s/txns=%dk", l, txns/1000), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r, err := miniTxns{}.Check(context.Background(), h, Options{Level: l})
					if err != nil || r.Order == nil {
						b.Fatal(r, err)
					}
					for s, ms := range r.Stats.Stages {
						b.ReportMetric(ms, s+"_ms")
					}
				}
			})
		}
	}
}

// BenchmarkLWT: the bound is 1.5 s for ten million operations.
func BenchmarkLWT(b *testing.B) {
	for _, ops := range []int{1_000_000, 10_000_000} {
		h := lightweightHistory(b, ops)
		b.Run(fmt.Sprintf("ops=%dm", ops/1_000_000), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := run.Lwt{}.Check(context.Background(), h, Options{Level: level.Linearizable})
				if err != nil || r.Order == nil {
					b.Fatal(r, err)
				}
			}
		})
	}
}

// lightweightHistory is a linearizable run of compare-and-sets and reads on a hundred keys by 24 clients.
func lightweightHistory(b *testing.B, ops int) *history.History {
	b.Helper()
	const keys, clients = 100, 24
	hb := history.NewBuilder()
	hb.Initial = history.IntValue(0)
	var key [keys]uint32
	var cur [keys]int64
	for k := range key {
		key[k] = hb.Key(history.IntValue(int64(k)))
	}
	rng := rand.New(rand.NewPCG(1, 1))
	free := [clients]int64{}
	for i := range ops {
		c := i % clients
		k := rng.IntN(keys)
		at := int64(i+clients) * 10
		hb.Read(key[k], history.IntValue(cur[k]))
		if rng.IntN(5) > 0 {
			cur[k] = int64(i) + 1
			hb.Write(key[k], history.IntValue(cur[k]))
		}
		head := history.NewTxnHead()
		head.HasSess, head.Session = true, int64(c)
		head.Start, head.End = max(free[c]+1, at-rng.Int64N(200)), at+rng.Int64N(20)
		free[c] = head.End
		hb.EndTxn(head)
	}
	h, err := hb.Build()
	must.OK(b, err)
	return h
}
