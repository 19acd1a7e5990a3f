//go:build !unix

package console

// closeOnExec does nothing, since this system has no supervised processes (needsKeeper).
func closeOnExec(uintptr) {}

// Private does nothing, since files have no permissions here.
func Private() (undo func()) { return func() {} }
