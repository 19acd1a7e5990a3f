// Package atomicfile writes files that are whole or not there: a temporary file in the same folder gets the name at
// the end.
package atomicfile

import (
	"cmp"
	"os"
	"path/filepath"
)

// Special reports whether a path is neither a file nor a folder: a device such as /dev/null, or a pipe. It is written
// to, and never replaced by a file.
func Special(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.Mode().IsRegular() && !st.IsDir()
}

// Create creates the temporary file for path. Its name begins with a dot. A Special path is itself opened.
func Create(path string) (*os.File, error) {
	if Special(path) {
		return os.OpenFile(path, os.O_WRONLY, 0)
	}
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
}

// End closes the file and gives it the name path, for everyone to read. With sync its content survives a crash. If
// writing has failed with err, or something fails now, End removes the file and returns the error.
func End(f *os.File, path string, sync bool, err error) error {
	if f.Name() == path {
		return cmp.Or(err, f.Close())
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if err = cmp.Or(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
