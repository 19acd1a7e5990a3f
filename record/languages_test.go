package record_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestLanguages runs the recorders of docs/recording.md and docs/recorder, and what they show: each gives a history
// with the lost update that it is told.
func TestLanguages(t *testing.T) {
	if os.Getenv("ISOVET_SERVERS") == "" {
		t.Skip("NOT RUN: ISOVET_SERVERS=1 asks for Python, Node.js and Java too")
	}
	page := must.Get(os.ReadFile(filepath.Join("..", "docs", "recording.md")))(t)
	for _, l := range []struct {
		name, file string
		needs      []string
		run        [][]string
	}{
		{"python", "demo.py", []string{"python3"}, [][]string{{"python3", "demo.py"}}},
		{"javascript", "demo.js", []string{"node"}, [][]string{{"node", "demo.js"}}},
		{"java", "Demo.java", []string{"javac", "java"}, [][]string{{"javac", "-encoding", "UTF-8", "Demo.java"},
			{"java", "-cp", ".", "Demo"}}},
	} {
		t.Run(l.name, func(t *testing.T) {
			for _, program := range l.needs {
				must.Get(exec.LookPath(program))(t)
			}
			text, err := os.ReadFile(filepath.Join("..", "docs", "recorder", l.file))
			if err != nil {
				text = recorder(t, page, l.name)
			}
			dir := t.TempDir()
			must.OK(t, os.WriteFile(filepath.Join(dir, l.file), text, 0o644))
			for _, args := range l.run {
				c := exec.Command(args[0], args[1:]...)
				c.Dir = dir
				if out, err := c.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s", args, err, out)
				}
			}
			h := must.Get(format.Read(t.Context(), filepath.Join(dir, "h.jsonl"), format.Options{}))(t)
			if h.NumTxns() != 4 || len(h.Notes) > 0 || h.Txns.Status[2] != history.Aborted ||
				!strings.Contains(lines(t, h), `["w","x","4.5"]`) {
				t.Errorf("%v\n%s", h.Notes, lines(t, h))
			}
			r := verdict(t, h, level.Serializable, evidence.Violated)
			must.Equal(t, r.Verdict == evidence.Violated && r.Anomalies[0].Kind != "lost-update", false,
				"%v", r.Anomalies[0].Kind)
			verdict(t, h, level.ReadAtomic, evidence.Holds)
		})
	}
}

// recorder is a program of the page: a recorder, and what the page shows of it.
func recorder(t *testing.T, page []byte, language string) []byte {
	t.Helper()
	blocks := regexp.MustCompile("(?s)\n```"+language+"\n(.*?)\n```\n").FindAllSubmatch(page, -1)
	must.Same(t, len(blocks), 2, "blocks")
	if n := bytes.Count(blocks[0][1], []byte("\n")) + 1; n > 60 {
		t.Errorf("the recorder has %d lines", n)
	}
	return bytes.Join([][]byte{blocks[0][1], blocks[1][1], nil}, []byte("\n\n"))
}
