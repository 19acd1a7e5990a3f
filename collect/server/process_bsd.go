//go:build unix && !linux

package server

import "syscall"

// dieWithParent does nothing: these systems have no such feature.
func dieWithParent(*syscall.SysProcAttr) {}

// descendants returns none: children with groups of their own notice by themselves that their parent is gone.
func descendants(int) []int { return nil }
