// Package room tells how much memory is still available, so that work that is too large can be refused before it
// allocates. A Go program that runs out of memory dies without an answer, with exit status 2, which in isovet means
// "unknown".
package room

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
)

// Left returns how many bytes more the Go runtime may take before its memory limit (GOMEMLIMIT, debug.SetMemoryLimit;
// the command line sets it to --memory or what the machine allows). Garbage counts as used, so that a collection may
// leave more. math.MaxInt64 means that there is no limit. Cost: some µs, during which the program is stopped.
func Left() int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return limit
	}
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(s)
	held := s[0].Value.Uint64() - s[1].Value.Uint64() - s[2].Value.Uint64()
	return max(0, limit-int64(held))
}

// For returns nil if so many more bytes are probably available, otherwise a *ShortError.
func For(bytes float64) error {
	if left := Left(); bytes > float64(left) {
		return &ShortError{Needs: bytes, Left: left}
	}
	return nil
}

// ShortError says that memory would not be enough.
type ShortError struct {
	Needs float64 // bytes, about
	Left  int64
}

func (e *ShortError) Error() string {
	return fmt.Sprintf("needs about %s of memory, and %s is left", Size(e.Needs), Size(float64(e.Left)))
}

// Size writes bytes in a readable unit.
func Size(bytes float64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", bytes/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%.0f MiB", bytes/(1<<20))
	}
	return fmt.Sprintf("%.0f KiB", bytes/(1<<10))
}

// PeakMB returns the greatest memory that this process has had so far, in MB (10^6 bytes), or 0 if the system does not
// say.
//
// Linux: VmHWM of /proc/self/status. ru_maxrss would be wrong in a child: it begins with the parent's memory at the
// fork, so that a parent that has just generated a large history would pass on its own peak to every checker it runs.
func PeakMB() float64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return rusageSelfMB()
	}
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			s := bufio.NewScanner(bytes.NewReader(rest))
			s.Split(bufio.ScanWords)
			if s.Scan() {
				if kb, err := strconv.ParseFloat(s.Text(), 64); err == nil {
					return kb * 1024 / 1e6
				}
			}
		}
	}
	return rusageSelfMB()
}
