//go:build unix

package parquet

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the processor time that the process has used: the measure on a machine that others use too.
func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
