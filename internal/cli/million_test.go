package cli

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isovet/internal/test/histtest"
)

// TestMillion: of a million transactions, checked out of core in 64 MiB, exactly the planted faults are reported that
// violate the level, and their proof is certified. ISOVET_LONG=1 runs it.
func TestMillion(t *testing.T) {
	if !histtest.Long(false, true) {
		t.Skip("NOT RUN: a million transactions; ISOVET_LONG=1 runs it")
	}
	const memory = 64 << 20
	dir := t.TempDir()
	isovet := filepath.Join(dir, "isovet")
	if out, err := exec.Command("go", "build", "-o", isovet, "../../cmd/isovet").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(status int, args ...string) []byte {
		t.Helper()
		c := exec.Command(isovet, args...)
		c.Dir = dir
		var stderr strings.Builder
		c.Stderr = &stderr
		out, err := c.Output()
		got := 0
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			got = e.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if got != status {
			t.Fatalf("isovet %s: status %d, expected %d\n%s\n%s", strings.Join(args, " "), got, status, out,
				stderr.String())
		}
		return out
	}
	run(0, "gen", "-q", "--workload", "blindw", "--times", "txns", "--txns", "1000000", "--shards", "4", "--fault",
		"write-skew,lost-update,stale-read", "--faults", "99", "--truth", "truth", "-o", "parts")
	b, err := os.ReadFile(filepath.Join(dir, "truth"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(lines) != 99 {
		t.Fatalf("%d faults planted, expected 99", len(lines))
	}
	for _, level := range []string{"strict-serializable", "snapshot-isolation"} {
		out := run(1, "check", "-q", "--json", "--spill", "d", "--memory", "64MiB", "--level", level, "--certificate",
			"cert", "parts")
		var r struct {
			Anomalies []struct {
				Txns []int64 `json:"txns"`
			} `json:"anomalies"`
			Stats struct {
				PeakMB float64 `json:"peak_mb"`
			} `json:"stats"`
		}
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatalf("%v: %.300s", err, out)
		}
		if most := float64(memory*5/4+64<<20) / 1e6; r.Stats.PeakMB > most {
			t.Errorf("%s: %v MB, expected at most %v", level, r.Stats.PeakMB, most)
		}
		left := r.Anomalies
		planted := 0
		for _, line := range lines {
			var f struct {
				Fault        string
				Transactions []int64
				Violates     []string
			}
			if err := json.Unmarshal([]byte(line), &f); err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(f.Violates, level) {
				continue
			}
			planted++
			i := slices.IndexFunc(left, func(a struct {
				Txns []int64 `json:"txns"`
			}) bool {
				return !slices.ContainsFunc(f.Transactions, func(x int64) bool { return !slices.Contains(a.Txns, x) })
			})
			if i < 0 {
				t.Errorf("%s: %s of %v is not reported", level, f.Fault, f.Transactions)
				continue
			}
			left = slices.Delete(left, i, i+1)
		}
		if planted == 0 || len(left) > 0 {
			t.Errorf("%s: %d planted; reported beside them: %v", level, planted, left)
		}
		run(0, "verify", "--memory", "64MiB", "cert", "parts")
	}
}
