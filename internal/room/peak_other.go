//go:build !unix

package room

import (
	"os"
	"time"
)

var begun = time.Now()

// CPU returns wall-clock time, since these systems do not tell the processor time.
func CPU() time.Duration { return time.Since(begun) }

func rusageSelfMB() float64 { return 0 }

// ChildPeakMB is unknown on these systems.
func ChildPeakMB(*os.ProcessState) float64 { return 0 }
