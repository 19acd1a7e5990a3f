//go:build !unix

package cli

// closeOnExec has nothing to do where no process is kept (needsKeeper).
func closeOnExec(uintptr) {}
