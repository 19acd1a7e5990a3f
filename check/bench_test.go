package check

import (
	"context"
	"fmt"
	"testing"

	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/level"
)

func blindw(b *testing.B, spec datasets.Spec) *history.History {
	b.Helper()
	spec.Workload, spec.Variant, spec.Seed = "blindw", "wr", 1
	h, err := datasets.Generate(context.Background(), spec)
	if err != nil {
		b.Fatal(err)
	}
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
