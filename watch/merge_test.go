package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/check"
)

// partsOf has n processes' judges watch lines, each in a folder of its own.
func partsOf(t *testing.T, n int, lines [][]byte) (dirs []string) {
	t.Helper()
	for i := range n {
		dir := t.TempDir()
		j := aionWith(t, AionOptions{Options: si, Lateness: 400, Division: Division{Shard: i, Of: n}})
		grouped(t, dir, j, lines, func(c *Config) { c.Grouped, c.Evidence = false, 100 })
		dirs = append(dirs, dir)
	}
	return dirs
}

// readIncidentsOf reads a folder's file of incidents.
func readIncidentsOf(t *testing.T, dir string) *Incidents {
	t.Helper()
	p := mergedPart{dir: dir}
	if err := p.readIncidents(); err != nil || len(p.incidents) == 0 {
		t.Fatal(err, len(p.incidents))
	}
	var out Incidents
	for _, x := range p.incidents {
		out.all = append(out.all, &incident{Incident: x.Incident})
	}
	return &out
}

// TestMergeIncidents: what four processes have found that judge a part each comes to the incidents that one process
// finds, by kinds and keys, with its small histories; written to a folder they are as one process has them.
func TestMergeIncidents(t *testing.T) {
	for _, isolation := range []string{"read-committed", "read-uncommitted"} {
		lines := badLines(t, isolation, 300)
		lines = append(lines, lines[3], lines[4]) // late in all of them, or the same again
		once := t.TempDir()
		_, all, _ := grouped(t, once, aionOf(si, 400), lines, func(c *Config) { c.Grouped, c.Evidence = false, 1000 })
		dirs := partsOf(t, 4, lines)
		m, err := Merge(dirs)
		if err != nil {
			t.Fatal(err)
		}
		type sum struct{ count, keys, txns int64 }
		of := func(list []Incident) map[incidentKind]sum {
			out := map[incidentKind]sum{}
			for _, x := range list {
				k := incidentKind{x.Class, x.Kind}
				s := out[k]
				out[k] = sum{s.count + x.Count, s.keys + x.Keys, s.txns + x.Txns}
			}
			return out
		}
		want, got := of(all.List()), of(m.Incidents)
		for k, s := range want {
			// Which keys have one of their own depends on the order, and transactions of several keys count in each.
			if g := got[k]; g.count != s.count || g.keys != s.keys {
				t.Errorf("%s: %v: %+v; one process has %+v", isolation, k, g, s)
			}
		}
		if len(want) != len(got) || len(want) < 3 {
			t.Errorf("%s: kinds %v; one process has %v", isolation, slices.Collect(maps.Keys(got)),
				slices.Collect(maps.Keys(want)))
		}
		byKind := map[incidentKind]int{}
		for i, x := range m.Incidents {
			byKind[incidentKind{x.Class, x.Kind}]++
			if x.ID != int64(i)+1 || len(x.Lines) == 0 || x.Count > 1 && x.FirstN == x.LastN {
				t.Errorf("%s: incident %+v", isolation, x)
			}
		}
		for k, n := range byKind {
			if n > incidentKeys+1 {
				t.Errorf("%s: %d incidents of %v at a time", isolation, n, k)
			}
		}
		dir := filepath.Join(t.TempDir(), "merged")
		for range 2 { // and once more into the same folder
			if err := m.Write(dir); err != nil {
				t.Fatal(err)
			}
		}
		written := readIncidentsOf(t, dir)
		histories, certified := proofsOf(t, dir, written, "chronos", check.Options{Level: si.Level})
		if histories < 8 || certified < histories {
			t.Errorf("%s: %d histories, %d certified", isolation, histories, certified)
		}
		text, err := os.ReadFile(filepath.Join(dir, violationsFile))
		if err != nil || strings.Count(string(text), "\n") != len(m.Violations) {
			t.Errorf("%v, %d violations in the file of %d", err, strings.Count(string(text), "\n"), len(m.Violations))
		}
		for _, x := range written.List() {
			for _, e := range x.Evidence {
				if !strings.Contains(string(text), fmt.Sprintf(`{"n":%d,"axiom":"%s"`, e.N, x.Class)) {
					t.Errorf("evidence %+v of incident %d is of another violation", e, x.ID)
				}
			}
		}
		// What was left of a merge before goes; what is not one stays.
		m.Incidents = m.Incidents[:1]
		if err := m.Write(dir); err != nil {
			t.Fatal(err)
		}
		proofsOf(t, dir, readIncidentsOf(t, dir), "", check.Options{})
		var foreign *MergeError
		if err := m.Write(dirs[0]); !errors.As(err, &foreign) {
			t.Errorf("a process's folder is taken: %v", err)
		}
		if _, err := Merge([]string{once}); !errors.As(err, &foreign) {
			t.Errorf("a folder that has all: %v", err)
		}
	}
}

