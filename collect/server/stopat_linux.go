package server

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// How long a process has to come to the function, and how long it is stopped there at most; gdb has to end within
// gdbWithin.
const (
	comesWithin = time.Second
	stopsFor    = 200 * time.Millisecond
	gdbWithin   = 10 * time.Second
)

// StopAt stops one session's process of a server where it next calls a function, until the condition holds, or 0.2 s
// have passed: by gdb, as a script of a known interleaving does. A process that does not call it within a second goes
// on; that is no error. Errors: there is no gdb, no such function, or no process a session.
func (c *Cluster) StopAt(i int, rng *rand.Rand, function string, until func() bool) error {
	n := c.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	var sessions []int
	for _, pid := range descendants(n.p.cmd.Process.Pid) {
		// PostgreSQL's sessions have their client in their title, its own processes have none.
		title, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if text := string(title); err == nil && (strings.Contains(text, "[local]") || strings.Contains(text, "(")) {
			sessions = append(sessions, pid)
		}
	}
	if len(sessions) == 0 {
		return fmt.Errorf("%w: no session of the server is a process; expected PostgreSQL, on Linux", ErrNotHere)
	}
	return stopAt(sessions[rng.IntN(len(sessions))], function, until)
}

func stopAt(pid int, function string, until func() bool) error {
	cmd := exec.Command("gdb", "-q", "-nx", "-iex", "set confirm off", "-iex", "set pagination off",
		"-p", strconv.Itoa(pid))
	detach(cmd) // Ctrl-C is for isovet
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%w: gdb: %w", ErrMissing, err)
	}
	late := time.AfterFunc(gdbWithin, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	told := make(chan string, 64)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			told <- lines.Text()
		}
		close(told)
	}()
	// Signals are the server's own.
	_, err = fmt.Fprintf(in, "handle all nostop noprint pass\nbreak %s\necho isovet: set\\n\ncontinue\n", function)
	failed := met(told, function, until, func() { _ = cmd.Process.Signal(os.Interrupt) })
	if err == nil {
		_, err = io.WriteString(in, "delete\ndetach\nquit\n")
	}
	_ = in.Close()
	for range told { // until it has ended
	}
	if e := cmd.Wait(); e != nil {
		err = errors.Join(err, fmt.Errorf("gdb: %w", e))
	}
	return cmp.Or(failed, err)
}

// met follows what gdb tells until the process has been stopped at the function for as long as it should be, has been
// interrupted because it never came there, or has ended.
func met(told <-chan string, function string, until func() bool, interrupt func()) error {
	var patience <-chan time.Time
	for {
		select {
		case line, more := <-told:
			switch {
			case !more:
				return errors.New("gdb ended before it was told to")
			case strings.Contains(line, "No such process"), strings.Contains(line, "exited"),
				strings.Contains(line, "SIGINT"):
				return nil
			case strings.Contains(line, "ptrace: "):
				return fmt.Errorf("gdb cannot stop the server: %s", line)
			case strings.Contains(line, " not defined"):
				return fmt.Errorf("gdb finds no function %s in the server; expected one of its symbols", function)
			case strings.Contains(line, "isovet: set"):
				patience = time.After(comesWithin)
			case strings.Contains(line, "Breakpoint 1, "):
				for begin := time.Now(); !until() && time.Since(begin) < stopsFor; {
					time.Sleep(time.Millisecond)
				}
				return nil
			}
		case <-patience:
			interrupt()
		}
	}
}
