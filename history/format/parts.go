package format

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"isovet/history"
	"isovet/history/partlist"
	"isovet/internal/sorts"
)

// PartsName is the file that lists the parts of a history in a folder.
const PartsName = partlist.Name

// Part is an entry of the list: one of the files of a history.
type Part = partlist.Part

// PartList is the content of the file PartsName. It lists complete files.
type PartList = partlist.List

// WritePartList writes the list of a folder's parts, atomically.
func WritePartList(dir string, l PartList) error { return partlist.Write(dir, l) }

// ReadPartList reads the list of a folder's parts. The error is fs.ErrNotExist if there is none. It checks the list,
// not the parts.
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
	case l.Format != partlist.Format:
		return l, wrong("format", "found %q; expected %q", l.Format, partlist.Format)
	case l.Version != partlist.Version:
		return l, wrong("version", "found %d; expected %d", l.Version, partlist.Version)
	case l.Unfinished:
		return l, wrong("unfinished", "the parts are still being written, or the writer stopped early; expected all "+
			"parts (to use the existing parts as the history, delete this file)")
	case len(l.Parts) == 0 && !l.Recording:
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

// Parts returns the files of a folder whose files are one history: in the order of the list or, without a list, of
// their names, with numbers in names by value. It leaves out names that begin with a dot or an underscore. If the
// history is still being recorded, or its recording was interrupted, Parts adds the files with ending
// partlist.Recording.
func Parts(dir string) (paths []string, list *PartList, err error) {
	for try := 0; ; try++ {
		paths, list, err = partsOnce(dir)
		if err != nil || list == nil || !list.Recording {
			return paths, list, err
		}
		// A part may have been completed meanwhile: then the list has it, and its recording is gone.
		now, lerr := ReadPartList(dir)
		if lerr == nil && now.Recording && len(now.Parts) == len(list.Parts) || try == 3 {
			return paths, list, err
		}
	}
}

func partsOnce(dir string) (paths []string, list *PartList, err error) {
	l, err := ReadPartList(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	if err == nil {
		list = &l
		listed := map[string]bool{}
		for _, p := range l.Parts {
			path := filepath.Join(dir, p.File)
			st, err := os.Stat(path)
			if err != nil {
				return nil, nil, &history.InputError{File: path, Off: -1, Msg: "cannot open: " +
					history.Reason(err) + "; expected the part that " + PartsName + " lists"}
			}
			if st.Size() != p.Bytes {
				return nil, nil, &history.InputError{File: path, Off: -1,
					Msg: fmt.Sprintf("found %d bytes; expected %d, as %s says", st.Size(), p.Bytes, PartsName)}
			}
			listed[stem(p.File)] = true
			paths = append(paths, path)
		}
		if !l.Recording {
			return paths, list, nil
		}
		more, err := regular(dir, func(name string) bool {
			return strings.HasSuffix(name, partlist.Recording) && !listed[stem(name)]
		})
		if err != nil {
			return nil, nil, err
		}
		if paths = append(paths, more...); len(paths) == 0 {
			return nil, nil, &history.InputError{File: filepath.Join(dir, PartsName), Off: -1, Field: "parts",
				Msg: "lists no part, and nothing has been recorded; expected some"}
		}
		return paths, list, nil
	}
	paths, err = regular(dir, func(string) bool { return true })
	return paths, nil, err
}

// regular returns the files of a folder for which take returns true, in the order of their names.
func regular(dir string, take func(name string) bool) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, &history.InputError{File: dir, Off: -1, Msg: "cannot read the folder: " + history.Reason(err)}
	}
	for _, e := range entries {
		if name := e.Name(); name[0] != '.' && name[0] != '_' && take(name) {
			if st, err := os.Stat(filepath.Join(dir, name)); err == nil && st.Mode().IsRegular() {
				paths = append(paths, filepath.Join(dir, name))
			}
		}
	}
	SortNames(paths)
	return paths, nil
}

// stem returns a part's name up to the first dot.
func stem(name string) string {
	s, _, _ := strings.Cut(name, ".")
	return s
}

// IsParts reports whether a folder is a history in parts: it has a list of parts, or it is in no format of folders and
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
	in, err = Within(in)
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

// SortNames sorts names, with numbers in them by their value.
func SortNames(names []string) {
	sorts.Func(names, compareNames)
}

// compareNames compares names run by run: runs of digits by value, others by bytes.
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
