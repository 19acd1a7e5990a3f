package timestamp

import (
	"os"
	"testing"

	"isovet/datasets"
	"isovet/history"
	"isovet/history/format"
	"isovet/level"
)

// benchHistory is CHRONOS Table I's default workload: 15 operations, 1,000 Zipf keys, 50 sessions. The variable
// ISOVET_HISTORY names a file to take instead.
func benchHistory(b *testing.B, txns int) *history.History {
	b.Helper()
	var h *history.History
	var err error
	if path := os.Getenv("ISOVET_HISTORY"); path != "" {
		h, err = format.Read(b.Context(), path, format.Options{})
	} else {
		h, err = datasets.Generate(b.Context(), datasets.Spec{Workload: "gt", Txns: txns, Sessions: 50, Keys: 1000,
			Isolation: "snapshot-isolation", DBTimes: true, Times: datasets.NoTimes, NoAborted: true, Seed: 1})
	}
	if err != nil {
		b.Fatal(err)
	}
	return h
}

func BenchmarkChronos(b *testing.B) {
	for _, l := range []level.Level{level.SessionSnapshotIsolation, level.SessionSerializable} {
		b.Run("level="+l.String(), func(b *testing.B) {
			h := benchHistory(b, 20_000)
			b.ResetTimer()
			for range b.N {
				r, err := Chronos(b.Context(), h, Options{Level: l})
				if err != nil {
					b.Fatal(err)
				}
				if l.Snapshot() && len(r.Violations) > 0 {
					b.Fatal("a snapshot-isolated store violates snapshot isolation")
				}
			}
			b.ReportMetric(float64(b.N)*float64(h.NumTxns())/b.Elapsed().Seconds(), "txns/s")
		})
	}
}
