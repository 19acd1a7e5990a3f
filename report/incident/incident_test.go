package incident_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/certify"
	"isovet/check"
	"isovet/check/shrink"
	"isovet/collect"
	"isovet/collect/hunt"
	"isovet/evidence"
	"isovet/history/format"
	"isovet/internal/test/browser"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/report/incident"
)

// found finds a violation and writes its folder.
func found(t *testing.T, c collect.Config, l level.Level) (dir string, x *incident.Incident) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "incident")
	h, err := hunt.Run(t.Context(), hunt.Config{Config: c, Level: l, For: time.Minute,
		Keep: func(ctx context.Context, f *collect.Found, _ []*hunt.Group) (err error) {
			x, err = incident.Make(ctx, f, incident.Options{Command: "isovet hunt …", Made: "isovet test",
				ReproduceOptions: collect.ReproduceOptions{For: 10 * time.Second, Runs: 3}})
			if err != nil {
				return err
			}
			return x.Write(dir)
		}})
	must.OK(t, err)
	if !h.Violated || x == nil {
		t.Fatalf("%d rounds and no violation of %s", len(h.Rounds), l)
	}
	return dir, x
}

// replays reads a folder's schedule and plays it.
func replays(t *testing.T, dir string, c collect.Config, runs int) collect.Replayed {
	t.Helper()
	f := must.Get(os.Open(filepath.Join(dir, incident.ScheduleFile)))(t)
	defer f.Close()
	script, s, err := collect.ReadScript(f)
	must.OK(t, err)
	l := must.Get(level.Parse(script.Level))(t)
	c.Isolation, c.SetupSQL, c.SessionSQL = script.Isolation, script.SetupSQL, script.SessionSQL
	return must.Get(collect.Replay(t.Context(), c, s, l, runs, nil))(t)
}

// violated checks a folder's history and its certificate.
func violated(t *testing.T, dir, history, certificate string) {
	t.Helper()
	var x incident.Incident
	b, err := os.ReadFile(filepath.Join(dir, incident.JSONFile))
	if err == nil {
		err = json.Unmarshal(b, &x)
	}
	must.OK(t, err)
	l := must.Get(level.Parse(x.Level))(t)
	h := must.Get(format.Read(t.Context(), filepath.Join(dir, history), format.Options{}))(t)
	c, _ := check.Auto(h, l)
	r, err := check.Run(t.Context(), c, h, check.Options{Level: l})
	if err != nil || r.Verdict != evidence.Violated {
		t.Fatalf("%s: %v, %v; expected a violation of %s", history, r, err, l)
	}
	f := must.Get(os.Open(filepath.Join(dir, certificate)))(t)
	defer f.Close()
	cert, err := certify.Verify(f, h, certify.Options{})
	must.OK(t, err, "%s", certificate)
	must.Equal(t, cert.Verdict, evidence.Violated, "%s says", certificate)
}

// TestLostUpdate: what a database without conflict detection shows is told and repeated.
func TestLostUpdate(t *testing.T) {
	c := collect.Config{DB: []string{"badger:"}, Isolation: "no-conflicts", Workload: "rmw", Keys: 4, Txns: 100,
		Think: 50 * time.Microsecond}
	dir, x := found(t, c, level.SnapshotIsolation)
	if x.Replay == nil || x.Replay.Violated != 3 || x.Replay.Steps > 10 {
		t.Errorf("replayed: %+v; expected 3 of 3 runs and a handful of steps", x.Replay)
	}
	if r := replays(t, dir, c, 3); r.Violated != 3 {
		t.Errorf("played again, the level was violated in %d of %d runs", r.Violated, r.Runs)
	}
	violated(t, dir, "history.jsonl", "history.cert")
	violated(t, dir, "replayed.jsonl", "replayed.cert")
	b := must.Get(os.ReadFile(filepath.Join(dir, incident.ReadmeFile)))(t)
	for _, want := range []string{"Badger", "snapshot-isolation", "3 of 3 runs", "session 2", "write ",
		"isovet hunt …"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the report has no %q", want)
		}
	}
	t.Run("page", func(t *testing.T) { looked(t, dir) })
}

