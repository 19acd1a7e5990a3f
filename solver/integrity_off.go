//go:build !invariants

package solver

const invariants = false
