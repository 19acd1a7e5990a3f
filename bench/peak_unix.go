//go:build unix

package bench

import (
	"os"
	"runtime"
	"syscall"
)

func rusageSelfMB() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return rusageMB(&u)
}

// selfCPUMS is what this process has computed.
func selfCPUMS() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
}

// rusageMB turns ru_maxrss into MB: Darwin gives bytes, the others kibibytes.
func rusageMB(u *syscall.Rusage) float64 {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return float64(u.Maxrss) / 1e6
	}
	return float64(u.Maxrss) * 1024 / 1e6
}

// childPeakMB is the peak of a process that ended without telling, such as one that was killed.
func childPeakMB(s *os.ProcessState) float64 {
	if u, ok := s.SysUsage().(*syscall.Rusage); ok {
		return rusageMB(u)
	}
	return 0
}
