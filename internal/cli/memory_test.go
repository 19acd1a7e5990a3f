package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// TestMemoryATransaction measures how many bytes a checker takes for a transaction in memory, beside the mapped file
// and what the process takes for an empty history; docs/scale.md has the table that it logs. Of what is live there are
// as many bytes each time, but not of what waits to be collected: the bounds are a fifth above what was measured.
// ISOVET_LONG=1 runs it.
func TestMemoryATransaction(t *testing.T) {
	if !histtest.Long(false, true) {
		t.Skip("NOT RUN: two million transactions, twelve times; ISOVET_LONG=1 runs it")
	}
	const txns = 2_000_000
	dir := t.TempDir()
	isovet := filepath.Join(dir, "isovet")
	run := func(name string, args ...string) []byte {
		t.Helper()
		c := exec.Command(name, args...)
		var stderr strings.Builder
		c.Stderr = &stderr
		out := must.Get(c.Output())(t)
		return out
	}
	run("go", "build", "-o", isovet, "../../cmd/isovet")
	gen := func(file string, args ...string) string {
		t.Helper()
		file = filepath.Join(dir, file)
		run(isovet, append([]string{"gen", "-q", "--times", "txns", "--seed", "7", "-o", file}, args...)...)
		return file
	}
	n := fmt.Sprint(txns)
	blindw := gen("blindw.ivh", "--workload", "blindw", "--variant", "wr", "--ops", "8", "--txns", n)
	stamped := gen("stamped.ivh", "--workload", "blindw", "--variant", "wr", "--ops", "8", "--txns", n, "--timestamps")
	mini := gen("mini.ivh", "--workload", "mini", "--txns", n)
	peak := func(file, checker, level string) float64 {
		t.Helper()
		var r struct {
			Verdict string
			Stats   struct {
				PeakMB float64 `json:"peak_mb"`
			}
		}
		out := run(isovet, "check", "-q", "--json", "--checker", checker, "--level", level, file)
		if err := json.Unmarshal(out, &r); err != nil || r.Verdict != "valid" {
			t.Fatalf("%s at %s: %v: %.300s", checker, level, err, out)
		}
		return r.Stats.PeakMB * 1e6
	}
	idle := peak(gen("small.ivh", "--txns", "1"), "replay", "ser")
	for _, x := range []struct {
		file, checker, level string
		most                 float64
	}{
		{blindw, "replay", "serializable", 270},
		{blindw, "replay", "strict-serializable", 320},
		{blindw, "replay", "snapshot-isolation", 450},
		{blindw, "vbox", "serializable", 450},
		{blindw, "vbox", "strict-serializable", 490},
		{blindw, "mtc", "strict-serializable", 320},
		{blindw, "mtc", "snapshot-isolation", 450},
		{mini, "mtc", "strict-serializable", 160},
		{mini, "mtc", "strict-snapshot-isolation", 240},
		{mini, "mtc", "snapshot-isolation", 140},
		{stamped, "chronos", "serializable", 80},
		{stamped, "chronos", "snapshot-isolation", 110},
	} {
		st := must.Get(os.Stat(x.file))(t)
		each := math.Inf(1)
		// When the collector runs is not the checker's doing: on a loaded machine a run may hold a fifth more.
		for range 3 {
			each = min(each, (peak(x.file, x.checker, x.level)-idle-float64(st.Size()))/txns)
			if each <= x.most {
				break
			}
		}
		t.Logf("| %s | %s | `%s` | %.0f |", filepath.Base(x.file), x.level, x.checker, each)
		if each > x.most {
			t.Errorf("%s, %s at %s: %.0f bytes a transaction, expected at most %.0f", filepath.Base(x.file), x.checker,
				x.level, each, x.most)
		}
	}
}

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
		must.Equal(t, got, status, "the status of isovet %q\n%s\n%s", args, out, &stderr)
		return out
	}
	run(0, "gen", "-q", "--workload", "blindw", "--times", "txns", "--txns", "1000000", "--shards", "4", "--fault",
		"write-skew,lost-update,stale-read", "--faults", "99", "--truth", "truth", "-o", "parts")
	b := must.Get(os.ReadFile(filepath.Join(dir, "truth")))(t)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	must.Equal(t, len(lines), 99, "faults planted")
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
		must.OK(t, json.Unmarshal(out, &r), "%.300s", out)
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
			must.OK(t, json.Unmarshal([]byte(line), &f))
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
		must.Be(t, planted != 0 && len(left) <= 0, "%s: %d planted; reported beside them: %v", level, planted, left)
		run(0, "verify", "--memory", "64MiB", "cert", "parts")
	}
}
