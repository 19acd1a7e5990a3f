package check

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"isovet/check/run"
	"isovet/datasets"
	"isovet/history"
	"isovet/level"
)

func generated(b *testing.B, spec datasets.Spec) *history.History {
	b.Helper()
	spec.Seed = 1
	h, err := datasets.Generate(context.Background(), spec)
	if err != nil {
		b.Fatal(err)
	}
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
	if err != nil {
		b.Fatal(err)
	}
	return h
}
