package seen

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"isovet/check/timestamp"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/watch"
)

// wrong is a stream in which transaction 3 does not read what 1 wrote.
const wrong = `{"id":1,"session":0,"start_ts":1,"commit_ts":2,"ops":[["w","x",1]]}
{"id":2,"session":1,"start_ts":3,"commit_ts":4,"ops":[["w","x",2]]}
{"id":3,"session":2,"start_ts":5,"commit_ts":6,"ops":[["r","x",1]]}
{"id":4,"session":2,"start_ts":7,"commit_ts":8,"ops":[["r","x",2]]}
`

// run watches a stream to its end.
func run(t *testing.T, dir string, m *watch.Metrics, in io.Reader, change func(*watch.Config)) error {
	t.Helper()
	j := must.Get(watch.NewAion(watch.AionOptions{Options: timestamp.Options{Level: level.SessionSnapshotIsolation},
		Lateness: 100, Attach: watch.AttachAuto, Gate: watch.GateOptions{Once: true}}))(t)
	cfg := watch.Config{Dir: dir, Judge: j, Metrics: m, Checkpoint: time.Hour,
		Open: func(_ context.Context, after watch.Places) (watch.Source, error) { return watch.Pipe(in, -1), nil }}
	if change != nil {
		change(&cfg)
	}
	return watch.Run(t.Context(), cfg)
}

func get(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
	return rec.Code, rec.Body.String()
}

// TestMetrics: what Prometheus reads, of a run and of the one after it, whose totals go on.
func TestMetrics(t *testing.T) {
	dir := t.TempDir()
	for n := range 2 {
		var m watch.Metrics
		must.OK(t, run(t, dir, &m, strings.NewReader(wrong), nil))
		code, text := get(t, Handler(Options{Metrics: &m, Build: Build{Version: "v1.2.3", Go: "go1.26"}}), "/metrics")
		for _, want := range []string{"isovet_watch_lines_total 4\n", "isovet_watch_transactions_total 4\n",
			"isovet_watch_judged_total 4\n", "isovet_watch_bad_lines_total 0\n", "isovet_watch_late_total 0\n",
			"isovet_watch_duplicates_total 0\n", "isovet_watch_quarantine 0\n", "isovet_watch_lag_seconds 0\n",
			"isovet_watch_ready 0\n", `isovet_watch_violations_total{axiom="EXT"} 1` + "\n",
			`isovet_watch_violations_total{axiom="INT"} 0` + "\n",
			`isovet_watch_violations_by_kind_total{axiom="EXT",kind="before"} 1` + "\n",
			"isovet_watch_incidents_total 1\n", "isovet_watch_incidents_open 1\n", "go_goroutines ",
			"# TYPE isovet_watch_lines_total counter\n", "# TYPE isovet_watch_memory_bytes gauge\n",
			`isovet_watch_build_info{commit="",go="go1.26",version="v1.2.3"} 1`, "isovet_watch_watermark "} {
			if code != http.StatusOK || !strings.Contains(text, want) {
				t.Errorf("run %d, status %d: nothing of %q in\n%s", n, code, want, text)
			}
		}
		if again := strings.Contains(text, "isovet_watch_checkpoint_age_seconds"); n == 1 && !again {
			t.Error("the age of the run's before checkpoint is not told")
		}
	}
}

// TestReady: alive at once, ready only once the source is there, and not after its end.
func TestReady(t *testing.T) {
	var m watch.Metrics
	h := Handler(Options{Metrics: &m})
	if code, _ := get(t, h, "/healthz"); code != http.StatusOK {
		t.Errorf("/healthz: %d", code)
	}
	if code, _ := get(t, h, "/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("/readyz before: %d", code)
	}
	in, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- run(t, t.TempDir(), &m, in, nil) }()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if code, _ := get(t, h, "/readyz"); code == http.StatusOK {
			break
		}
		must.Hold(t, !time.Now().After(end), "never ready")
	}
	must.OK(t, errors.Join(out.Close(), <-done))
	if code, _ := get(t, h, "/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("/readyz after the end: %d", code)
	}
}

// TestLag: the lag is how long a line has waited for the judge.
func TestLag(t *testing.T) {
	for _, x := range []struct {
		s    watch.Snapshot
		want float64
	}{{watch.Snapshot{Waiting: time.Unix(97, 0)}, 3}, {watch.Snapshot{}, 0}} {
		for _, m := range always(&x.s, time.Unix(100, 0)) {
			if m.name == "lag_seconds" && m.value != x.want {
				t.Errorf("%v; expected %v", m.value, x.want)
			}
		}
	}
}
