package cli

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"isovet/internal/cli/collects"
	"isovet/internal/cli/console"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// isovetProgram is a link to this test's own program, which is isovet under that name.
func isovetProgram(t *testing.T) string {
	t.Helper()
	self := must.Get(os.Executable())(t)
	isovet := filepath.Join(t.TempDir(), "isovet")
	must.OK(t, os.Symlink(self, isovet))
	return isovet
}

// TestKilled: a run that is killed at any moment leaves what the clients had answers for, and check takes it.
func TestKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED, NOTHING TESTED: no symbolic links and no kill -9")
	}
	isovet := isovetProgram(t)
	runs := histtest.Long(2, 24)
	rng := rand.New(rand.NewPCG(1, 9))
	for i := range runs {
		db, workload, level := "sqlite:", "smallbank", "strict-serializable"
		switch i % 4 {
		case 1:
			db, workload = "badger:", "rmw"
		case 2:
			db, workload = "badger:", "list-append"
		case 3:
			workload, level = "booking", "serializable"
		}
		out := filepath.Join(t.TempDir(), "h"+[]string{".jsonl", ".jsonl.zst", ".ivh"}[i%3])
		var said bytes.Buffer
		run := exec.Command(isovet, "collect", "--db", db, "--workload", workload, "--sessions", "8", "--for", "1m",
			"--think", "1ms", "-o", out)
		run.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // for what it cannot remove
		run.Stderr = &said
		if i%2 == 1 {
			run.Args[1] = "hunt"
			run.Args = append(run.Args, "--level", "snapshot-isolation", "--txns", "100000")
		}
		must.OK(t, run.Start())
		for until := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) { // servers may be slow to begin
			if st, err := os.Stat(out + collects.PartialEnding); err == nil && st.Size() > 2000 ||
				time.Now().After(until) {
				break
			}
		}
		time.Sleep(time.Duration(rng.IntN(histtest.Long(200, 700))) * time.Millisecond)
		must.OK(t, run.Process.Kill())
		run.Wait()
		if !strings.Contains(said.String(), out+collects.PartialEnding) {
			t.Errorf("%v: %s", run.Args[1:], said.String())
		}
		patience := "2m"
		if workload == "booking" {
			patience = "20s"
		}
		check := exec.Command(isovet, "check", "--json", "-q", "--timeout", patience, "--level", level,
			out+collects.PartialEnding)
		var stderr bytes.Buffer
		check.Stderr = &stderr
		b, err := check.Output()
		var v struct {
			Verdict string
			Stats   struct{ Txns int }
			Notes   []struct{ Kind string }
		}
		if jerr := json.Unmarshal(b, &v); jerr != nil || v.Verdict == "violation" || v.Verdict == "unknown" &&
			workload != "booking" || v.Stats.Txns < 5 || len(v.Notes) == 0 || v.Notes[0].Kind != "torn-end" {
			t.Errorf("%v: %v, %s\n%s", run.Args[1:], err, b, stderr.String())
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s is there", out)
		}
	}
}

// TestSignalTwice: a keeper such as timeout(1) signals the process and its group at once, which is one request to end;
// what was recorded is kept.
func TestSignalTwice(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED, NOTHING TESTED: no symbolic links and no SIGTERM")
	}
	isovet := isovetProgram(t)
	out := filepath.Join(t.TempDir(), "h.jsonl")
	run := exec.Command(isovet, "collect", "--db", "sqlite:", "--workload", "smallbank", "--txns", "100000000",
		"--think", "1ms", "-o", out)
	must.OK(t, run.Start())
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if st, err := os.Stat(out + collects.PartialEnding); err == nil && st.Size() > 2000 {
			break
		}
	}
	for range 2 {
		must.OK(t, run.Process.Signal(syscall.SIGTERM))
		time.Sleep(2 * time.Millisecond)
	}
	run.Wait()
	must.Equal(t, run.ProcessState.ExitCode(), console.StatusInterrupted, "status")
	if _, err := os.Stat(out); err != nil {
		t.Error(err)
	}
}

// TestNothingLeft: of a run that is asked to end, by whatever signal, no temporary file is left.
func TestNothingLeft(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED, NOTHING TESTED: no symbolic links and no SIGTERM")
	}
	isovet := isovetProgram(t)
	dbs := []string{"sqlite:"}
	if os.Getenv("ISOVET_SERVERS") != "" {
		dbs = append(dbs, "postgres:start")
	}
	for _, db := range dbs {
		for i, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
			if signal.Ignored(sig) {
				t.Logf("NOT TESTED: %v, which this process was started to ignore, as under nohup", sig)
				continue
			}
			// At read committed no round ends in a find.
			command := [][]string{{"collect"}, {"hunt", "--level", "read-committed"}}[i%2]
			temp, out := t.TempDir(), filepath.Join(t.TempDir(), "h.jsonl")
			for _, dir := range []string{temp, filepath.Dir(temp)} { // servers have users of their own
				must.OK(t, os.Chmod(dir, 0o755))
			}
			run := exec.Command(isovet, append(command, "--db", db, "--workload", "smallbank", "--for", "1m",
				"--think", "1ms", "-o", out)...)
			run.Env = append(os.Environ(), "TMPDIR="+temp)
			var said bytes.Buffer
			run.Stderr = &said
			must.OK(t, run.Start())
			for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); time.Sleep(time.Millisecond) {
				if st, err := os.Stat(out + collects.PartialEnding); err == nil &&
					(st.Size() > 2000 || db != "sqlite:") {
					break
				}
			}
			if found, err := os.ReadDir(temp); err != nil || len(found) == 0 {
				t.Errorf("%s: no temporary folder while it runs: %v\n%s", db, err, said.String())
			}
			must.OK(t, run.Process.Signal(sig))
			run.Wait()
			must.Equal(t, run.ProcessState.ExitCode(), console.StatusInterrupted, "%s, %v: %s", db, sig, &said)
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("%s, %v: left %v, %v", db, sig, left, err)
			}
		}
	}
}
