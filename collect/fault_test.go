package collect_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"isovet/collect"
	"isovet/collect/driver"
	"isovet/collect/server"
	"isovet/evidence"
	"isovet/internal/test/must"
	"isovet/level"
)

func TestParseFault(t *testing.T) {
	for text, want := range map[string]collect.Fault{
		"":          {},
		"none":      {},
		"kill:5s":   {Kind: collect.Kill, Every: 5 * time.Second},
		"split:10s": {Kind: collect.Split, Every: 10 * time.Second},
		"skew:1m":   {Kind: collect.Skew, Every: time.Minute},
		"script:1s": {Kind: collect.Scripted, Every: time.Second},
		"ddl:1s":    {Kind: collect.Schema, Every: time.Second},
		"stall:2ms": {Kind: collect.Stall, Every: 2 * time.Millisecond},
		"gdb:_f1":   {Kind: collect.StopAt, Every: time.Millisecond, Function: "_f1"},
	} {
		got, err := collect.ParseFault(text)
		if err != nil || got != want || text != "" && got.String() != want.String() {
			t.Errorf("%q: %v, %v; expected %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"split":   `"" is not a duration`,
		"skew:-1": `"-1" is not a duration`,
		"burn:1s": "expected one of kill:DURATION, pause:DURATION, partition:DURATION, split:DURATION, " +
			"skew:DURATION, script:DURATION, ddl:DURATION, stall:DURATION, gdb:FUNCTION",
		"gdb:f\nshell": "is not the name of a function; expected one such as gdb:PredicateLockRelation",
		"gdb":          `"" is not the name of a function`,
	} {
		if _, err := collect.ParseFault(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected %s", text, err, want)
		}
	}
}

// TestFaultScript: the program is told what to do to which server, and everything that it broke is mended; one that
// fails ends the run with what it said.
func TestFaultScript(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program of this test is a shell script")
	}
	dir := t.TempDir()
	program, said := filepath.Join(dir, "fault.sh"), filepath.Join(dir, "said")
	text := "#!/bin/sh\necho \"$@\" >> " + said + "\ntest ! -e " + filepath.Join(dir, "fail") +
		" || { echo burnt; exit 3; }\n"
	must.OK(t, os.WriteFile(program, []byte(text), 0o755))
	c := collect.Config{DB: []string{"sqlite:"}, Workload: "rmw", Duration: 200 * time.Millisecond, Sessions: 2,
		Fault: collect.Fault{Kind: collect.Scripted, Every: time.Millisecond, Program: program}}
	run(t, c)
	b := must.Get(os.ReadFile(said))(t)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	for i, l := range lines {
		must.Equal(t, l, []string{"break 1 sqlite:", "heal 1 sqlite:"}[i%2], "call %d", i+1)
	}
	must.Equal(t, len(lines)%2, 0, "faults that were not mended")
	must.OK(t, os.WriteFile(filepath.Join(dir, "fail"), nil, 0o644))
	c.Duration = time.Minute
	r, err := collect.Run(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "break 1 sqlite:: exit status 3: burnt") || r == nil {
		t.Errorf("%v; expected what the program said, with what was recorded", err)
	}
	for _, f := range []collect.Fault{{Kind: collect.Scripted, Every: time.Second}, {Kind: collect.Kill,
		Every: time.Second, Program: program}} {
		c.Fault = f
		if _, err := collect.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "expected a program") {
			t.Errorf("%v: %v", f, err)
		}
	}
	c.Fault = collect.Fault{Kind: collect.Split, Every: time.Second}
	if _, err := collect.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(),
		"isovet breaks only servers that it started") {
		t.Errorf("a split of what was there before: %v", err)
	}
}

// notHere skips a test where the system or our rights do not allow what it is about.
func notHere(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, server.ErrNotHere) || errors.Is(err, server.ErrMissing) {
		t.Skipf("NOT RUN: %v", err)
	}
	must.OK(t, err)
}

