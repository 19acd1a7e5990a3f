//go:build unix

package room

import (
	"runtime"
	"syscall"
)

func rusageSelfMB() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return RusageMB(&u)
}

// RusageMB turns ru_maxrss into MB: Darwin gives bytes, the others kibibytes.
func RusageMB(u *syscall.Rusage) float64 {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return float64(u.Maxrss) / 1e6
	}
	return float64(u.Maxrss) * 1024 / 1e6
}
