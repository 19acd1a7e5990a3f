package server

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"isovet/internal/test/must"
)

// TestStall: the only thread of a process, or the child of one, is stopped for a while and goes on; what has ended is
// no error.
func TestStall(t *testing.T) {
	for _, c := range []struct{ script, state string }{
		{"exec sleep 60", "t"}, // traced
		{"sleep 60 & wait", "T"},
	} {
		cmd := exec.Command("sh", "-c", c.script)
		must.OK(t, cmd.Start())
		pid := cmd.Process.Pid
		stopped := func() bool {
			for _, p := range append(descendants(pid), pid) {
				b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
				if i := bytes.LastIndexByte(b, ')'); err == nil && i > 0 && string(b[i+2:i+3]) == c.state {
					return true
				}
			}
			return false
		}
		for c.state == "T" && len(descendants(pid)) == 0 {
			time.Sleep(time.Millisecond)
		}
		rng := rand.New(rand.NewPCG(1, 1))
		done := make(chan error)
		seen := false
		for !seen {
			go func() { done <- stall(pid, rng, 20*time.Millisecond) }()
			for over := false; !over; {
				seen = seen || stopped()
				select {
				case err := <-done:
					must.OK(t, err)
					over = true
				default:
				}
			}
		}
		if stopped() {
			t.Errorf("%s: it is still stopped", c.script)
		}
		killTree(cmd.Process)
		_ = cmd.Wait() // killed
		must.OK(t, stall(pid, rng, time.Millisecond))
	}
}
