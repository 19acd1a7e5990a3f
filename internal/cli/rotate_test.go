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
	"testing"
	"time"

	"isovet/internal/cli/collects"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// TestKilledParts: the folder of a run that writes parts is a history while the run lasts, and when it was killed.
func TestKilledParts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED, NOTHING TESTED: no symbolic links and no kill -9")
	}
	isovet := isovetProgram(t)
	rng := rand.New(rand.NewPCG(1, 9))
	for i := range histtest.Long(1, 24) {
		db, workload := "badger:", "rmw"
		if i%2 == 1 {
			db, workload = "sqlite:", "smallbank"
		}
		out := filepath.Join(t.TempDir(), "h")
		run := exec.Command(isovet, "collect", "-q", "--db", db, "--workload", workload, "--sessions", "8", "--for",
			"1m", "--think", "1ms", "--rotate", []string{"100txns", "64KiB,20ms", "5ms"}[i%3], "-o", out)
		run.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
		must.OK(t, run.Start())
		for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); time.Sleep(time.Millisecond) {
			if _, err := os.Stat(filepath.Join(out, "part-00003.ivh")); err == nil {
				break
			}
		}
		time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
		check := func(when string) int {
			c := exec.Command(isovet, "check", "--json", "-q", "--level", "snapshot-isolation", "--timeout", "2m", out)
			var stderr bytes.Buffer
			c.Stderr = &stderr
			b, err := c.Output()
			var v struct {
				Verdict string
				Stats   struct{ Txns int }
				Notes   []struct{ Kind string }
			}
			jerr := json.Unmarshal(b, &v)
			// The last part may be whole, and the next not begun: no end is torn then.
			torn := len(v.Notes) == 0 || v.Notes[0].Kind == "torn-end"
			if jerr != nil || v.Verdict != "valid" || !torn {
				t.Errorf("%v, %s: %v, %s\n%s", run.Args[1:], when, err, b, stderr.String())
			}
			return v.Stats.Txns
		}
		some := check("while it runs")
		must.OK(t, run.Process.Kill())
		run.Wait()
		if all := check("killed"); all < some || some < 5 {
			t.Errorf("%d transactions while it ran, %d when it was killed", some, all)
		}
	}
}

func TestRotateFlag(t *testing.T) {
	dir := t.TempDir()
	must.OK(t, os.WriteFile(filepath.Join(dir, "x"), nil, 0o600))
	for _, c := range []struct {
		args string
		want string
	}{
		{"--rotate 10 -o " + dir + "/a", `"10"; expected a size such as 256MiB`},
		{"--rotate 1MiB,2MiB -o " + dir + "/a", `"2MiB"; expected`},
		{"--rotate 0txns -o " + dir + "/a", `"0txns"; expected`},
		{"--rotate 1ns -o " + dir + "/a", `"1ns"; expected`},
		{"--rotate -5m -o " + dir + "/a", `"-5m"; expected`},
		{"--rotate 1MiB -o -", "expected -o FOLDER"},
		{"--rotate 1MiB -o " + dir, "expected a new or empty one"},
		{"--rotate 1MiB -o " + dir + "/x", "is a file"},
		{"--rotate 1MiB --format jepsen-edn -o " + dir + "/a", "in parts"},
		{"--rotate 1MiB --timestamps -o " + dir + "/a", "after the run, but writes parts"},
	} {
		var out, errs bytes.Buffer
		status := Main(append([]string{"collect", "--db", "badger:"}, strings.Fields(c.args)...),
			strings.NewReader(""), &out, &errs)
		if status != 254 || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: status %d, %s; expected %q", c.args, status, errs.String(), c.want)
		}
	}
	var v collects.RotateValue
	must.Equal(t, v.String(), "", "the zero value")
}
