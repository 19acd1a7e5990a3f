//go:build invariants

package order

const invariants = true