// TestSplit: a cluster whose nodes are cut off from each other goes on afterwards, keeps what it promises, and leaves
// no network behind.
func TestSplit(t *testing.T) {
	needServers(t)
	for _, db := range []string{"etcd:start:3", "postgres:start:standby"} {
		t.Run(db, func(t *testing.T) {
			c := collect.Config{DB: []string{db}, Isolation: "serializable", Workload: "rmw", Keys: 20, Sessions: 6,
				Duration: 4 * time.Second, Timeout: 2 * time.Second, Fault: collect.Fault{Kind: collect.Split,
					Every: 1500 * time.Millisecond}}
			l := level.Serializable
			if db != "etcd:start:3" {
				// A standby shows commits in another order than its primary, but none that is not there.
				c.Isolation, c.Workload, l = "read-committed", "longfork", level.ReadCommitted
			}
			target, err := collect.Open(t.Context(), c)
			notHere(t, err)
			r, err := target.Collect(t.Context(), c)
			if err != nil {
				t.Error(err)
			} else {
				verdict(t, r.History, l, evidence.Holds)
				sound(t, r)
				if r.Summary.Committed == 0 {
					t.Errorf("nothing was committed: %+v", r.Summary.Aborts)
				}
			}
			must.OK(t, target.Close())
			left, err := filepath.Glob("/run/netns/isovet-" + strconv.Itoa(os.Getpid()) + "-*")
			if err != nil || len(left) > 0 {
				t.Errorf("namespaces are left: %v, %v", left, err)
			}
		})
	}
}

// TestSkew: a server's clock goes where it is told to, and one whose clock jumps keeps its promise.
func TestSkew(t *testing.T) {
	needServers(t)
	for db, ask := range map[string]string{
		"postgres:start": "select extract(epoch from clock_timestamp())::bigint - %d",
		"mariadb:start":  "select unix_timestamp() - %d",
	} {
		t.Run(db, func(t *testing.T) {
			c, err := server.StartWith(t.Context(), db, server.Options{Clocks: true})
			notHere(t, err)
			defer c.Close()
			for _, off := range []time.Duration{0, time.Hour, -time.Hour} {
				must.OK(t, c.Skew(0, off))
				q := strings.ReplaceAll(ask, "%d", strconv.FormatInt(time.Now().Unix(), 10))
				got := askNumber(t, c.URLs[0], q)
				if d := time.Duration(got)*time.Second - off; d < -5*time.Second || d > 5*time.Minute {
					t.Errorf("set off by %v: the server's clock is %d s off", off, got)
				}
			}
		})
	}
	r, err := collect.Run(t.Context(), collect.Config{DB: []string{"postgres:start"}, Isolation: "serializable",
		Workload: "rmw", Keys: 20, Duration: 2 * time.Second, Fault: collect.Fault{Kind: collect.Skew,
			Every: 100 * time.Millisecond}})
	notHere(t, err)
	verdict(t, r.History, level.Serializable, evidence.Holds)
	if _, err := server.StartWith(t.Context(), "redis:start", server.Options{Clocks: true}); err == nil ||
		!errors.Is(err, server.ErrNotHere) {
		t.Errorf("redis: %v", err)
	}
}

// askNumber asks a server for a number.
func askNumber(t *testing.T, url, query string) int64 {
	t.Helper()
	db := must.Get(driver.Open(context.Background(), []string{url}, driver.Options{}))(t)
	defer db.Cut()
	none := driver.Data{Rows: func(func(int64, driver.Row) bool) {}}
	must.OK(t, db.Load(t.Context(), none))
	s := must.Get(db.Connect(t.Context(), 0))(t)
	defer s.Close()
	got, err := s.(driver.Speaker).Say(query)
	if err != nil || len(got.Rows) != 1 {
		t.Fatalf("%s: %v, %v", query, got, err)
	}
	n, err := strconv.ParseInt(fmt.Sprint(got.Rows[0][0]), 10, 64)
	must.OK(t, err, "%s", query)
	return n
}
