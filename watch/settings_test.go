package watch

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isovet/check/timestamp"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestSettings: a folder is judged with the options that it was begun with, or not at all; what is there stays as it
// is.
func TestSettings(t *testing.T) {
	own := *profileOf(t, "postgresql:repeatable-read")
	own.WriteLocks = false
	serial := level.Serializable
	judges := []Judge{
		aionOf(timestamp.Options{Level: level.SnapshotIsolation}, 10),
		aionOf(timestamp.Options{Level: level.SnapshotIsolation}, 11),
		aionOf(timestamp.Options{Level: level.SessionSnapshotIsolation}, 10),
		aionOf(timestamp.Options{Level: serial}, 10),
		aionOf(timestamp.Options{Level: serial, ReadOnlyAtStart: true}, 10),
	}
	for _, o := range []LeopardOptions{{Lateness: 10}, {Lateness: 11}, {Lateness: 10, Skew: 1}, {Lateness: 10,
		Level: &serial},
		{Lateness: 10, Profile: profileOf(t, "postgresql:repeatable-read")}, {Lateness: 10,
			Profile: profileOf(t, "postgresql:serializable")}, {Lateness: 10, Profile: &own}} {
		judges = append(judges, leopardOf(t, o))
	}
	const header = `{"format":"isovet-history","version":1,"initial":0,"db":"PostgreSQL 15","isolation":"repeatable read"}` + "\n"
	run := func(dir, text string, j Judge) error {
		return Run(t.Context(), Config{Dir: dir, Judge: j, Open: pipeOf(strings.NewReader(text))})
	}
	text := header + `{"id":1,"session":1,"start":1,"commit":20,"end":21,"start_ts":1,"commit_ts":2,"ops":[["w","x",1,2,3]]}` + "\n"
	for i, begun := range judges {
		dir := t.TempDir()
		must.OK(t, run(dir, text, renewed(t, begun)))
		before := contents(t, dir)
		for k, given := range judges {
			err := run(dir, text[:0], renewed(t, given))
			var e *SettingsError
			if (i == k) != (err == nil) || err != nil && (!errors.As(err, &e) || len(e.Was) == 0 ||
				len(e.Was) != len(e.Given)) {
				t.Errorf("begun with %v, given %v: error %v", begun.Settings(), given.Settings(), err)
			}
			if !bytes.Equal(before, contents(t, dir)) {
				t.Errorf("begun with %v, given %v: the folder has changed", begun.Settings(), given.Settings())
			}
		}
	}
	// Options with which nothing can be judged bind nobody; options that cannot be read are reported.
	dir := t.TempDir()
	if err := run(dir, strings.TrimPrefix(text, header), leopardOf(t, LeopardOptions{})); err == nil {
		t.Error("a profile was found without a header")
	}
	must.OK(t, run(dir, "", leopardOf(t, LeopardOptions{Profile: &own})))
	path := filepath.Join(dir, settingsFile)
	must.OK(t, os.WriteFile(path, []byte(`{"checker":`), 0o644))
	if err := run(dir, "", leopardOf(t, LeopardOptions{Profile: &own})); err == nil || !strings.Contains(err.Error(),
		path) {
		t.Errorf("error %v; expected the name of the file", err)
	}
}

// TestSettingsBefore: a folder that was begun with options that there are no more is refused if they were others than
// the usual, and says so; one that has the usual goes on.
func TestSettingsBefore(t *testing.T) {
	j := aionOf(si, 10)
	for name, want := range map[string]string{`"shard":"1/1","shards":"1"`: "", `"shards":"1"`: "",
		`"shards":"3"`:  "--shards was 3, which isovet watch no longer has",
		`"shard":"2/4"`: "--shard was 2/4, which isovet watch no longer has"} {
		dir := t.TempDir()
		must.OK(t, keepSettings(dir, j.Settings()))
		path := filepath.Join(dir, settingsFile)
		text := must.Get(os.ReadFile(path))(t)
		must.OK(t, os.WriteFile(path, bytes.Replace(text, []byte("{"), []byte("{"+name+","), 1), 0o600))
		_, err := sameSettings(dir, j.Settings())
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %v; expected %q", name, err, want)
		}
	}
}

// renewed makes a judge with the options of another.
func renewed(t *testing.T, j Judge) Judge {
	switch j := j.(type) {
	case *aion:
		return aionWith(t, j.o)
	case *leopard:
		return leopardOf(t, j.o)
	}
	t.Fatalf("%T", j)
	return nil
}

// contents are the names and texts of a folder's files.
func contents(t *testing.T, dir string) []byte {
	paths := must.Get(filepath.Glob(filepath.Join(dir, "*")))(t)
	slices.Sort(paths)
	var all []byte
	for _, p := range paths {
		b := must.Get(os.ReadFile(p))(t)
		all = append(append(all, p...), b...)
	}
	return all
}

type namedSource struct {
	Source
	id string
}

func (s namedSource) Identity() string { return s.id }

// TestSameSource: lines of another source than that of the log are not taken for its next ones.
func TestSameSource(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct {
		id    string
		lines int64
		other bool
	}{{"a", 0, false}, {"b", 0, false}, {"b", 1, false}, {"", 1, false}, {"a", 1, true}} {
		err := sameSource(dir, namedSource{id: c.id}, c.lines)
		must.Be(t, (err != nil) == c.other, "%d: %v", i, err)
	}
}
