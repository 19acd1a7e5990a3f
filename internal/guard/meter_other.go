//go:build !linux

package guard

// resident is not known here: what the Go runtime has taken must do.
func resident() (rss, shared int64, ok bool) { return 0, 0, false }

// ResidentOf is not known either.
func ResidentOf(pid int) int64 { return 0 }

// freeMemory is not known here.
func freeMemory() int64 { return 0 }

// MachineMemory is not known here.
func MachineMemory() int64 { return 0 }

func exhausted(held, machine int64) bool { return false }
