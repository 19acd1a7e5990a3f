package incident_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isovet/collect"
	"isovet/internal/test/must"
	"isovet/report/incident"
)

const kept = "testdata/incidents"

// TestKeptIncidents: of every folder under testdata/incidents the histories violate the level, the certificates are
// right, and the schedule can be read.
func TestKeptIncidents(t *testing.T) {
	dirs, err := os.ReadDir(kept)
	if err != nil || len(dirs) == 0 {
		t.Fatalf("%d folders, %v", len(dirs), err)
	}
	for _, d := range dirs {
		t.Run(d.Name(), func(t *testing.T) {
			dir := filepath.Join(kept, d.Name())
			violated(t, dir, "history.jsonl", "history.cert")
			var about incident.Incident
			readme := must.Get(os.ReadFile(filepath.Join(dir, incident.ReadmeFile)))(t)
			if b, err := os.ReadFile(filepath.Join(dir, incident.JSONFile)); err != nil {
				t.Fatal(err)
			} else if err := json.Unmarshal(b, &about); err != nil {
				t.Fatal(err)
			}
			if about.Replay == nil {
				t.Fatal("it does not say whether its schedule repeats the violation")
			}
			if about.Replay.Violated > 0 { // else it needs statements that run at the same moment
				violated(t, dir, "replayed.jsonl", "replayed.cert")
			}
			if _, err := time.Parse(time.DateOnly, about.Recorded); err != nil || !strings.Contains(string(readme),
				"ritten on "+about.Recorded+" by "+about.Made) {
				t.Errorf("README does not say when and by whom its pages were written: %q, %v", about.Recorded, err)
			}
			for _, name := range about.Files {
				if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
					t.Error(err)
				}
			}
			f := must.Get(os.Open(filepath.Join(dir, incident.ScheduleFile)))(t)
			defer f.Close()
			if _, _, err := collect.ReadScript(f); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestKeptOnServers plays the schedules of servers' faults against fresh servers. A server that is fixed, or older than
// innodb_snapshot_isolation, is none that they are about.
func TestKeptOnServers(t *testing.T) {
	if testing.Short() || os.Getenv("ISOVET_SERVERS") == "" {
		t.Skip("starts servers; ISOVET_SERVERS=1 runs it")
	}
	for folder, db := range map[string]string{"mariadb-innodb-snapshot-isolation": "mariadb:start",
		"postgresql-serializable-gist": "postgres:start", "postgresql-serializable-tid-range": "postgres:start",
		"postgresql-serializable-unique": "postgres:start"} {
		t.Run(folder, func(t *testing.T) {
			c := collect.Config{DB: []string{db}, Timeout: 30 * time.Second}
			d := must.Get(collect.Open(t.Context(), c))(t)
			name := d.Info().Name
			must.OK(t, d.Close())
			r := replays(t, filepath.Join(kept, folder), c, 10)
			if r.Violated < 8 {
				t.Errorf("%s, %s: violated in %d of %d runs, %d undecided; expected 8 at least of MariaDB 10.11 and "+
					"PostgreSQL 15", folder, name, r.Violated, r.Runs, r.Undecided)
			}
		})
	}
}

// TestKeptBadger plays the schedule of Badger's phantoms against the Badger that this program has.
func TestKeptBadger(t *testing.T) {
	c := collect.Config{DB: []string{"badger:"}, Timeout: 30 * time.Second}
	r := replays(t, filepath.Join(kept, "badger-phantoms"), c, 3)
	must.Equal(t, r.Violated, 3, "violated runs of %d (a Badger that is fixed has no place in docs/found.md)", r.Runs)
}

// TestScripts: what is wrong with a schedule is reported with its place.
func TestScripts(t *testing.T) {
	for _, text := range []string{
		`{"format":"isovet-schedule","version":1,"level":"serializable","tables":[{"name":"t"}],"steps":[]}`,
		`{"format":"isovet-schedule","version":1,"level":"serializable","tables":[{"name":"t"}],"steps":[` +
			`{"session":1,"do":"begin"},{"session":1,"do":"read","table":3},{"session":1,"do":"commit"}]}`,
		`{"format":"isovet-schedule","version":1,"level":"serializable","tables":[{"name":"t"}],"steps":[` +
			`{"session":1,"do":"begin"},{"session":1,"do":"select"},{"session":1,"do":"commit"}]}`,
		`{"format":"isovet-schedule","version":1,"level":"serializable","tables":[{"name":"t"}],"steps":[` +
			`{"session":1,"do":"begin"}]}`,
		`{"format":"isovet-schedule","version":1,"level":"serializable","tables":[{"name":"t","rows":[[1]]}],"steps":[` +
			`{"session":1,"do":"begin"},{"session":1,"do":"commit"}]}`,
		`{"format":"isovet-schedule","version":2}`, `{"format":"x"}`, `[]`, ``,
	} {
		if _, _, err := collect.ReadScript(strings.NewReader(text)); err == nil {
			t.Errorf("no error: %s", text)
		}
	}
}
