//go:build !unix

package bench

import "os"

func selfCPUMS() float64 { return 0 }

func childPeakMB(*os.ProcessState) float64 { return 0 }
