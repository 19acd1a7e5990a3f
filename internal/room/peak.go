package room

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
)

// PeakMB is the most memory that this process has held so far, in MB (10^6 bytes); 0 where the system does not say.
//
// Linux: VmHWM of /proc/self/status. ru_maxrss would be wrong in a child: it starts from what the parent held at the
// fork, so a parent that has just generated a large history would pass its own peak on to every checker it runs.
func PeakMB() float64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return rusageSelfMB()
	}
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			s := bufio.NewScanner(bytes.NewReader(rest))
			s.Split(bufio.ScanWords)
			if s.Scan() {
				if kb, err := strconv.ParseFloat(s.Text(), 64); err == nil {
					return kb * 1024 / 1e6
				}
			}
		}
	}
	return rusageSelfMB()
}
