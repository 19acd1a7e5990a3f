//go:build unix

package bench

import (
	"os"
	"syscall"

	"isovet/internal/room"
)

// selfCPUMS is what this process has computed.
func selfCPUMS() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
}

// childPeakMB is the peak of a process that ended without telling, such as one that was killed.
func childPeakMB(s *os.ProcessState) float64 {
	if u, ok := s.SysUsage().(*syscall.Rusage); ok {
		return room.RusageMB(u)
	}
	return 0
}
