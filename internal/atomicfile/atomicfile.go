// Package atomicfile writes files that are whole or not there: a temporary file in the same folder gets the name at
// the end.
package atomicfile

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Special reports whether a path is neither a file nor a folder: a device such as /dev/null, or a pipe. It is written
// to, and never replaced by a file.
func Special(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.Mode().IsRegular() && !st.IsDir()
}

// Create creates the temporary file for path. Its name begins with a dot. It gets the permissions of the file that
// it is to replace; a new one gets those that the user's umask leaves. A Special path is itself opened.
func Create(path string) (*os.File, error) {
	if Special(path) {
		return os.OpenFile(path, os.O_WRONLY, 0)
	}
	dir, base := filepath.Split(target(path))
	tmp := filepath.Join(dir, fmt.Sprintf(".%s.%d", base, rand.Uint64()))
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if st, statErr := os.Stat(path); err == nil && statErr == nil {
		err = f.Chmod(st.Mode().Perm())
	}
	return f, err
}

// target is the file that path names, at the end of its symbolic links.
func target(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

// End closes the file and gives it the name path. With sync its content survives a crash. If
// writing has failed with err, or something fails now, End removes the file and returns the error.
func End(f *os.File, path string, sync bool, err error) error {
	if f.Name() == path {
		return cmp.Or(err, f.Close())
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if err = cmp.Or(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), target(path))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
