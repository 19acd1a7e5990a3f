//go:build invariants

package closure

const invariants = true
