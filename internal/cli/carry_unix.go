//go:build unix

package cli

import "syscall"

// replace replaces the running program; it returns only where that fails.
func replace(program string, args, environ []string) { _ = syscall.Exec(program, args, environ) }
