package mechanism

import (
	"context"
	"fmt"
	"math"
	"syscall"
	"testing"

	"isovet/datasets"
	"isovet/history"
	"isovet/internal/test/histtest"
)

// benchHistory is BlindW-RW by two-phase locking, 8 operations a transaction.
func benchHistory(b *testing.B, txns int) *history.History {
	h, err := datasets.Generate(context.Background(), datasets.Spec{Workload: "blindw", Variant: "RW", Txns: txns})
	if err != nil {
		b.Fatal(err)
	}
	return h
}

func userSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Sec) + float64(u.Utime.Usec)/1e6
}

// BenchmarkVerify: ISOVET_LONG=1 for a million transactions.
func BenchmarkVerify(b *testing.B) {
	sizes := []int{25_000, 50_000}
	if histtest.Long(false, true) {
		sizes = []int{250_000, 500_000, 1_000_000}
	}
	for _, n := range sizes {
		b.Run(fmt.Sprintf("txns=%d", n), func(b *testing.B) {
			p, err := LookupProfile("store:serializable")
			if err != nil {
				b.Fatal(err)
			}
			h := benchHistory(b, n)
			least := math.Inf(1) // a busy machine makes the others slower
			for b.Loop() {
				user := userSeconds()
				r, err := Verify(context.Background(), h, Options{Profile: *p})
				if err != nil || r.Total() != 0 || r.Verified != n {
					b.Fatal(r, err)
				}
				least = min(least, userSeconds()-user)
			}
			b.ReportMetric(least*1e9/float64(n), "least-user-ns/txn")
		})
	}
}
