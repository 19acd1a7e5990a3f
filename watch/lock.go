package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"isovet/internal/filelock"
)

// LockedError says that another process watches with the folder.
type LockedError struct {
	Dir string
	PID int // 0: it has not said yet
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.PID > 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("%s: %s watches with this folder; expected another --state folder, or --standby, which waits "+
		"until that process ends", e.Dir, who)
}

// standbyEvery is how often who waits for a folder tries.
const standbyEvery = 100 * time.Millisecond

// lock makes a folder, if need be, and takes it for this process, until the file is closed or the process ends, in
// whatever way. standby: it waits until it gets it. Errors: *LockedError; ctx's.
func lock(ctx context.Context, dir string, standby bool) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for {
		f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
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
				return nil, errors.Join(err, f.Close())
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
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(standbyEvery):
		}
	}
}
