//go:build !linux && !darwin && !freebsd && !windows

package spill

// freeAt returns how many bytes a user may still write to the file system of a folder, or false if that is unknown.
func freeAt(string) (bytes int64, known bool) { return 0, false }