// looked looks at a folder's page in a browser: what the explanation names is in the table, it can be read in light and
// dark, and on a narrow screen the tables alone are wider than it, and can be moved by keys.
func looked(t *testing.T, dir string) {
	p := browser.Open(t).Page(t)
	p.Goto("file://" + filepath.Join(dir, "index.html"))
	names := regexp.MustCompile(`\bT\d+\b`).FindAllString(p.Text("pre"), -1)
	if len(names) < 2 {
		t.Errorf("the explanation names %q", names)
	}
	cells := browser.Eval[[]string](p, `[...document.querySelectorAll("td b")].map(e => e.textContent)`)
	for _, name := range names {
		if !slices.Contains(cells, name) {
			t.Errorf("%s of the explanation is in no table: %q", name, cells)
		}
	}
	if n := p.Count(".wide"); n != 2 || !strings.Contains(p.Text("h2 + pre"), "isovet replay") {
		t.Errorf("%d tables, to be repeated by %q", n, p.Text("h2 + pre"))
	}
	for _, s := range p.Spoken() {
		if (s.Role == "link" || s.Role == "region" || s.Role == "heading") && s.Name == "" {
			t.Errorf("a %s has no name", s.Role)
		}
	}
	for _, dark := range []bool{false, true} {
		p.Dark(dark)
		p.Readable(4.5)
	}
	p.Size(400, 800)
	p.Fits()
	p.TabTo(".wide")
}

// TestNotReplayed: without a schedule the folder has the tables and each session's statements. A URL with parameters is
// told, and the documentation is of the defaults.
func TestNotReplayed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "incident")
	c := collect.Config{DB: []string{"sqlite:?cache=shared&_pragma=read_uncommitted(1)"}, Workload: "rows", Txns: 2000}
	h, err := hunt.Run(t.Context(), hunt.Config{Config: c, Promised: true, For: time.Minute,
		Keep: func(ctx context.Context, f *collect.Found, _ []*hunt.Group) error {
			small := must.Get(shrink.History(ctx, f.Answer.H, f.Level, shrink.Options{First: f.Answer}))(t)
			stopped, stop := context.WithCancel(ctx)
			stop() // before the first replay
			x := must.Get(incident.Make(stopped, f, incident.Options{Small: small}))(t)
			must.Be(t, x.Replay == nil, "interrupted: %v", x.Replay)
			return must.Get(incident.Make(ctx, f, incident.Options{NoReplay: true}))(t).Write(dir)
		}})
	if !h.Violated {
		t.Fatalf("%v, %d rounds; expected a violation", err, len(h.Rounds))
	}
	readme := string(must.Get(os.ReadFile(filepath.Join(dir, incident.ReadmeFile)))(t))
	for _, want := range []string{"create table isovet_t0(", "- URL: `" + c.DB[0] + "`",
		" promises **strict-serializable", "forbids it (", "the URL sets parameters"} {
		if !strings.Contains(readme, want) {
			t.Errorf("the report has no %q:\n%s", want, readme)
		}
	}
	for _, name := range []string{"setup.sql", "session-1.sql"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Contains(string(b), "did not repeat") {
			t.Errorf("%s: %v, %s", name, err, b)
		}
	}
}

// TestSQL: where the database speaks SQL, there is a script for each session, and the password is nowhere.
func TestSQL(t *testing.T) {
	s := must.Get(collect.ParseSchedule("b1 b2 r1(x) r2(x) w1(x) q2(v=10) c1 w2(y) c2"))(t)
	c := collect.Config{DB: []string{"sqlite:"}, Timeout: 5 * time.Second}
	d := must.Get(collect.Open(t.Context(), c))(t)
	defer d.Close()
	p := must.Get(d.Play(t.Context(), c, s))(t)
	var all []string
	for _, e := range p.Events() {
		all = append(all, e.Statements...)
	}
	text := strings.Join(all, "; ")
	for _, want := range []string{"begin", "select u, p from isovet_kv where k = 0",
		"insert into isovet_kv values (0, ",
		"select k, u, c_v from isovet_t1 where c_v = 10 order by k", "commit"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s: no %q", text, want)
		}
	}
}
