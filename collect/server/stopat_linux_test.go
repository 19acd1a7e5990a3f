package server

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// TestStopAt: a process stops where it calls the function, goes on when the condition holds, and lives; one that does
// not come there goes on too, one that has ended is no error, and a function that is not there is one. Each start of
// gdb takes a second of CPU.
func TestStopAt(t *testing.T) {
	histtest.OnlyLong(t)
	if _, err := exec.LookPath("gdb"); err != nil {
		t.Skip("gdb is not installed")
	}
	cmd := exec.Command("sh", "-c", "while :; do read line < /dev/null; sleep 0.01; done")
	must.OK(t, cmd.Start())
	pid := cmd.Process.Pid
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	time.Sleep(100 * time.Millisecond)
	calls := 0
	third := func() func() bool { return func() bool { calls++; return calls%3 == 0 } }
	err := stopAt(pid, "open64", 300*time.Millisecond, nil, third)
	switch {
	case err != nil && strings.Contains(err.Error(), "gdb cannot stop"):
		t.Skipf("here gdb cannot look into a process: %v", err)
	case err != nil || calls < 6 || calls%3 != 0:
		t.Errorf("%v after %d calls", err, calls)
	}
	done := make(chan struct{})
	close(done)
	must.OK(t, stopAt(pid, "getpwnam", time.Hour, done, func() func() bool { panic("it came to getpwnam") }))
	err = stopAt(pid, "no_such_function", 300*time.Millisecond, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "no function no_such_function") {
		t.Errorf("a function that is not there: %v", err)
	}
	select {
	case err := <-ended:
		t.Fatalf("the process has ended: %v", err)
	default:
	}
	must.OK(t, cmd.Process.Kill())
	<-ended
	must.OK(t, stopAt(pid, "open64", 300*time.Millisecond, nil, nil))
}
