//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"isovet/internal/cli/console"
	"isovet/internal/cli/watches"
	"isovet/internal/test/must"
	"isovet/watch"
)

// wrong makes a stream of which each judge finds violations.
func wrong(t *testing.T, txns string) string {
	file := filepath.Join(t.TempDir(), "wrong.jsonl")
	var out bytes.Buffer
	if got := Main([]string{"gen", "--workload", "rmw", "--txns", txns, "--keys", "20", "--sessions", "8",
		"--isolation", "read-committed", "--timestamps", "-q", "-o", file}, nil, &out, &out); got != console.StatusOK {
		t.Fatal(out.String())
	}
	return file
}

// TestWatchFilesAreOwn: nobody but the user may read what a watch writes, of whatever kind, nor look into its folder;
// that of before is closed too, but not one whose mode somebody has chosen.
func TestWatchFilesAreOwn(t *testing.T) {
	stream, few := wrong(t, "100"), wrong(t, "30")
	for _, was := range []os.FileMode{0, 0o755, 0o750} {
		dir := filepath.Join(t.TempDir(), "w")
		want := os.FileMode(0o700)
		if was != 0 {
			must.OK(t, os.Mkdir(dir, was))
		}
		if was == 0o750 {
			want = was
		}
		args := []string{"watch", "--once", "-q", "--state", dir, "--source", stream, "--checker", "aion", "--level",
			"snapshot-isolation", "--all-violations", "--violations-max", "64KiB", "--checkpoint", "100ms",
			"--incident-folders", "1", "--evidence", "2"}
		if was != 0 { // the folder is all that differs
			args = []string{"watch", "--once", "-q", "--state", dir, "--source", few, "--checker", "aion", "--level",
				"snapshot-isolation"}
		}
		var out bytes.Buffer
		must.Equal(t, Main(args, nil, &out, &out), console.StatusViolation, "exit status, with %s", &out)
		kinds := map[string]int{}
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			st, err := e.Info()
			if err != nil {
				return err
			}
			allowed := os.FileMode(0o600)
			if e.IsDir() {
				allowed = 0o700
			}
			if path == dir && st.Mode().Perm() != want {
				t.Errorf("the folder, which was %o, has the mode %o, not %o", was, st.Mode().Perm(), want)
			}
			if path != dir && st.Mode().Perm()&^allowed != 0 {
				t.Errorf("%s has the mode %o", path, st.Mode().Perm())
			}
			kinds[strings.TrimRight(strings.Split(e.Name(), ".")[0], "-0123456789")]++
			return nil
		})
		must.OK(t, err)
		for _, kind := range []string{"segment", "checkpoint", "violations", "incidents", "options", "lock", "evidence",
			"README", "manifest"} {
			must.Be(t, kinds[kind] != 0 || was != 0, "there is no %s: %v", kind, kinds)
		}
	}
}

// TestWatchSecret: an address with a secret is refused on the command line and taken from a file, and a token goes with
// each notice.
func TestWatchSecret(t *testing.T) {
	var asked []string
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var notice map[string]any
		if err := json.NewDecoder(r.Body).Decode(&notice); err != nil {
			t.Error(err)
		}
		asked = append(asked, r.URL.String()+" "+r.Header.Get("Authorization"))
	}))
	defer hook.Close()
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	secret := hook.URL + "/services/T0/Abcdefghij0123456789xyz?key=1"
	address, token := put("address", secret+"\n"), put("token", "s3cret\n")
	stream := wrong(t, "30")
	n := 0
	run := func(flags ...string) (int, string) {
		n++
		var out bytes.Buffer
		got := Main(append([]string{"watch", "--once", "-q", "--checker", "aion", "--level", "snapshot-isolation",
			"--state", filepath.Join(dir, strconv.Itoa(n)), "--source", stream}, flags...), nil, io.Discard, &out)
		return got, out.String()
	}
	for _, bad := range [][]string{
		{"into a file: --webhook-file FILE", "--webhook", secret},
		{"into a file", "--webhook", "https://me:pass@host/x"},
		{"into a file", "--webhook", "https://host/T000/Abcdefghij0123456789xyz"},
		{"two addresses", "--webhook", "https://host/x", "--webhook-file", address},
		{"without an address", "--webhook-secret-file", token},
		{"no such file", "--webhook-file", filepath.Join(dir, "none")},
		{"expected an address", "--webhook-file", token},
		{"expected one token", "--webhook", "https://host/x", "--webhook-secret-file", put("two", "a b")},
	} {
		got, said := run(bad[1:]...)
		if got != console.StatusBadInput || !strings.Contains(said, bad[0]) || strings.Contains(said, "Abcdefghij") {
			t.Errorf("%q: exit status %d, %q", bad[1:], got, said)
		}
	}
	config := put("watch.yaml", "webhook: "+secret+"\n")
	for _, flags := range [][]string{
		{"--webhook-file", address, "--webhook-secret-file", token}, {"--config", config},
	} {
		asked = nil
		if got, said := run(flags...); got != console.StatusViolation || strings.Contains(said, "Abcdefghij") {
			t.Errorf("%q: exit status %d, %q", flags, got, said)
		}
		want := strings.TrimPrefix(secret, hook.URL) + " "
		if flags[0] == "--webhook-file" {
			want += "Bearer s3cret"
		}
		if len(asked) == 0 || slices.ContainsFunc(asked, func(a string) bool { return a != want }) {
			t.Errorf("%q: it was asked for %q, expected %q", flags, asked, want)
		}
	}
}

