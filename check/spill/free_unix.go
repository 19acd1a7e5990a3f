//go:build linux || darwin || freebsd

package spill

import "golang.org/x/sys/unix"

// freeAt returns how many bytes a user may still write to the file system of a folder, or false if that is unknown.
func freeAt(dir string) (bytes int64, known bool) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil || s.Bsize <= 0 || s.Blocks == 0 {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
