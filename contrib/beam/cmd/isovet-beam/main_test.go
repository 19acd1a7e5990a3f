package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"isovet/contrib/beam/run"
	"isovet/internal/cli"
)

// TestMain is the program where it is not asked for tests: so it starts workers of its own.
func TestMain(m *testing.M) {
	run.Worker(os.Args[1:])
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		main()
	}
	os.Exit(m.Run())
}

func isovet(t *testing.T, args ...string) (out string, status int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = cli.Main(args, strings.NewReader(""), &stdout, &stderr)
	t.Logf("isovet %v: %s", args, &stderr)
	return stdout.String(), status
}

func start(t *testing.T, args ...string) (c *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c = exec.Command(self, args...)
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	c.Stdout, c.Stderr = stdout, stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, stdout, stderr
}

func isovetBeam(t *testing.T, args ...string) (out string, status int) {
	t.Helper()
	c, stdout, stderr := start(t, args...)
	c.Wait()
	t.Logf("isovet-beam %v: %s", args, stderr)
	return stdout.String(), c.ProcessState.ExitCode()
}

// timeless is an answer without what differs from run to run.
func timeless(t *testing.T, answer string) string {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(answer), &o); err != nil {
		t.Fatalf("%v: %q", err, answer)
	}
	if note, _ := o["note"].(string); !strings.HasPrefix(note, "out of core: ") {
		t.Fatalf("checked in memory: %s", answer)
	}
	stats := o["stats"].(map[string]any)
	for _, k := range []string{"load_ms", "check_ms", "certify_ms", "peak_mb"} {
		delete(stats, k)
	}
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSameBytes: the program prints what isovet check --spill prints, and ends with its status; whatever the number of
// workers, and where one is killed.
func TestSameBytes(t *testing.T) {
	dir := t.TempDir()
	for _, fault := range []string{"", "lost-update"} {
		parts := filepath.Join(dir, "parts"+fault)
		gen := []string{"gen", "--txns", "70000", "--times", "txns", "--shards", "3", "--seed", "4", "-o", parts}
		if fault != "" {
			gen = append(gen, "--fault", fault, "--faults", "3")
		}
		if _, status := isovet(t, gen...); status != 0 {
			t.Fatal("gen failed")
		}
		check := []string{"check", "--json", "--memory", "32MiB", "--level", "snapshot-isolation", parts}
		out, want := isovet(t, append(check, "--spill", filepath.Join(dir, "spill"))...)
		if want != map[string]int{"": 0, "lost-update": 1}[fault] {
			t.Errorf("status %d of isovet with fault %q", want, fault)
		}
		out = timeless(t, out)
		for _, workers := range []string{"0", "2"} {
			got, status := isovetBeam(t, append(check, "--runner", "prism", "--workers", workers)...)
			if status != want {
				t.Errorf("%s workers: status %d, want %d", workers, status, want)
			}
			if got := timeless(t, got); got != out {
				t.Errorf("%s workers, fault %q:\n%s\nisovet:\n%s", workers, fault, got, out)
			}
		}
		if fault == "" {
			c, stdout, stderr := start(t, append(check, "--workers", "2")...)
			killed := killWorker(t, c.Process.Pid)
			c.Wait()
			if got := timeless(t, stdout.String()); got != out || c.ProcessState.ExitCode() != want {
				t.Errorf("with worker %d killed:\n%s\n%s", killed, got, stderr)
			}
		}
	}
}

// writing reports whether a process has a file open that is not whole yet.
func writing(pid int) bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		to, err := os.Readlink(filepath.Join(dir, e.Name()))
		return err == nil && strings.Contains(to, "/.part-")
	})
}

// killWorker waits for a worker of a driver that is in the middle of a task, and kills it.
func killWorker(t *testing.T, driver int) int {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		found, _ := filepath.Glob("/proc/" + strconv.Itoa(driver) + "/task/*/children")
		for _, f := range found {
			b, _ := os.ReadFile(f)
			for _, pid := range strings.Fields(string(b)) {
				args, _ := os.ReadFile("/proc/" + pid + "/cmdline")
				n, err := strconv.Atoi(pid)
				if err == nil && bytes.Contains(args, []byte("--id=")) && writing(n) {
					if p, err := os.FindProcess(n); err == nil {
						p.Kill()
					}
					return n
				}
			}
		}
	}
	t.Skip("NOT RUN: no worker was seen: is there no /proc?")
	return 0
}

