//go:build !unix

package cli

// replace cannot replace a running program here.
func replace(string, []string, []string) {}
