package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isovet/internal/cli/console"
	"isovet/internal/cli/watches"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/watch"
	"isovet/watch/seen"
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
		{"idle: 5s\nidle: 6s\n", "line 2: idle is already set in line 1"},
		{"state:\n  - a\n  - b\n", "line 2: state: expected one value"},
		{"state:\n", "line 1: state: expected one value"},
		{"- state\n", "line 1: expected names of flags"},
		{"state: [\n", "yaml: line"},
	} {
		must.OK(t, os.WriteFile(path, []byte(c.text), 0o644))
		cmd := watches.NewWatch(&console.Env{})
		must.OK(t, cmd.ParseFlags([]string{"--state", "mine"}))
		err := watches.Configure(cmd, path)
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
	if err := watches.Configure(watches.NewWatch(&console.Env{}),
		filepath.Join("..", "..", "docs", "watch", "watch.yaml")); err != nil {
		t.Error(err)
	}
}

// TestWatchLeftRunning: the unit for systemd and the container file call watch with flags that there are.
func TestWatchLeftRunning(t *testing.T) {
	read := func(file string) string {
		text := must.Get(os.ReadFile(filepath.Join("..", "..", "docs", "watch", file)))(t)
		return string(text)
	}
	parse := func(file string, words []string) {
		if len(words) < 4 || !strings.HasSuffix(words[0], "/isovet") || words[1] != "watch" {
			t.Fatalf("%s calls %q", file, words)
		}
		must.OK(t, watches.NewWatch(&console.Env{}).ParseFlags(words[2:]), "%s", file)
	}
	_, unit, _ := strings.Cut(read("isovet-watch.service"), "\nExecStart=")
	unit, _, _ = strings.Cut(unit, "\n")
	parse("isovet-watch.service", strings.Fields(unit))
	var words []string
	for line := range strings.Lines(read("Containerfile")) {
		for _, what := range []string{"ENTRYPOINT ", "CMD "} {
			var more []string
			if rest, is := strings.CutPrefix(line, what); is {
				must.OK(t, json.Unmarshal([]byte(rest), &more))
				words = append(words, more...)
			}
		}
	}
	parse("Containerfile", words)
	// Nothing is there but what is copied, and check --spill, bench and temporary servers need a place for files.
	for _, file := range []string{"Containerfile", filepath.Join("..", "..", "Containerfile")} {
		must.Be(t, strings.Contains(read(file), " /empty /tmp\n"), "the image of %s has no /tmp", file)
	}
}

// onWrite is called by each write.
type onWrite func(text string)

func (f onWrite) Write(b []byte) (int, error) {
	f(string(b))
	return len(b), nil
}

// TestMetricsTaken: who waits for another process (--standby) waits for its address of metrics too, and says so; a
// signal ends that.
func TestMetricsTaken(t *testing.T) {
	taken := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	address := taken.Addr().String()
	for _, c := range []struct {
		heard  func(stop func())
		status int
		says   string
	}{
		{func(stop func()) { stop() }, console.StatusInterrupted, "another process has the address"},
		{func(func()) { taken.Close() }, console.StatusOK, "http://" + address},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		told := ""
		cmd := watches.NewWatch(&console.Env{Stdin: strings.NewReader(""), Stdout: io.Discard,
			Stderr: onWrite(func(text string) {
				if told += text; strings.Contains(text, "another process has the address") {
					c.heard(cancel)
				}
			})})
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		cmd.SetArgs([]string{"--standby", "--metrics", address, "--state", t.TempDir()})
		err := cmd.ExecuteContext(ctx)
		cancel()
		if console.StatusOf(err) != c.status || !strings.Contains(told, c.says) {
			t.Errorf("%v, %q; expected status %d, %q", err, told, c.status, c.says)
		}
	}
}

func TestKeeping(t *testing.T) {
	for s, want := range map[string]watch.Keep{
		"all": {}, "24h": {Age: 24 * time.Hour}, "10GiB": {Bytes: 10 << 30}, "5m": {Age: 5 * time.Minute},
		"1h30m, 500MB": {Age: 90 * time.Minute, Bytes: 500e6}, "2GiB,1h": {Age: time.Hour, Bytes: 2 << 30},
	} {
		if got, err := watches.Keeping(s); err != nil || got != want {
			t.Errorf("%q: %+v, %v; expected %+v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "24", "0s", "-1h", "1h,2h", "1GB,2GB", "none", "1h,", "10GiB;1h"} {
		if got, err := watches.Keeping(s); err == nil {
			t.Errorf("%q: %+v; expected an error", s, got)
		}
	}
}

// TestFolderAgain: a folder that cannot be written is written once it can.
func TestFolderAgain(t *testing.T) {
	f := watches.IncidentFolders{State: t.TempDir(), Most: 1, Of: &watch.Incidents{},
		Log: slog.New(slog.DiscardHandler), Tried: map[int64]bool{}}
	must.OK(t, watch.Run(t.Context(), watch.Config{Dir: f.State, Evidence: 1, Incidents: f.Of,
		Judge: must.Get(watch.NewReplay(watch.ReplayOptions{Level: level.Serializable}))(t),
		Open: func(context.Context, watch.Places) (watch.Source, error) {
			return watch.Pipe(strings.NewReader(`{"id":1,"start":1,"end":2,"ops":[["r","x",1]]}`+"\n"), -1), nil
		}}))
	in := filepath.Join(f.State, seen.Folders)
	must.OK(t, os.WriteFile(in, nil, 0o600))
	f.Sweep(t.Context())
	must.OK(t, errors.Join(os.Remove(in), os.RemoveAll(filepath.Join(f.State, "evidence")))) // shrunk once
	f.Sweep(t.Context())
	must.Equal(t, len(must.Get(filepath.Glob(filepath.Join(in, "*", "incident.json")))(t)), 1, "folders")
}
