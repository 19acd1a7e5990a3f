//go:build !invariants

package closure

// invariants switches the check of the whole closure, on small graphs, after every change.
const invariants = false
