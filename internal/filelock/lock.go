// Package filelock locks a file for one process at a time, and makes temporary folders that the next process removes
// if theirs was killed.
package filelock

import (
	"errors"
	"os"
)

// ErrLocked says that another process has locked the file.
var ErrLocked = errors.New("locked by another process")

// Try locks an open file until Close or the process's end. If another process has locked it, or this one has it open
// and locked already, the error is ErrLocked.
func Try(f *os.File) error { return try(f) }

// Close unlocks a file that Try locked, and closes it. Closing alone is not enough: a child process that another
// goroutine starts has the open file, and with it the lock, until it runs its program.
func Close(f *os.File) error { return errors.Join(unlock(f), f.Close()) }
