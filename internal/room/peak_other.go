//go:build !unix

package room

import (
	"os"
	"time"
)

var begun = time.Now()

// CPU is wall-clock time where there is no processor time to be had.
func CPU() time.Duration { return time.Since(begun) }

func rusageSelfMB() float64 { return 0 }

// ChildPeakMB is not known here.
func ChildPeakMB(*os.ProcessState) float64 { return 0 }