// TestMergePauses: incidents on one key are one where the processes' times meet, and two after a pause; a fifth key
// joins those that have none of their own; what no file of incidents names yet is counted.
func TestMergePauses(t *testing.T) {
	at := func(minutes int) time.Time { return time.Unix(1e9, 0).Add(time.Duration(minutes) * time.Minute).UTC() }
	var dirs []string
	write := func(violations []string, incidents []Incident) {
		dir := t.TempDir()
		var text []byte
		for i := range incidents {
			line, err := json.Marshal(&incidents[i])
			if err != nil {
				t.Fatal(err)
			}
			text = append(append(text, line...), '\n')
		}
		for name, text := range map[string]string{violationsFile: strings.Join(violations, ""),
			incidentsFile: string(text),
			settingsFile:  fmt.Sprintf(`{"checker":"aion","shard":"%d/2"}`, len(dirs)+1)} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		dirs = append(dirs, dir)
	}
	line := func(n int, axiom string, txn, key int) string {
		if key < 0 {
			return fmt.Sprintf(`{"n":%d,"axiom":"%s","txn":%d}`+"\n", n, axiom, txn)
		}
		return fmt.Sprintf(`{"n":%d,"axiom":"%s","txn":%d,"key":%d}`+"\n", n, axiom, txn, key)
	}
	in := func(class string, first, last, from, to, low, high int) Incident {
		x := Incident{Class: class, Open: false, Began: at(from), Last: at(to), FirstN: int64(first),
			LastN: int64(last), Count: int64(last - first + 1), Unjudged: class == late}
		if low >= 0 {
			x.Low, x.High = json.RawMessage(fmt.Sprint(low)), json.RawMessage(fmt.Sprint(high))
		}
		return x
	}
	write([]string{line(1, "EXT", 10, 1), line(2, "EXT", 11, 1), line(3, "EXT", 12, 3), line(4, "LATE", 13, -1),
		line(5, "EXT", 40, 1), line(6, "EXT", 50, 99)},
		[]Incident{in("EXT", 1, 2, 0, 1, 1, 1), in("EXT", 3, 3, 2, 2, 3, 3), in(late, 4, 4, 2, 2, -1, -1),
			in("EXT", 5, 5, 30, 30, 1, 1)})
	write([]string{line(1, "EXT", 20, 2), line(2, "EXT", 21, 4), line(3, "EXT", 22, 6), line(4, "EXT", 23, 8),
		line(5, "LATE", 13, -1)},
		[]Incident{in("EXT", 1, 1, 3, 3, 2, 2), in("EXT", 2, 2, 3, 4, 4, 4), in("EXT", 3, 4, 5, 6, 6, 8),
			in(late, 5, 5, 2, 3, -1, -1)})
	m, err := Merge(dirs)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range m.Incidents {
		got = append(got, fmt.Sprintf("%s %s-%s %d keys %d, %v", x.Class, x.Low, x.High, x.Count, x.Keys,
			x.Began.Equal(at(30))))
	}
	// 99 came after the incidents were written.
	want := []string{"EXT 1-1 2 keys 1, false", "EXT 3-3 1 keys 1, false", "LATE - 1 keys 0, false",
		"EXT 2-2 1 keys 1, false", "EXT 4-4 1 keys 1, false", "EXT 6-8 2 keys 2, false", "EXT 1-1 1 keys 1, true",
		"EXT 99-99 1 keys 1, false"}
	if !slices.Equal(got, want) {
		t.Errorf("%q; expected %q", got, want)
	}
	if len(m.Violations) != 10 {
		t.Errorf("%d violations; expected 10: %s", len(m.Violations), m.Violations)
	}
}
