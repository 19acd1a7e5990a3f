//go:build unix

package collect_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"isovet/collect"
	"isovet/collect/server"
	"isovet/internal/test/must"
)

// cpu is the processor time that this program has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRecording runs the same clients with and without writing anything down, one after the other, since a
// machine's load changes: what recording costs in commits a second, and in processor time of the clients.
func BenchmarkRecording(b *testing.B) {
	c := collect.Config{DB: []string{"postgres:start"}, Isolation: "serializable", Workload: "blindw", Txns: 10000}
	d, err := collect.Open(context.Background(), c)
	if errors.Is(err, server.ErrMissing) {
		b.Skipf("NOT RUN, a server is missing: %v", err)
	}
	must.OK(b, err)
	defer d.Close()
	var txns int
	var took, used [2]time.Duration
	for i := 0; b.Loop(); i++ {
		for _, k := range []int{i % 2, 1 - i%2} {
			c.NoRecord, c.Seed = k == 0, uint64(i)
			from := cpu()
			r, err := d.Collect(context.Background(), c)
			must.OK(b, err)
			took[k] += r.Summary.Elapsed
			used[k] += cpu() - from
		}
		txns += c.Txns
	}
	for k, name := range []string{"silent", "recorded"} {
		b.ReportMetric(float64(txns)/took[k].Seconds(), name+"-commits/s")
		b.ReportMetric(float64(used[k].Microseconds())/float64(txns), name+"-cpu-µs/txn")
	}
}
