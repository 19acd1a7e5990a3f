//go:build !linux

package cli

// resident is not known here: what the Go runtime has taken must do.
func resident() (rss, shared int64, ok bool) { return 0, 0, false }

// residentOf is not known either.
func residentOf(pid int) int64 { return 0 }

// freeMemory is not known here.
func freeMemory() int64 { return 0 }

// machineMemory is not known here.
func machineMemory() int64 { return 0 }

func exhausted(held, machine int64) bool { return false }
