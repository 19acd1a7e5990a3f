//go:build !unix

package cli

// closeOnExec has nothing to do where no process is kept (needsKeeper).
func closeOnExec(uintptr) {}

// private has nothing to do where files have no modes.
func private() (undo func()) { return func() {} }
