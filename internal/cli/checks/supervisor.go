package checks

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"isovet/check/workloads"
	"isovet/evidence"
	"isovet/internal/cli/console"
	"isovet/internal/escape"
	"isovet/internal/guard"
	"isovet/level"
	"isovet/report"
)

// A check with limits runs in a process of its own, under the supervision of this one, its keeper. A process that
// collects garbage, or moves a slice of a gigabyte, does not see in time that a limit is reached; one that gets no
// memory from the system cannot report it. The supervised process watches its limits and answers. If it is late, too
// large, or gone, the keeper ends it, answers with what it was told so far, and starts another process for the next
// history.

const (
	keeperGrace = 50 * time.Millisecond // beyond that which the kept process gives its own work
	keeperLook  = 2 * time.Millisecond
	// keptBig is the size in bytes from which on a plain file is checked in a process of its own even without limits;
	// for compressed files an eighth.
	keptBig = 16 << 20
)

// knownSoFar has what is known about a history before its answer.
type knownSoFar struct {
	Level   level.Level    `json:"level"`
	Checker string         `json:"checker"`
	Solver  string         `json:"solver"`
	TS      bool           `json:"ts"`
	Stats   evidence.Stats `json:"stats"`
	// Workload is that of a history of operations, which has no level; "" means transactions.
	Workload string `json:"workload"`
}

// needsKeeper reports whether the histories are checked in a supervised process.
func (f *CheckFlags) needsKeeper(e *console.Env, args []string) bool {
	if e.Kept != nil || e.Data != os.Stdout || escape.Unwrap(e.Stderr) != os.Stderr || e.Stdin != os.Stdin ||
		runtime.GOOS == "windows" || f.spill.dir != "" {
		return false
	}
	if f.limits != (guard.Limits{}) {
		return true
	}
	for _, name := range args {
		for _, path := range f.loading.Paths(name) {
			big := int64(keptBig)
			if strings.HasSuffix(path, ".gz") || strings.HasSuffix(path, ".zst") {
				big /= 8
			}
			if console.SizeOf([]string{path}) > big {
				return true
			}
		}
	}
	return false
}

// keeper is the keeper's side of a supervised process.
type keeper struct {
	e    *console.Env
	f    *CheckFlags
	args []string

	cmd    *exec.Cmd
	tell   io.WriteCloser
	lines  chan string
	ended  chan error
	crash  *tailFile
	tally  console.Tally
	first  int       // the history that it began with
	at     int       // the one that it is at; -1: none
	began  time.Time // that
	stage  string
	known  *knownSoFar
	may    bool // it prints its answer
	left   error
	peakMB float64
	temps  map[string]bool
}

// keep runs the command in supervised processes until every history is done. It returns the exit status as an error.
func (f *CheckFlags) keep(ctx context.Context, e *console.Env, args []string,
	answer func(k *keeper, cause error)) (console.Tally,
	error) {
	t := console.Tally{}
	for t.Next < len(args) {
		k := &keeper{e: e, f: f, args: args, tally: t, first: t.Next, at: -1, stage: "starting",
			temps: make(map[string]bool)}
		if err := k.start(); err != nil {
			return t, err
		}
		cause := k.follow(ctx)
		if cause != nil {
			if k.at < 0 {
				k.at = k.tally.Next
			}
			switch {
			case k.at < len(args) && (cause == errPipe || k.may && cause != errCrashed):
				return t, fmt.Errorf("%s: the answer could not be written: %w", args[k.at], cause)
			case k.at < len(args):
				answer(k, cause)
			}
			k.tally.Next = k.at + 1
		} else if code := k.cmd.ProcessState.ExitCode(); k.tally.Next < len(args) &&
			(code != 0 || k.tally.Next == t.Next) {
			return k.tally, console.Status(code) // it has said why
		}
		t = k.tally
		if ctx.Err() != nil && t.Next < len(args) {
			return t, console.Exit(console.StatusInterrupted,
				fmt.Errorf("interrupted before %s; %d of %d histories were checked",
					args[t.Next], t.Next, len(args)))
		}
	}
	return t, nil
}

