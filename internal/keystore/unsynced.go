package keystore

import (
	"context"
	"errors"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var background = context.Background()

// unsynced is a file system that does not wait until what is written has reached the disk: the store itself is thrown
// away when the process ends, and who keeps a checkpoint syncs its files.
type unsynced struct{ vfs.FS }

func (u unsynced) quiet(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return quietFile{f}, nil
}

func (u unsynced) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return u.quiet(u.FS.Create(name, c))
}

func (u unsynced) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return u.quiet(u.FS.OpenReadWrite(name, c, o...))
}

func (u unsynced) OpenDir(name string) (vfs.File, error) { return u.quiet(u.FS.OpenDir(name)) }

func (u unsynced) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return u.quiet(u.FS.ReuseForWrite(from, to, c))
}

func (u unsynced) Unwrap() vfs.FS { return u.FS }

type quietFile struct{ vfs.File }

func (quietFile) Sync() error                { return nil }
func (quietFile) SyncData() error            { return nil }
func (quietFile) SyncTo(int64) (bool, error) { return true, nil }

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
