//go:build !checkonly

package cli

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"isovet/internal/histtest"
)

// TestKilled: a run that is killed at any moment leaves what the clients had answers for, and check takes it.
func TestKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED, NOTHING TESTED: no symbolic links and no kill -9")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	isovet := filepath.Join(t.TempDir(), "isovet")
	if err := os.Symlink(self, isovet); err != nil {
		t.Fatal(err)
	}
	runs := histtest.Long(3, 24)
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
			"-o", out)
		run.Stderr = &said
		if i%2 == 1 {
			run.Args[1] = "hunt"
			run.Args = append(run.Args, "--level", "snapshot-isolation", "--txns", "100000")
		}
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		for until := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) { // servers may be slow to begin
			if st, err := os.Stat(out + partialEnding); err == nil && st.Size() > 2000 || time.Now().After(until) {
				break
			}
		}
		time.Sleep(time.Duration(rng.IntN(700)) * time.Millisecond)
		if err := run.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		run.Wait()
		if !strings.Contains(said.String(), out+partialEnding) {
			t.Errorf("%v: %s", run.Args[1:], said.String())
		}
		check := exec.Command(isovet, "check", "--json", "-q", "--timeout", "20s", "--level", level, out+partialEnding)
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
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	isovet := filepath.Join(t.TempDir(), "isovet")
	if err := os.Symlink(self, isovet); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "h.jsonl")
	run := exec.Command(isovet, "collect", "--db", "sqlite:", "--workload", "smallbank", "--txns", "100000000", "-o",
		out)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if st, err := os.Stat(out + partialEnding); err == nil && st.Size() > 2000 {
			break
		}
	}
	for range 2 {
		if err := run.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond)
	}
	run.Wait()
	if s := run.ProcessState.ExitCode(); s != statusInterrupted {
		t.Errorf("status %d; expected %d", s, statusInterrupted)
	}
	if _, err := os.Stat(out); err != nil {
		t.Error(err)
	}
}
