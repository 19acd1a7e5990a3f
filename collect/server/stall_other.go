//go:build !linux

package server

import (
	"fmt"
	"math/rand/v2"
	"time"
)

func stall(int, *rand.Rand, time.Duration) error {
	return fmt.Errorf("%w: isovet finds the processes and threads of a server on Linux only", ErrNotHere)
}

// StopAt is for Linux.
func (c *Cluster) StopAt(int, *rand.Rand, string, <-chan struct{}, func() func() bool) error {
	return fmt.Errorf("%w: isovet finds the processes of a server on Linux only", ErrNotHere)
}
