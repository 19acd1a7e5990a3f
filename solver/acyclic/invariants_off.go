//go:build !invariants

package acyclic

const invariants = false
