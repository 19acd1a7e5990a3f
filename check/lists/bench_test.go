package lists_test

import (
	"context"
	"testing"

	"isovet/check/lists"
	"isovet/datasets"
	"isovet/level"
)

// BenchmarkElle reads a list-append history of 100,000 transactions and decides it: to be 0.3 s at most.
func BenchmarkElle(b *testing.B) {
	h, err := datasets.Generate(context.Background(), datasets.Spec{Workload: "list-append", Txns: 100_000})
	if err != nil {
		b.Fatal(err)
	}
	for _, l := range []level.Level{level.Serializable, level.StrictSerializable, level.SessionSnapshotIsolation,
		level.StrictSnapshotIsolation} {
		b.Run("level="+l.String(), func(b *testing.B) {
			for b.Loop() {
				v := lists.Read(h)
				if order, _ := lists.NewGraph(v, l, 0).Order(); order == nil {
					b.Fatal("no order")
				}
			}
		})
	}
}
