//go:build unix && !linux

package server

import "syscall"

// dieWithParent does nothing: these systems have no such feature.
func dieWithParent(*syscall.SysProcAttr) {}

// descendants returns none, since children with their own groups notice themselves that their parent has ended.
func descendants(int) []int { return nil }
