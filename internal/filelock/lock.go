// Package filelock takes a file for one process at a time, and makes throw-away folders that the next process removes
// where theirs was killed.
package filelock

import (
	"errors"
	"os"
)

// ErrLocked says that a file is another process's.
var ErrLocked = errors.New("locked by another process")

// Try takes an open file for this process, until Close or the process's end, in whatever way. Where another one
// has it, or it was opened and taken before, the error is ErrLocked.
func Try(f *os.File) error { return try(f) }

// Close unlocks a file that Try locked, and closes it. To close it alone is not enough: a child process that another
// goroutine starts has the open file, and with it the lock, until it runs its program.
func Close(f *os.File) error { return errors.Join(unlock(f), f.Close()) }
