package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"isovet/internal/filelock"
)

// LockedError says that another process uses the folder.
type LockedError struct {
	Dir string
	PID int // 0: unknown yet
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.PID > 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("%s: %s uses this folder; expected another --state folder, or --standby, which waits "+
		"until that process ends", e.Dir, who)
}

// Only the process's user may read the files of a watch, since they contain the database's data.
const (
	dirMode  = 0o700
	fileMode = 0o600
)

// create is os.Create with the permissions of a watch's files.
func create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, fileMode)
}

// makeOwn makes the folder of a watch. If a folder with the default permissions exists, and is empty or an earlier
// watch's, it removes the permissions of others.
func makeOwn(dir string) error {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return err
	}
	st, err := os.Stat(dir)
	if err != nil || st.Mode()&0o007 == 0 {
		return err
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	ours := len(list) == 0 || slices.ContainsFunc(list, func(e os.DirEntry) bool { return e.Name() == "lock" })
	if ours {
		_ = os.Chmod(dir, dirMode) // without the right to do so, the files still have no access for others
	}
	return nil
}

// standbyEvery is the interval between two tries to lock a folder.
const standbyEvery = 100 * time.Millisecond

// lock makes a folder if it does not exist, and locks it until filelock.Close or the end of the process. With standby
// it waits for the lock. It returns a *LockedError or ctx's error.
func lock(ctx context.Context, dir string, standby bool) (*os.File, error) {
	if err := makeOwn(dir); err != nil {
		return nil, err
	}
	for {
		f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, fileMode)
		if err != nil {
			return nil, err
		}
		err = filelock.Try(f)
		if err == nil {
			err = f.Truncate(0)
			if err == nil {
				_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
			}
			if err != nil {
				return nil, errors.Join(err, filelock.Close(f))
			}
			return f, nil
		}
		text, _ := os.ReadFile(f.Name()) // for the message
		if e := f.Close(); e != nil || !errors.Is(err, filelock.ErrLocked) {
			return nil, errors.Join(err, e)
		}
		if !standby {
			pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
			return nil, &LockedError{dir, pid}
		}
		if err := Sleep(ctx, standbyEvery); err != nil {
			return nil, err
		}
	}
}