// TestNotify: a watch tells its supervisor that it is ready, that the judge gets on, and that it ends.
func TestNotify(t *testing.T) {
	short, err := os.MkdirTemp("", "n") // the name of a socket has at most 107 bytes
	must.OK(t, err)
	defer os.RemoveAll(short)
	name := filepath.Join(short, "s")
	l := must.Get(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"}))(t)
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", name)
	t.Setenv("WATCHDOG_USEC", "1000000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	stdin, end := io.Pipe()
	done := make(chan int)
	go func() {
		done <- Main([]string{"watch", "-q", "--state", filepath.Join(short, "w")}, stdin, io.Discard,
			io.Discard)
	}()
	var told []string
	buf := make([]byte, 1<<12)
	for len(told) < 100 {
		n := must.Get(l.Read(buf))(t)
		told = append(told, strings.Split(string(buf[:n]), "\n")...)
		if slices.Contains(told, "WATCHDOG=1") && slices.Contains(told, "READY=1") {
			end.Close()
		}
		if slices.Contains(told, "STOPPING=1") {
			break
		}
	}
	must.Equal(t, <-done, console.StatusOK, "exit status")
	ready, ping := slices.Index(told, "READY=1"), slices.Index(told, "WATCHDOG=1")
	if ready < 0 || ping < ready || told[len(told)-1] != "STOPPING=1" {
		t.Errorf("it tells %q", told)
	}
}

// TestNotifyStuck: the watchdog is not told that all is well of a judge that has been busy with the same lines for as
// long as the watchdog waits; a start is waited for as long as the judge gets on with the log, and no longer.
func TestNotifyStuck(t *testing.T) {
	now := time.Unix(1000, 0)
	n := &watches.Notifier{Watchdog: time.Minute, Now: func() time.Time { return now }}
	var x watches.Notified
	var s watch.Snapshot
	step := func(after time.Duration, want string) {
		t.Helper()
		now = now.Add(after)
		must.Equal(t, strings.Join(n.Next(&x, &s, false), " "), want, "at %v", now.Sub(time.Unix(1000, 0)))
	}
	const more = "EXTEND_TIMEOUT_USEC=30000000 STATUS=reading the log"
	step(0, more)
	step(time.Minute, "") // nothing has moved
	s.Busy = now
	step(time.Second, more)
	step(time.Minute, "") // still the same lines
	s.Busy = now
	step(time.Second, more)
	s.Ready, s.Busy = true, time.Time{}
	step(time.Second, "READY=1 STATUS=watching WATCHDOG=1")
	step(time.Second, "")
	step(15*time.Second, "WATCHDOG=1")
	s.Busy = now
	step(20*time.Second, "WATCHDOG=1")
	step(30*time.Second, "WATCHDOG=1")
	step(30*time.Second, "") // busy for 80 s
	step(time.Hour, "")
	s.Busy = now
	step(time.Second, "WATCHDOG=1")
	x, s = watches.Notified{}, watch.Snapshot{}
	must.Equal(t, strings.Join(n.Next(&x, &s, true), " "),
		"READY=1 STATUS=standby, or reading the log WATCHDOG=1", "standby")
	if got, err := watches.NewNotifier(func(string) string { return "" }); err != nil || got.To != nil {
		t.Errorf("without a supervisor: %v, %v", got, err)
	}
	for name, bad := range map[string]string{"WATCHDOG_USEC": "x", "NOTIFY_SOCKET": "/none/s"} {
		_, err := watches.NewNotifier(func(v string) string {
			return map[string]string{"NOTIFY_SOCKET": "@isovet-none", name: bad}[v]
		})
		if err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
