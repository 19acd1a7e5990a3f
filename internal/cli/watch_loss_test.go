//go:build unix

package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"isovet/internal/cli/console"
	"isovet/internal/test/must"
)

// watchOnce watches a file to its end, and returns the exit status and what is reported.
func watchOnce(state, source string, flags ...string) (int, string) {
	var out bytes.Buffer
	got := Main(append([]string{"watch", "--once", "-q", "--state", state, "--source", source, "--checker",
		"aion", "--level", "snapshot-isolation", "--all-violations", "--evidence", "3", "--incident-folders", "0"},
		flags...), nil, io.Discard, &out)
	return got, out.String()
}

func violationsOf(t *testing.T, state string) string {
	return string(must.Get(os.ReadFile(filepath.Join(state, "violations.jsonl")))(t))
}

// TestWatchLoss: a log that ends before its checkpoint, or is damaged in its midst, is refused with what to do, and
// that works: the source is asked for what is lost, and the violations are those of a log that has lost nothing.
func TestWatchLoss(t *testing.T) {
	stream := wrong(t, "25")
	whole := filepath.Join(t.TempDir(), "whole")
	if got, said := watchOnce(whole, stream); got != console.StatusViolation {
		t.Fatalf("exit status %d: %s", got, said)
	}
	want := violationsOf(t, whole)
	for _, x := range []struct {
		name, says string
		checkpoint string
		damage     func(log []byte) []byte
	}{
		{"short", "but the checkpoint continues at", "1ms", func(log []byte) []byte { return log[:len(log)/2] }},
		{"empty", "the file ends at byte 0", "1h", func([]byte) []byte { return nil }},
		{"flipped", "checksum", "0", func(log []byte) []byte { log[len(log)/2] ^= 1; return log }},
		{"zeros", "the record is damaged", "0", func(log []byte) []byte {
			clear(log[len(log)/3 : len(log)/2])
			return log
		}},
		{"gone", "the file is missing", "1h", nil},
	} {
		state := filepath.Join(t.TempDir(), x.name)
		if got, said := watchOnce(state, stream, "--checkpoint", x.checkpoint); got != console.StatusViolation {
			t.Fatalf("%s: exit status %d: %s", x.name, got, said)
		}
		segment := filepath.Join(state, "segment-00000001.log")
		log, err := os.ReadFile(segment)
		if err == nil && x.damage != nil {
			err = os.WriteFile(segment, x.damage(log), 0o600)
		} else if err == nil {
			err = os.Remove(segment)
		}
		must.OK(t, err)
		must.OK(t, os.WriteFile(filepath.Join(state, "loss"), []byte("another loss was accepted"), 0o600))
		got, said := watchOnce(state, stream, "--checkpoint", x.checkpoint)
		if got != console.StatusBadInput || !strings.Contains(said, "segment-00000001.log") ||
			!strings.Contains(said, x.says) || !strings.Contains(said, "--accept-loss") {
			t.Errorf("%s: exit status %d, %q", x.name, got, said)
		}
		if x.checkpoint == "0" { // check tells it too
			var out bytes.Buffer
			if got := Main([]string{"check", state}, nil, io.Discard, &out); got != console.StatusBadInput ||
				!regexp.MustCompile(`segment-00000001\.log:\d+: .*`+x.says).MatchString(out.String()) {
				t.Errorf("%s: check: exit status %d, %q", x.name, got, out.String())
			}
		}
		got, said = watchOnce(state, stream, "--checkpoint", x.checkpoint, "--accept-loss")
		must.Equal(t, got, console.StatusViolation, "%s: the exit status with --accept-loss: %q", x.name, said)
		if is := violationsOf(t, state); is != want {
			t.Errorf("%s: %d bytes of violations; expected %d", x.name, len(is), len(want))
		}
		if got, said := watchOnce(state, stream, "--checkpoint", x.checkpoint); got != console.StatusViolation ||
			violationsOf(t, state) != want {
			t.Errorf("%s: a run later: exit status %d, %q", x.name, got, said)
		}
	}
}

// TestWatchOldLog: the log of a former version, whose records have no checksums, is read, and goes on with them.
func TestWatchOldLog(t *testing.T) {
	stream := wrong(t, "40")
	state := filepath.Join(t.TempDir(), "w")
	if got, said := watchOnce(state, stream, "--checkpoint", "0"); got != console.StatusViolation {
		t.Fatalf("exit status %d: %s", got, said)
	}
	want := violationsOf(t, state)
	segment := filepath.Join(state, "segment-00000001.log")
	log := must.Get(os.ReadFile(segment))(t)
	old := regexp.MustCompile(`(?m)^(\d+)~[0-9a-f]{8}`).ReplaceAll(log, []byte("$1"))
	if len(old) == len(log) {
		t.Fatal("the log has no checksums")
	}
	old = old[:len(old)/2] // a torn end
	must.OK(t, os.WriteFile(segment, old, 0o600))
	for range 2 {
		if got, said := watchOnce(state, stream, "--checkpoint", "0"); got != console.StatusViolation ||
			violationsOf(t, state) != want {
			t.Errorf("exit status %d: %s", got, said)
		}
	}
	now, err := os.ReadFile(segment)
	if err != nil || !bytes.Contains(now, []byte("~")) || !bytes.HasPrefix(now, old[:100]) {
		t.Errorf("%.200q (%v)", now, err)
	}
}

// TestWatchLostFile: a file is renamed beyond the pattern before its end was read. Or the log of a pipe has lost lines,
// which was accepted before new lines came. Reads of the writes of lost lines accuse nobody.
func TestWatchLostFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "all")
	Main([]string{"gen", "--workload", "rmw", "--txns", "300", "--timestamps", "-q", "-o", file}, nil,
		io.Discard, io.Discard)
	lines := bytes.SplitAfter(must.Get(os.ReadFile(file))(t), []byte("\n"))
	for _, part := range [][][]byte{lines[:100], lines[200:]} {
		must.OK(t, os.WriteFile(filepath.Join(dir, "in-1"), bytes.Join(part, nil), 0o600))
		watchOnce(filepath.Join(dir, "w"), filepath.Join(dir, "in-*"))
	}
	_, said := watchOnce(filepath.Join(dir, "w"), filepath.Join(dir, "renamed")) // it is away in a rotation
	must.Equal(t, strings.Contains(said, "the file is missing"), true, "it was said: %s", said)
	pipe := func(in [][]byte, flags ...string) {
		Main(append([]string{"watch", "-q", "--checker", "aion", "--state", filepath.Join(dir, "p")}, flags...),
			bytes.NewReader(bytes.Join(in, nil)), io.Discard, io.Discard)
	}
	pipe(lines[:200])
	must.OK(t, os.Truncate(filepath.Join(dir, "p", "segment-00000001.log"), 15_000))
	broken := filepath.Join(dir, "none.gz")
	must.OK(t, os.WriteFile(broken, lines[0], 0o600))
	pipe(nil, "--accept-loss", "--source", broken) // it ends before the log says so
	pipe(lines[200:])
	if said := violationsOf(t, filepath.Join(dir, "w")) + violationsOf(t, filepath.Join(dir, "p")); strings.Contains(
		said, "EXT") {
		t.Error(said)
	}
}
