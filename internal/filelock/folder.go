package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Folder is a throw-away folder of this process.
type Folder struct {
	Path string
	held *os.File
}

// folderFile, in a throw-away folder, is taken by the process that made it.
const folderFile = "isovet.lock"

// young is how old a folder nobody holds must be before it is taken for one left behind: its maker may be about to
// take it.
const young = time.Minute

// TempFolder makes a throw-away folder, isovet-NAME-… in the system's place for temporary files, and removes those of
// this name whose processes were killed before they could. Cost: a look at each folder of that name.
func TempFolder(name string) (*Folder, error) {
	begin := "isovet-" + name + "-"
	sweep(begin)
	dir, err := os.MkdirTemp("", begin)
	if err != nil {
		return nil, err
	}
	f := &Folder{Path: dir}
	if f.held, err = os.OpenFile(filepath.Join(dir, folderFile), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		err = Try(f.held)
	}
	if err != nil {
		return nil, errors.Join(err, f.Remove())
	}
	return f, nil
}

// Remove removes the folder with all that is in it. It may be called again where it fails; nil has nothing to remove.
func (f *Folder) Remove() error {
	if f == nil {
		return nil
	}
	if f.held != nil {
		_ = Close(f.held) // nothing was written, and Windows does not remove what is open
		f.held = nil
	}
	return os.RemoveAll(f.Path)
}

// sweep removes the folders that killed processes left. What it cannot remove stays: that is no fault of who begins.
func sweep(begin string) {
	found, err := filepath.Glob(filepath.Join(os.TempDir(), begin+"*"))
	if err != nil {
		return // a pattern in the name of the folder for temporary files
	}
	for _, dir := range found {
		if d, err := os.Lstat(dir); err != nil || !d.IsDir() {
			continue
		}
		file := filepath.Join(dir, folderFile)
		info, err := os.Lstat(file)
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < young {
			continue
		}
		held, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			continue // somebody else's
		}
		err = Try(held)
		_ = Close(held)
		if err == nil {
			_ = os.RemoveAll(dir)
		}
	}
}
