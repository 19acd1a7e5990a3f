//go:build unix

package room

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// CPU is the processor time that this process has used: the measure on a machine that others use too.
func CPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func rusageSelfMB() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return rusageMB(&u)
}

// ChildPeakMB is the peak of a process that ended without telling, such as one that was killed.
func ChildPeakMB(s *os.ProcessState) float64 {
	if u, ok := s.SysUsage().(*syscall.Rusage); ok {
		return rusageMB(u)
	}
	return 0
}

// rusageMB turns ru_maxrss into MB: Darwin gives bytes, the others kibibytes.
func rusageMB(u *syscall.Rusage) float64 {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return float64(u.Maxrss) / 1e6
	}
	return float64(u.Maxrss) * 1024 / 1e6
}