func (k *keeper) start() error {
	self, err := os.Executable()
	hear, said, err1 := os.Pipe()
	heard, tell, err2 := os.Pipe()
	last, crash, err3 := os.Pipe()
	sums, err4 := json.Marshal(&k.tally)
	if err := errors.Join(err, err1, err2, err3, err4); err != nil {
		return err
	}
	mine := guard.Own()
	k.began = time.Now()
	k.cmd = exec.Command(self, os.Args[1:]...)
	k.cmd.Args[0] = os.Args[0]
	k.cmd.Stdin, k.cmd.Stdout, k.cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	k.cmd.ExtraFiles = []*os.File{said, heard, crash}
	k.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=3 4 5 %d %d %s", console.KeptVar, mine, k.began.UnixNano(), sums))
	err = k.cmd.Start()
	said.Close()
	heard.Close()
	crash.Close()
	if err != nil {
		hear.Close()
		tell.Close()
		last.Close()
		return fmt.Errorf("cannot start a process to check in: %w", err)
	}
	k.tell = tell
	k.crash = &tailFile{done: make(chan struct{})}
	go k.crash.read(last)
	k.lines = make(chan string, 64)
	k.ended = make(chan error, 1)
	go func() {
		defer hear.Close()
		in := bufio.NewReader(hear)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				break
			}
			k.lines <- strings.TrimSuffix(line, "\n")
		}
		close(k.lines)
		k.ended <- k.cmd.Wait()
	}()
	return nil
}

var (
	errKilled  = errors.New("killed")
	errCrashed = errors.New("crashed")
	errPipe    = errors.New("nobody reads it")
)

// follow reads the supervised process's messages until the process ends, and then returns nil, or until it must be
// ended or has crashed, and then returns the cause.
func (k *keeper) follow(ctx context.Context) error {
	defer k.tell.Close()
	look := keeperLook
	if k.f.limits == (guard.Limits{}) { // nothing to be late for but an interrupt
		look = guard.LookMachine
	}
	tick := time.NewTicker(look)
	defer tick.Stop()
	interrupted := ctx.Done()
	var late time.Time // when an interrupt must have been heeded
	kill := func(cause error) error {
		_ = k.cmd.Process.Kill()
		go func() { // so that it does not wait to be heard
			for range k.lines {
			}
		}()
		for path := range k.temps {
			os.Remove(path)
		}
		return cause
	}
	lines := k.lines
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				lines = nil
				continue
			}
			if k.hears(line); k.left != nil {
				return kill(k.left)
			}
		case <-interrupted:
			interrupted = nil
			late = time.Now().Add(guard.Grace + keeperGrace)
			_, _ = k.tell.Write([]byte{console.Interrupt})
		case err := <-k.ended:
			for line := range k.lines {
				k.hears(line)
			}
			return k.whyEnded(err)
		case now := <-tick.C:
			rss := guard.ResidentOf(k.cmd.Process.Pid)
			k.peakMB = max(k.peakMB, float64(rss)/1e6)
			mine := guard.Own()
			if k.may {
				continue // nothing runs beside
			}
			if b := k.f.limits.Memory; b > 0 && rss+mine > b+b/20 {
				return kill(guard.ErrMemory)
			}
			if t := k.f.limits.Timeout; t > 0 && now.Sub(k.began) > t+guard.Grace+keeperGrace {
				return kill(guard.ErrTimeout)
			}
			if !late.IsZero() && now.After(late) {
				return kill(guard.ErrInterrupted)
			}
		}
	}
}

