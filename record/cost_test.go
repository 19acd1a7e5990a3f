//go:build unix

package record_test

import (
	"io"
	"math"
	"syscall"
	"testing"
	"time"

	"isovet/record"
)

// cpu is the processor time that this program has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestCost bounds what an operation costs, begin and commit of its transaction of eight included, in processor time,
// the best of several runs, by ten times what BenchmarkRecord measures on a machine that does nothing else: a lock
// that is waited for, or work that grows with the recording, shows on any machine.
func TestCost(t *testing.T) {
	const bound = 3000.0
	const n = 200_000
	for name, to := range map[string]func() *record.Recorder{
		"memory": func() *record.Recorder { return record.New(record.Options{}) },
		"stream": func() *record.Recorder { return record.To(io.Discard, record.Options{}) },
	} {
		best := math.Inf(1)
		for range 5 {
			rec := to()
			s := rec.Session()
			from := cpu()
			var x *record.Txn
			for i := range n {
				if i%8 == 0 {
					x = s.Begin("b")
				}
				if i%2 == 0 {
					_ = x.Read("key", i)
				} else {
					_ = x.Write(i&1023, i)
				}
				if i%8 == 7 {
					_ = x.Commit(ok)
				}
			}
			best = min(best, float64(cpu()-from)/n)
			if err := rec.Close(); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%s: %.0f ns an operation", name, best)
		if best > bound {
			t.Errorf("%s: %.0f ns an operation; expected at most %.0f", name, best, bound)
		}
	}
}
