//go:build !linux

package guard

// resident is unknown on this system. The memory of the Go runtime is used instead.
func resident() (rss, shared int64, ok bool) { return 0, 0, false }

// ResidentOf is unknown on this system.
func ResidentOf(pid int) int64 { return 0 }

// freeMemory is unknown on this system.
func freeMemory() int64 { return 0 }

// MachineMemory is unknown on this system.
func MachineMemory() int64 { return 0 }

func exhausted(held, machine int64) bool { return false }
