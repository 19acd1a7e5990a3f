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

	"isovet/internal/safego"
)

// comesWithin is how long a process has to call the function, stopsFor how long it is stopped there at most. gdb must
// end within gdbWithin.
const (
	comesWithin = time.Second
	stopsFor    = 100 * time.Millisecond
	gdbWithin   = 20 * time.Second
)

// StopAt uses gdb to stop one session's process of a server whenever it calls a function, for 3 s in all. At each stop
// it calls stopped, and lets the process go on when over returns true, or after 0.1 s. A process that does not call
// the function within a second, or by the time done is closed, goes on; this is no error. Errors: gdb, the function or
// a process for each session is missing.
func (c *Cluster) StopAt(i int, rng *rand.Rand, function string, done <-chan struct{},
	stopped func() (over func() bool)) error {
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
		return fmt.Errorf("%w: the server's sessions are not processes; expected PostgreSQL, on Linux", ErrNotHere)
	}
	return stopAt(sessions[rng.IntN(len(sessions))], function, 3*time.Second, done, stopped)
}

func stopAt(pid int, function string, stays time.Duration, done <-chan struct{},
	stopped func() (over func() bool)) error {
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
	var reading safego.Group
	reading.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			told <- lines.Text()
		}
		close(told)
	})
	// Signals are the server's own.
	_, err = fmt.Fprintf(in, "handle all nostop noprint pass\nbreak %s\necho isovet: set\\n\n", function)
	failed := met(told, function, stays, done, stopped, func() error {
		_, err := io.WriteString(in, "continue\n")
		return err
	}, func() { _ = cmd.Process.Signal(os.Interrupt) })
	if err == nil {
		_, err = io.WriteString(in, "delete\ndetach\nquit\n")
	}
	_ = in.Close()
	for range told { // until it has ended
	}
	reading.Wait()
	if e := cmd.Wait(); e != nil {
		err = errors.Join(err, fmt.Errorf("gdb: %w", e))
	}
	return cmp.Or(failed, err)
}

// met handles gdb's messages until gdb has been with the process for long enough, the process was interrupted because
// it did not call the function or done was closed, or the process has ended.
func met(told <-chan string, function string, stays time.Duration, done <-chan struct{},
	stopped func() (over func() bool), goOn func() error, interrupt func()) error {
	var patience <-chan time.Time
	var ended <-chan struct{}
	var end time.Time
	for {
		select {
		case line, more := <-told:
			switch {
			case !more:
				return errors.New("gdb ended too early")
			case strings.Contains(line, "No such process"), strings.Contains(line, "exited"),
				strings.Contains(line, "SIGINT"):
				return nil
			case strings.Contains(line, "ptrace: "):
				return fmt.Errorf("gdb cannot stop the server: %s", line)
			case strings.Contains(line, " not defined"):
				return fmt.Errorf("gdb finds no function %s in the server; expected one of its symbols", function)
			case strings.Contains(line, "isovet: set"):
				end, ended = time.Now().Add(stays), done
			case strings.Contains(line, "Breakpoint 1, "):
				over := stopped()
				for begin := time.Now(); !over() && time.Since(begin) < stopsFor; {
					time.Sleep(time.Millisecond)
				}
				if time.Now().After(end) {
					return nil
				}
			default:
				continue
			}
			if err := goOn(); err != nil {
				return err
			}
			patience = time.After(comesWithin)
		case <-ended: // an interrupt must not come before the process goes on
			end, ended, patience = time.Now(), nil, time.After(stopsFor)
		case <-patience:
			interrupt()
		}
	}
}
