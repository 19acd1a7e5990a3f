package check

import (
	"context"
	"fmt"
	"testing"

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
		for _, l := range []level.Level{level.SessionSerializable, level.SessionSnapshotIsolation, level.StrictSerializable, level.StrictSnapshotIsolation} {
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