// whyEnded returns why the process ended, or nil if it ended by itself.
func (k *keeper) whyEnded(err error) error {
	if err == nil || k.cmd.ProcessState.Exited() {
		return nil
	}
	for path := range k.temps {
		os.Remove(path)
	}
	switch k.cmd.ProcessState.String() {
	case "signal: " + os.Kill.String():
		return errKilled
	case "signal: " + os.Interrupt.String(), "signal: terminated", "signal: hangup":
		return guard.ErrInterrupted // before it could ignore them
	case "signal: broken pipe":
		return errPipe
	}
	<-k.crash.done
	if text := k.crash.String(); strings.Contains(text, "out of memory") || strings.Contains(text,
		"cannot allocate memory") {
		return guard.ErrMachine
	}
	return errCrashed
}

// hears handles a message.
func (k *keeper) hears(line string) {
	if len(line) < 2 {
		return
	}
	rest := line[2:]
	switch line[0] {
	case console.SaysBegin:
		if n, err := strconv.Atoi(rest); err == nil && n >= 0 && n < len(k.args) {
			if n > k.first { // else starting the process counts
				k.began = time.Now()
			}
			k.at, k.stage, k.known, k.may = n, "loading", nil, false
		}
	case console.SaysStage:
		k.stage = rest
	case console.SaysKnown:
		s := new(knownSoFar)
		if json.Unmarshal([]byte(rest), s) == nil {
			if k.known = s; s.Checker+s.Workload == "" { // no more than at first
				k.known = nil
			}
		}
	case console.SaysLeft:
		for _, cause := range []error{guard.ErrTimeout, guard.ErrMemory, guard.ErrMachine, guard.ErrInterrupted} {
			if cause.Error() == rest {
				k.left = cause
			}
		}
	case console.SaysAnswer:
		k.may = true
		_, _ = k.tell.Write([]byte{console.MayAnswer})
	case console.SaysDone:
		t := console.Tally{}
		if json.Unmarshal([]byte(rest), &t) == nil {
			k.tally, k.at, k.may = t, -1, false
			k.began = time.Now()
		}
	case console.SaysTemp:
		k.temps[rest] = true
	case console.SaysWhole:
		delete(k.temps, rest)
	}
}

const wantOfMemory = "perhaps for lack of memory"

// outcome returns the answer in place of the supervised process.
func (k *keeper) outcome(cause error) outcome {
	r := &evidence.Result{Level: k.f.level, Checker: k.f.judge.name, Solver: k.f.solver}
	if s := k.known; s != nil {
		r.Level, r.Checker, r.Solver, r.Timestamps, r.Stats = s.Level, s.Checker, s.Solver, s.TS, s.Stats
	}
	r.Stats.PeakMB = max(r.Stats.PeakMB, k.peakMB)
	path := k.args[k.at]
	switch {
	case errors.Is(cause, errCrashed):
		return outcome{path: path, err: console.Faultf("the process that checked %s crashed while %s:\n%s", path,
			k.stage, k.crash)}
	case errors.Is(cause, errKilled):
		r.Reason = "the process was killed while " + k.stage + ", " + wantOfMemory
	default:
		r.Reason = k.f.limits.Reason(cause, k.stage)
	}
	o := outcome{path: path, result: r, began: k.began}
	name := k.f.workload.workload.Name
	if name == "" && k.known != nil {
		name = k.known.Workload
	}
	if name != "" {
		a := &workloads.Answer{Workload: name, Reason: r.Reason}
		o.result, o.work = nil, &judged{Work: report.Work{Answer: a}}
	}
	if errors.Is(cause, guard.ErrInterrupted) {
		o.err = &console.ExitError{Status: console.StatusInterrupted}
	}
	return o
}

// tailFile stores the beginning of a crash's output.
type tailFile struct {
	b    []byte
	done chan struct{}
}

func (t *tailFile) read(f *os.File) {
	defer close(t.done)
	defer f.Close()
	t.b, _ = io.ReadAll(io.LimitReader(f, 1<<14))
	_, _ = io.Copy(io.Discard, f)
}

func (t *tailFile) String() string { return strings.TrimSpace(string(t.b)) }
