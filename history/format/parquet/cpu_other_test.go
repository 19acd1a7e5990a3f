//go:build !unix

package parquet

import "time"

var begun = time.Now()

// cpuTime returns wall-clock time where there is no processor time to be had.
func cpuTime() time.Duration { return time.Since(begun) }
