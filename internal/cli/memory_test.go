package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"isovet/internal/test/histtest"
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
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s\n%s", strings.Join(args, " "), err, out, stderr.String())
		}
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
		st, err := os.Stat(x.file)
		if err != nil {
			t.Fatal(err)
		}
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
