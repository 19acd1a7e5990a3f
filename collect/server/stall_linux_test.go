package server

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isovet/internal/test/must"
)

// TestStall: a thread of a process, or the child of one, is stopped for a while and goes on; what has ended is no
// error. Who waits for the end of the process is not told of the stop.
func TestStall(t *testing.T) {
	if os.Getenv("ISOVET_STALLED") != "" { // the process with threads
		time.Sleep(time.Minute)
		return
	}
	t.Setenv("ISOVET_STALLED", "1")
	for _, script := range []string{"exec " + os.Args[0] + " -test.run '^TestStall$'", "sleep 60 & wait"} {
		cmd := exec.Command("sh", "-c", script)
		must.OK(t, cmd.Start())
		pid := cmd.Process.Pid
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		stopped := func() bool {
			for _, p := range append(descendants(pid), pid) {
				tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p)) // the pattern is right
				for _, task := range tasks {
					b, err := os.ReadFile(task)
					if i := bytes.LastIndexByte(b, ')'); err == nil && i > 0 && b[i+2] == 't' {
						return true
					}
				}
			}
			return false
		}
		for strings.HasPrefix(script, "sleep") && len(descendants(pid)) == 0 {
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
					time.Sleep(time.Millisecond)
				}
			}
		}
		if stopped() {
			t.Errorf("%s: it is still stopped", script)
		}
		select {
		case err := <-ended:
			t.Fatalf("%s: its end was told while it was there: %v", script, err)
		default:
		}
		killTree(cmd.Process)
		<-ended
		must.OK(t, stall(pid, rng, time.Millisecond))
	}
}
