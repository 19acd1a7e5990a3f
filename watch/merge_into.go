package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// mergesInto refuses a folder that is not new, or a merge's.
func mergesInto(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	others := false
	for _, e := range entries {
		if e.Name() == mergedFile {
			return nil
		}
		others = others || e.Name() != "lock" && e.Name() != spannedFolder
	}
	if others {
		return &MergeError{fmt.Sprintf("%s has other files in it; expected a new folder, or one that isovet watch "+
			"merge made", dir)}
	}
	return nil
}

// MergeInto is Merge and Write. The folder keeps what was found that spans keys, and how far the facts of each process
// have been taken: a merge into it goes on from there, and the processes delete facts that it has taken, at their
// checkpoints, and forget what it needs no more. From then on what spans keys is found by merges into this folder
// alone.
// Errors: *MergeError, also where another process merges into it.
//
// Cost: memory for all violations; of facts those that are new are read.
func MergeInto(dirs []string, dir string) (m *Merged, err error) {
	if err := mergesInto(dir); err != nil {
		return nil, err
	}
	held, err := lock(context.Background(), dir, false)
	var locked *LockedError
	if errors.As(err, &locked) {
		return nil, &MergeError{fmt.Sprintf("%s: process %d merges into this folder", dir, locked.PID)}
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	m, s, err := merge(dirs, dir)
	if err != nil {
		return nil, err
	}
	if err := m.Write(dir); err != nil {
		return nil, err
	}
	if s != nil {
		err = s.save()
	}
	return m, err
}

// FollowMerge is MergeInto again and again, every so often, whenever a process has found something or made a
// checkpoint, until ctx ends. each has each result, or why there is none: what a process deletes or writes anew just
// then is there the next time. Errors: *MergeError; those of each.
func FollowMerge(ctx context.Context, dirs []string, dir string, every time.Duration,
	each func(m *Merged, err error) error) error {
	var was []string
	for {
		var is []string
		for _, d := range dirs {
			is = append(is, stateOf(d))
		}
		if was == nil || !slices.Equal(is, was) {
			m, err := MergeInto(dirs, dir)
			var foreign *MergeError
			if errors.As(err, &foreign) {
				return err
			}
			if was = is; err != nil {
				was = []string{}
			}
			if err := each(m, err); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

// stateOf is a text that changes when a process has found something or made a checkpoint.
func stateOf(dir string) (text string) {
	whole, _, err := checkpoints(dir)
	text = fmt.Sprint(whole, err)
	for _, name := range []string{violationsFile, incidentsFile} {
		if st, err := os.Stat(filepath.Join(dir, name)); err == nil {
			text += fmt.Sprint(" ", st.Size(), " ", st.ModTime().UnixNano())
		}
	}
	return text
}
