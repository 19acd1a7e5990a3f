//go:build !unix

package console

// closeOnExec has nothing to do where no process is kept (needsKeeper).
func closeOnExec(uintptr) {}

// Private has nothing to do where files have no modes.
func Private() (undo func()) { return func() {} }
