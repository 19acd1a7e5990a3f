package memdir

import (
	"os"
	"syscall"
)

func init() {
	const noExec = 8 // ST_NOEXEC
	var s syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs("/dev/shm", &s) != nil || int64(s.Flags)&noExec != 0 ||
		s.Bavail*uint64(s.Bsize) < 2<<30 {
		return
	}
	os.Setenv("TMPDIR", "/dev/shm")
}
