//go:build !linux && !darwin && !freebsd && !windows

package spill

// freeAt is how many bytes a user may still write to the file system of a folder; false: it cannot be told.
func freeAt(string) (bytes int64, known bool) { return 0, false }
