package keystore

import (
	"errors"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// unsynced is a file system that does not wait until writes reach the disk: the store is thrown away when the process
// ends, and whoever makes a checkpoint syncs its files. If the disk is full, it waits, until the store is closing.
type unsynced struct {
	vfs.FS
	closing *atomic.Bool
}

// room repeats an operation while the disk is full.
func (u unsynced) room(do func() error) error {
	for {
		err := do()
		if !errors.Is(err, syscall.ENOSPC) || u.closing.Load() {
			return err
		}
		time.Sleep(time.Second)
	}
}

func (u unsynced) quiet(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return quietFile{f, u}, nil
}

func (u unsynced) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	var f vfs.File
	err := u.room(func() (err error) { f, err = u.FS.Create(name, c); return err })
	return u.quiet(f, err)
}

func (u unsynced) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return u.quiet(u.FS.OpenReadWrite(name, c, o...))
}

func (u unsynced) OpenDir(name string) (vfs.File, error) { return u.quiet(u.FS.OpenDir(name)) }

func (u unsynced) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return u.quiet(u.FS.ReuseForWrite(from, to, c))
}

func (u unsynced) Unwrap() vfs.FS { return u.FS }

type quietFile struct {
	vfs.File
	fs unsynced
}

func (quietFile) Sync() error                { return nil }
func (quietFile) SyncData() error            { return nil }
func (quietFile) SyncTo(int64) (bool, error) { return true, nil }

func (f quietFile) Write(b []byte) (n int, err error) {
	err = f.fs.room(func() error {
		k, err := f.File.Write(b[n:])
		n += k
		return err
	})
	return n, err
}
