package datasets

import (
	"context"
	"testing"
)

func BenchmarkGenerate(b *testing.B) {
	for _, iso := range Isolations() {
		b.Run("workload=blindw/txns=100k/isolation="+iso, func(b *testing.B) {
			for b.Loop() {
				r, err := Run(context.Background(), Spec{Txns: 100000, Isolation: iso})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(r.History.NumTxns()), "txns")
			}
		})
	}
}
