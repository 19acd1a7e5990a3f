package server

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stall stops one process of a server, or one thread if the server is a single process, for time d. It is no error if
// the process or thread ends meanwhile.
func stall(server int, rng *rand.Rand, d time.Duration) error {
	if all := descendants(server); len(all) > 0 {
		return unlessEnded(stallThread(all[rng.IntN(len(all))], d))
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", server))
	// Not the first thread: the wait for the process would take its stop for the end of the process.
	threads = slices.DeleteFunc(threads, func(t string) bool { return filepath.Base(t) == strconv.Itoa(server) })
	if err != nil || len(threads) == 0 {
		return err
	}
	tid, err := strconv.Atoi(filepath.Base(threads[rng.IntN(len(threads))]))
	if err != nil {
		return err
	}
	return unlessEnded(stallThread(tid, d))
}

func unlessEnded(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// stallThread stops a thread of another process like a debugger, because a signal would stop all threads, and because
// the kernel lets the thread go on if this program is killed meanwhile.
func stallThread(tid int, d time.Duration) error {
	runtime.LockOSThread() // a tracee belongs to a thread
	defer runtime.UnlockOSThread()
	if err := unix.PtraceSeize(tid); err != nil {
		return os.NewSyscallError("ptrace", err)
	}
	if err := unix.PtraceInterrupt(tid); err != nil {
		return os.NewSyscallError("ptrace", err)
	}
	var status unix.WaitStatus
	for begin := time.Now(); ; time.Sleep(time.Millisecond / 4) {
		n, err := unix.Wait4(tid, &status, unix.WALL|unix.WNOHANG|unix.WNOTHREAD, nil)
		if err != nil {
			return os.NewSyscallError("wait4", err)
		}
		if n != 0 {
			break
		}
		if time.Since(begin) > 5*time.Second {
			return fmt.Errorf("thread %d of the server does not stop", tid)
		}
	}
	if !status.Stopped() {
		return nil // it has ended
	}
	time.Sleep(d)
	signal := status.StopSignal() // a signal that came just now is passed on
	if status.TrapCause() == unix.PTRACE_EVENT_STOP || signal == unix.SIGTRAP {
		signal = 0
	}
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(tid), 0, uintptr(signal), 0, 0)
	if errno != 0 {
		return os.NewSyscallError("ptrace", errno)
	}
	return nil
}
