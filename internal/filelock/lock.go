// Package filelock takes a file for one process at a time, and makes throw-away folders that the next process removes
// where theirs was killed.
package filelock

import (
	"errors"
	"os"
)

// ErrLocked says that a file is another process's.
var ErrLocked = errors.New("locked by another process")

// Try takes an open file for this process, until it is closed or the process ends, in whatever way. Where another one
// has it, or it was opened and taken before, the error is ErrLocked.
func Try(f *os.File) error { return try(f) }
