package cli

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"isovet/internal/cli/benches"
	"isovet/internal/cli/console"
	"isovet/internal/test/must"
	"isovet/internal/test/sqltest"
)

var update = flag.Bool("update", false, "rewrite the expected outputs in testdata/script")

// TestMain makes this test program isovet and bench too, so that the scripts run the real commands in processes of
// their own, those that bench compare starts included.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__run" { // a measured run of bench, which is a process of this program
		os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	testscript.Main(sqltest.Tests{M: m}, map[string]func(){
		"isovet": func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"bench":  func() { os.Exit(benches.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs testdata/script/*.txtar; `go test ./internal/cli -update` rewrites what they expect. Commands beside
// testscript's own:
//
//	status N PROG ARG… [<FILE]    runs PROG, isovet or bench, and demands exit status N; stdout and stderr can be
//	                              looked at then. It runs in this process, as bench's measurements do: to start one
//	                              takes most of the time of a small command. One runs at a time, since a process
//	                              has one working folder.
//	process N PROG ARG…           the same in a process of its own, and of any program: with limits of memory
//	interrupt N TEXT PROG ARG…    the same, sending SIGINT as soon as standard output holds TEXT ("": after 300 ms);
//	                              standard input is a pipe that does not end
//	norm FILE                     the last stdout with times and memory made "#", into FILE
func TestScripts(t *testing.T) {
	data := must.Get(filepath.Abs("testdata"))(t)
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join(data, "script"),
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("TMPDIR", e.WorkDir)
			e.Setenv("GRID", filepath.Join(data, "../../../docs/artifact/grid.yaml"))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status":    scriptStatus,
			"process":   scriptProcess,
			"interrupt": scriptInterrupt,
			"norm":      scriptNorm,
		},
	})
}

// programs are what scripts run.
var programs = map[string]func(args []string, stdin io.Reader, stdout, stderr io.Writer) int{
	"isovet": func(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
		return console.Run(args, stdin, stdout, stderr, func(e *console.Env) *cobra.Command {
			e.Alone = true
			return newRoot(e)
		})
	},
	"bench": benches.Main,
}

// inside is held by the command that runs in this process.
var inside sync.Mutex

func scriptStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || programs[args[1]] == nil {
		ts.Fatalf("usage: status N isovet|bench ARG…")
	}
	from := os.DevNull
	if file, ok := strings.CutPrefix(args[len(args)-1], "<"); ok {
		from, args = ts.MkAbs(file), args[:len(args)-1]
	}
	in, err := os.Open(from)
	ts.Check(err)
	defer in.Close()
	got, err := runInside(ts.MkAbs("."), ts.Getenv("TMPDIR"), args[1:], in, ts.Stdout(), ts.Stderr())
	ts.Check(err)
	demand(ts, args[0], got)
}

// runInside runs a program in this process, with a working folder and one for temporary files.
func runInside(dir, temp string, args []string, in *os.File, stdout, stderr io.Writer) (int, error) {
	inside.Lock()
	defer inside.Unlock()
	before, err := os.Getwd()
	defer os.Chdir(before)
	defer os.Setenv("TMPDIR", os.Getenv("TMPDIR"))
	defer func(old *os.File) { os.Stdin = old }(os.Stdin)
	os.Stdin = in
	if err := errors.Join(err, os.Chdir(dir), os.Setenv("TMPDIR", temp)); err != nil {
		return 0, err
	}
	return programs[args[0]](args[1:], in, stdout, stderr), nil
}

func scriptProcess(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: process N PROG ARG…")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		e, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = e.ExitCode()
	}
	demand(ts, args[0], got)
}

func demand(ts *testscript.TestScript, want string, got int) {
	if strconv.Itoa(got) != want {
		ts.Fatalf("exit status %d, not %s", got, want)
	}
}

// changing is what differs from run to run, or with every better checker.
var changing = []struct{ re, to string }{
	{`("stats":\{"txns":\d+,"ops":\d+,"sessions":\d+,"keys":\d+(,"[a-z]+":\d+)*),"load_ms":[0-9.e+-]+,"check_ms":[0-9.e+-]+[^{}]*,"constraints":\d+,"constraints_left":\d+[^{}]*(,"stages_ms":\{[^{}]*\})?\}`, `${1},#}`},
	{`; certified(: (kernel|replay),)? in [0-9.]+ ms`, ``},
	{`[0-9.]+ (ms|s|MB)\b`, `# $1`},
}

func scriptNorm(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: norm FILE")
	}
	s := ts.ReadFile("stdout")
	for _, c := range changing {
		s = regexp.MustCompile(c.re).ReplaceAllString(s, c.to)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(s), 0o666))
}

// lockedBuffer is written by the command and read by the test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func scriptInterrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: interrupt N TEXT PROG ARG…")
	}
	if signal.Ignored(os.Interrupt) { // as in a job in the background: the program would ignore it too
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	// A machine with much else to do may not have started the program by then: it ends before it listens for signals,
	// or before it has begun its work.
	for wait := 300 * time.Millisecond; ; wait *= 2 {
		got := interruptAfter(ts, wait, args[1], args[2], args[3:])
		early := got == "-1" || strings.Contains(ts.ReadFile("interrupted.err"), "; 0 of ")
		if early && args[1] == "" && wait < 20*time.Second {
			continue
		}
		if got != args[0] {
			ts.Fatalf("exit status %s, not %s", got, args[0])
		}
		return
	}
}

// interruptAfter runs a program, sends it SIGINT as soon as its standard output holds text, or after a while where the
// text is empty, and returns its exit status, -1 where the signal ended it.
func interruptAfter(ts *testscript.TestScript, wait time.Duration, text, prog string, args []string) string {
	cmd := exec.Command(prog, args...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "TMPDIR="+ts.Getenv("TMPDIR"))
	var stdout, stderr lockedBuffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	in, err := cmd.StdinPipe()
	ts.Check(err)
	defer in.Close()
	ts.Check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	deadline := time.Now().Add(2 * time.Minute)
	if text == "" {
		time.Sleep(wait)
	}
	for !strings.Contains(stdout.String(), text) && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	ts.Check(cmd.Process.Signal(os.Interrupt))
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		_ = cmd.Process.Kill() // it may have ended just now
		ts.Fatalf("still running two minutes after SIGINT")
	}
	ts.Logf("[stdout]\n%s[stderr]\n%s", stdout.String(), stderr.String())
	ts.Check(os.WriteFile(ts.MkAbs("interrupted.out"), []byte(stdout.String()), 0o666))
	ts.Check(os.WriteFile(ts.MkAbs("interrupted.err"), []byte(stderr.String()), 0o666))
	return strconv.Itoa(cmd.ProcessState.ExitCode())
}
