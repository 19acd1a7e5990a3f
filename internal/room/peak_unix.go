//go:build unix

package room

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// CPU returns the processor time of this process. Unlike wall-clock time, it hardly depends on other load of the
// machine.
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

// ChildPeakMB returns the peak memory of an ended process, which may have been killed without reporting it.
func ChildPeakMB(s *os.ProcessState) float64 {
	if u, ok := s.SysUsage().(*syscall.Rusage); ok {
		return rusageMB(u)
	}
	return 0
}

// rusageMB converts ru_maxrss to MB. Darwin counts bytes, other systems kibibytes.
func rusageMB(u *syscall.Rusage) float64 {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return float64(u.Maxrss) / 1e6
	}
	return float64(u.Maxrss) * 1024 / 1e6
}
