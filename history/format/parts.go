package format

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"isovet/history"
)

// PartsName is the file that lists the parts of a history in a folder.
const PartsName = "isovet-parts.json"

const partsFormat, partsVersion = "isovet-parts", 1

// Part is one of the files that a history is in, as the list in their folder has it.
type Part struct {
	File  string `json:"file"` // its name in the folder
	Bytes int64  `json:"bytes"`
	Txns  int64  `json:"transactions"`
	Ops   int64  `json:"operations"`
}

// PartList is the content of the file PartsName: it lists files that are whole.
type PartList struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Unfinished says that parts are still being written, or that this was broken off.
	Unfinished bool   `json:"unfinished,omitempty"`
	Parts      []Part `json:"parts"`
	// More is what the writer has to say of the history beside that, by name.
	More map[string]any `json:"more,omitempty"`
}

// WritePartList writes the list of a folder's parts, whole or not at all.
func WritePartList(dir string, l PartList) error {
	l.Format, l.Version = partsFormat, partsVersion
	data, err := json.MarshalIndent(l, "", " ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+PartsName+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, PartsName))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// ReadPartList reads the list of a folder's parts; fs.ErrNotExist: it has none. It checks the list, and not the parts.
func ReadPartList(dir string) (PartList, error) {
	path := filepath.Join(dir, PartsName)
	data, err := os.ReadFile(path)
	if err != nil {
		return PartList{}, err
	}
	wrong := func(field, format string, args ...any) error {
		return &history.InputError{File: path, Off: -1, Field: field, Msg: fmt.Sprintf(format, args...)}
	}
	var l PartList
	if err := json.Unmarshal(data, &l); err != nil {
		return l, wrong("", "not a list of parts: %v", err)
	}
	switch {
	case l.Format != partsFormat:
		return l, wrong("format", "found %q; expected %q", l.Format, partsFormat)
	case l.Version != partsVersion:
		return l, wrong("version", "found %d; expected %d", l.Version, partsVersion)
	case l.Unfinished:
		return l, wrong("unfinished", "the parts are still being written, or their writing was broken off; expected "+
			"all of them (without this file, the files that are there are the history)")
	case len(l.Parts) == 0:
		return l, wrong("parts", "lists no part; expected some")
	}
	seen := map[string]bool{}
	for i, p := range l.Parts {
		field := fmt.Sprintf("parts[%d].file", i)
		switch {
		case p.File == "" || p.File != filepath.Base(p.File):
			return l, wrong(field, "found %q; expected the name of a file in the folder", p.File)
		case seen[p.File]:
			return l, wrong(field, "%s is listed twice; expected each part once", p.File)
		case p.Txns < 0 || p.Bytes < 0 || p.Ops < 0:
			return l, wrong(fmt.Sprintf("parts[%d]", i), "found a number below 0; expected counts")
		}
		seen[p.File] = true
	}
	return l, nil
}

// Parts returns the files of a folder whose files are one history, in their order: as its list says, or else by their
// names, numbers in names by their value. Files whose names begin with a dot or an underscore are left out.
func Parts(dir string) (paths []string, list *PartList, err error) {
	l, err := ReadPartList(dir)
	switch {
	case err == nil:
		for _, p := range l.Parts {
			path := filepath.Join(dir, p.File)
			st, err := os.Stat(path)
			if err != nil {
				return nil, nil, &history.InputError{File: path, Off: -1, Msg: "cannot open: " + reason(err) +
					"; expected the part that " + PartsName + " lists"}
			}
			if st.Size() != p.Bytes {
				return nil, nil, &history.InputError{File: path, Off: -1, Msg: fmt.Sprintf("found %d bytes; expected "+
					"%d, as %s lists", st.Size(), p.Bytes, PartsName)}
			}
			paths = append(paths, path)
		}
		return paths, &l, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, &history.InputError{File: dir, Off: -1, Msg: "cannot read the folder: " + reason(err)}
	}
	for _, e := range entries {
		if name := e.Name(); name[0] != '.' && name[0] != '_' {
			if st, err := os.Stat(filepath.Join(dir, name)); err == nil && st.Mode().IsRegular() {
				paths = append(paths, filepath.Join(dir, name))
			}
		}
	}
	SortNames(paths)
	return paths, nil, nil
}

// IsParts reports whether a folder is a history in parts: it has a list of them, or it is in no format of folders and
// its first file is in a format of files.
func IsParts(dir string) bool {
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return false
	}
	if _, err := os.Stat(filepath.Join(dir, PartsName)); err == nil {
		return true
	}
	in, err := Open(dir)
	if err != nil {
		return false
	}
	in, err = within(in)
	if err != nil {
		return false
	}
	defer in.Close()
	if !in.Dir {
		return false
	}
	for _, f := range All() {
		if f.Detect(nil, dir) > No {
			return false
		}
	}
	paths, _, err := Parts(dir)
	if err != nil || len(paths) == 0 {
		return false
	}
	first, err := Open(paths[0])
	if err != nil {
		return false
	}
	defer first.Close()
	_, err = Detect(first)
	return err == nil
}

// SortNames sorts names as people do: numbers in them by their value.
func SortNames(names []string) {
	slices.SortFunc(names, compareNames)
}

// compareNames compares by parts that are digits or not: numbers by value, others by bytes.
func compareNames(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		n, m := digits(x), digits(y)
		if n == 0 || m == 0 {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		p, q := strings.TrimLeft(x[:n], "0"), strings.TrimLeft(y[:m], "0")
		if c := cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(p, q)); c != 0 {
			return c
		}
		x, y = x[n:], y[m:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}
