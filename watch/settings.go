package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Setting is an option that influences judging. Name is that on the command line.
type Setting struct{ Name, Value string }

// SettingsError says that the folder was begun with other options. Its violations would mix results of both.
type SettingsError struct {
	Path  string    // of the file that keeps the folder's options
	Was   []Setting // differing options of the folder
	Given []Setting // the given values of these
}

func (e *SettingsError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: this folder was begun with other options: ", e.Path)
	for i := range e.Was {
		if i > 0 {
			b.WriteString("; ")
		}
		if fmt.Fprintf(&b, "--%s was %s, ", e.Was[i].Name, e.Was[i].said()); e.Given[i].Value == noMore {
			b.WriteString("which isovet watch no longer has")
			continue
		}
		fmt.Fprintf(&b, "given %s", e.Given[i].said())
	}
	b.WriteString("; expected the same options, or another --state folder")
	return b.String()
}

func (s Setting) said() string {
	if s.Value == "" {
		return "not taken"
	}
	return s.Value
}

// before has removed options and their defaults. A folder that was begun with another value has only a part of a
// stream, or the state of several judges, and cannot be continued.
var before = map[string]string{"shards": "1", "shard": "1/1"}

// noMore stands for the value of a removed option.
const noMore = "\x00"

const settingsFile = "options.json"

// sameSettings compares options with those that the folder was begun with. It returns false if the folder has none,
// because nothing was judged yet or an old isovet, which did not store options, began it.
func sameSettings(dir string, given []Setting) (kept bool, err error) {
	path := filepath.Join(dir, settingsFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	was := map[string]string{}
	if err := json.Unmarshal(text, &was); err != nil {
		return false, fmt.Errorf("%s: %w; expected an object of options, as isovet watch wrote it", path, err)
	}
	return true, compareSettings(path, was, given)
}

// compareSettings compares options with those of a file.
func compareSettings(path string, was map[string]string, given []Setting) error {
	e := &SettingsError{Path: path}
	if was[given[0].Name] != given[0].Value {
		given = given[:1] // another checker has different options
	}
	for _, s := range given {
		if old := was[s.Name]; old != s.Value {
			e.Was, e.Given = append(e.Was, Setting{s.Name, old}), append(e.Given, s)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if old, there := was[name]; there && old != before[name] {
			e.Was, e.Given = append(e.Was, Setting{name, old}), append(e.Given, Setting{name, noMore})
		}
	}
	if len(e.Was) > 0 {
		return e
	}
	return nil
}

// keepSettings stores the options in the folder, before the first violation.
func keepSettings(dir string, given []Setting) error {
	m := map[string]string{}
	for _, s := range given {
		m[s.Name] = s.Value
	}
	path := filepath.Join(dir, settingsFile)
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := (disk{}).replace(path, append(text, '\n')); err != nil {
		return err
	}
	return syncDir(dir)
}

// sourceFile has the identity of the stream from which the folder's lines come.
const sourceFile = "source"

// sameSource compares a source with the one from which the folder's lines come. If there are none yet, or nothing is
// known of their source, it stores its identity.
func sameSource(dir string, src Source, lines int64) error {
	x, is := src.(Identified)
	if !is || x.Identity() == "" {
		return nil
	}
	path, id := filepath.Join(dir, sourceFile), x.Identity()
	switch was, err := os.ReadFile(path); {
	case errors.Is(err, fs.ErrNotExist), err == nil && lines == 0:
		return errors.Join(disk{}.replace(path, []byte(id+"\n")), syncDir(dir))
	case err != nil:
		return err
	case strings.TrimSpace(string(was)) != id:
		return fmt.Errorf("the source is the %s, but the lines in %s are from the %s: it is another one, or was "+
			"created again; expected that of the log, or another --state folder", id, dir, bytes.TrimSpace(was))
	}
	return nil
}
