package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Folder is a temporary folder of this process.
type Folder struct {
	Path string
	held *os.File
}

// folderFile is the file in a temporary folder that the process that made it has locked.
const folderFile = "isovet.lock"

// young is the age below which an unlocked folder is not removed: its process may be about to lock it.
const young = time.Minute

// TempFolder makes a temporary folder, isovet-NAME-…, and removes those with this name whose processes were killed.
// Cost: a look at each folder with this name.
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

// Remove removes the folder and its content. It may be called again if it fails, and on nil.
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

// sweep removes the folders of killed processes. It ignores errors, since they are not the caller's fault.
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