// TestGoesOn: a driver that is killed leaves its folder, and the same command goes on with it and then empties it.
func TestGoesOn(t *testing.T) {
	dir := t.TempDir()
	parts, spill := filepath.Join(dir, "parts"), filepath.Join(dir, "spill")
	if _, status := isovet(t, "gen", "--txns", "70000", "--times", "txns", "--shards", "2", "-o", parts); status != 0 {
		t.Fatal("gen failed")
	}
	check := []string{"check", "--json", "--memory", "32MiB", "--level", "sser", parts, "--spill", spill}
	out, want := isovet(t, check...)
	c, _, _ := start(t, check...)
	answers := func() int {
		found, _ := filepath.Glob(filepath.Join(spill, "answer-*"))
		return len(found)
	}
	for end := time.Now().Add(30 * time.Second); answers() == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	c.Process.Kill()
	c.Wait()
	if answers() == 0 {
		t.Fatal("nothing is left of the first run")
	}
	got, status := isovetBeam(t, check...)
	if status != want || timeless(t, got) != timeless(t, out) {
		t.Errorf("status %d:\n%s\nwant %d:\n%s", status, got, want, out)
	}
	if left, _ := os.ReadDir(spill); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func TestWrongFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"expected one of prism, universal": {"check", "--runner", "x", "h"},
		"needs --endpoint HOST:PORT":       {"check", "--runner", "universal", "h"},
		"--spill DIR is missing":           {"check", "--runner", "dataflow", "h"},
		"no such file":                     {"check", "none.jsonl"},
	} {
		c, _, stderr := start(t, args...)
		c.Wait()
		if c.ProcessState.ExitCode() != 254 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%v: %d, %s; want 254 and %q", args, c.ProcessState.ExitCode(), stderr, want)
		}
	}
}

// TestEach: many histories, an element each, give the lines of isovet check --json in their order, and its status.
func TestEach(t *testing.T) {
	dir := t.TempDir()
	for i, fault := range []string{"", "", "lost-update", "", "write-skew", "", "", ""} {
		gen := []string{"gen", "--txns", "300", "--seed", strconv.Itoa(i), "-o", filepath.Join(dir,
			"h-"+strconv.Itoa(i)+".jsonl")}
		if fault != "" {
			gen = append(gen, "--fault", fault)
		}
		if _, status := isovet(t, gen...); status != 0 {
			t.Fatal("gen failed")
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "h-9.jsonl"), []byte("{\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := func(s string) (all []string) {
		for line := range strings.Lines(s) {
			var o map[string]any
			if err := json.Unmarshal([]byte(line), &o); err != nil {
				t.Fatalf("%v: %q", err, line)
			}
			if stats, ok := o["stats"].(map[string]any); ok {
				for _, k := range []string{"load_ms", "check_ms", "certify_ms", "peak_mb", "stages_ms"} {
					delete(stats, k)
				}
			}
			b, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(b))
		}
		return all
	}
	files, err := filepath.Glob(filepath.Join(dir, "h-*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	out, want := isovet(t, append([]string{"check", "--json", "--level", "snapshot-isolation"}, files...)...)
	each := []string{"each", "--level", "snapshot-isolation", filepath.Join(dir, "h-*.jsonl")}
	for _, workers := range []string{"0", "2"} {
		got, status := isovetBeam(t, append(each, "--workers", workers)...)
		if w, g := strings.Join(lines(out), "\n"), strings.Join(lines(got), "\n"); w != g || status != want {
			t.Errorf("%s workers: status %d, want %d\n%s\nisovet:\n%s", workers, status, want, g, w)
		}
	}
	if n := len(lines(out)); n != 9 {
		t.Errorf("%d lines of 9 histories", n)
	}
	// A folder is its files.
	got, _ := isovetBeam(t, "each", "--quiet", "--level", "snapshot-isolation", dir)
	if w, g := strings.Join(lines(out), "\n"), strings.Join(lines(got), "\n"); w != g {
		t.Errorf("of the folder\n%s\nof its files\n%s", g, w)
	}
	c, _, stderr := start(t, append([]string{"each", "--level", "none"}, files...)...)
	c.Wait()
	if n := strings.Count(stderr.String(), "unknown isolation level"); c.ProcessState.ExitCode() != 254 || n != 1 {
		t.Errorf("status %d with a level that is none, said %d times:\n%s", c.ProcessState.ExitCode(), n, stderr)
	}
}
