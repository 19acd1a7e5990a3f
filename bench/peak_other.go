//go:build !unix

package bench

import "os"

func rusageSelfMB() float64 { return 0 }

func selfCPUMS() float64 { return 0 }

func childPeakMB(*os.ProcessState) float64 { return 0 }
