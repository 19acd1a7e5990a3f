package watches

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isovet/internal/cli/console"
)

func TestWatchConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "watch.yaml")
	for _, c := range []struct{ text, wrong string }{
		{"# nothing\n", ""},
		{"state: w\nidle: 7s\nquiet: true\nmemory: 256MiB\nlateness: 100ticks\n", ""},
		{"state: w\nlatness: 5s\n", `line 2: unknown key "latness"; expected one of accept-loss, all-violations, `},
		{"state: w\nconfig: other.yaml\n", `line 2: unknown key "config"`},
		{"\n\nidle: soon\n", "line 3: "},
		{"checker: vbox\n", "line 1: "},
		{"idle: 5s\nidle: 6s\n", "line 2: idle stands in line 1 already"},
		{"state:\n  - a\n  - b\n", "line 2: state: expected one value"},
		{"state:\n", "line 1: state: expected one value"},
		{"- state\n", "line 1: expected names of flags"},
		{"state: [\n", "yaml: line"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := NewWatch(&console.Env{})
		if err := cmd.ParseFlags([]string{"--state", "mine"}); err != nil {
			t.Fatal(err)
		}
		err := configure(cmd, path)
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%q: %v; expected %q", c.text, err, c.wrong)
		}
		if err != nil && !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%q: %v names no file", c.text, err)
		}
		if state, _ := cmd.Flags().GetString("state"); state != "mine" {
			t.Errorf("%q: state is %q, and the command line does not go before", c.text, state)
		}
		if idle, _ := cmd.Flags().GetDuration("idle"); c.wrong == "" && strings.Contains(c.text, "7s") &&
			(idle != 7*time.Second || !cmd.Flags().Changed("idle")) {
			t.Errorf("idle is %v", idle)
		}
	}
	// the example in docs
	if err := configure(NewWatch(&console.Env{}),
		filepath.Join("..", "..", "..", "docs", "watch", "watch.yaml")); err != nil {
		t.Error(err)
	}
}

// TestWatchLeftRunning: the unit for systemd and the container file call watch with flags that there are.
func TestWatchLeftRunning(t *testing.T) {
	read := func(file string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "watch", file))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	parse := func(file string, words []string) {
		if len(words) < 4 || !strings.HasSuffix(words[0], "/isovet") || words[1] != "watch" {
			t.Fatalf("%s calls %q", file, words)
		}
		if err := NewWatch(&console.Env{}).ParseFlags(words[2:]); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	_, unit, _ := strings.Cut(read("isovet-watch.service"), "\nExecStart=")
	unit, _, _ = strings.Cut(unit, "\n")
	parse("isovet-watch.service", strings.Fields(unit))
	var words []string
	for line := range strings.Lines(read("Containerfile")) {
		for _, what := range []string{"ENTRYPOINT ", "CMD "} {
			var more []string
			if rest, is := strings.CutPrefix(line, what); is {
				if err := json.Unmarshal([]byte(rest), &more); err != nil {
					t.Fatal(err)
				}
				words = append(words, more...)
			}
		}
	}
	parse("Containerfile", words)
	// Nothing is there but what is copied, and check --spill, bench and temporary servers need a place for files.
	for _, file := range []string{"Containerfile", filepath.Join("..", "..", "Containerfile")} {
		if !strings.Contains(read(file), " /empty /tmp\n") {
			t.Errorf("the image of %s has no /tmp", file)
		}
	}
}
