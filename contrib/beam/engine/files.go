package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"isovet/contrib/beam/store"
	"isovet/history/split"
)

// Remote are the copies, on this machine's disk, of files of other file systems: name of the copy → name of the file. A
// worker makes the copy that it needs, by the same name.
type Remote map[string]string

// copyOf is where the copy of a file of another file system is, on all machines with one folder for temporary files.
func copyOf(url string) string {
	h := sha256.Sum256([]byte(strings.TrimSuffix(url, store.Base(url))))
	return filepath.Join(os.TempDir(), "isovet-beam-files", hex.EncodeToString(h[:8]), store.Base(url))
}

var fetching sync.Mutex

// fetch copies a file unless the copy is there, with the same size and time.
func fetch(ctx context.Context, url, to string, size int64, at time.Time) error {
	fetching.Lock()
	defer fetching.Unlock()
	if st, err := os.Stat(to); err == nil && st.Size() == size && st.ModTime().Equal(at) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := store.Fetch(ctx, url, to, at); err != nil {
		return fmt.Errorf("cannot copy %s: %w", url, err)
	}
	return nil
}

// Plan divides a history as split.Plan does, of files on any of Beam's file systems: of those that are not on this
// machine's, copies are made first.
func Plan(ctx context.Context, paths []string, o split.Options) (*split.Set, Remote, error) {
	from := Remote{}
	var local []string
	for _, p := range paths {
		if !store.Remote(p) {
			local = append(local, p)
			continue
		}
		files, folder, err := store.Files(ctx, p)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot list %s: %w", p, err)
		}
		if len(files) == 0 {
			return nil, nil, fmt.Errorf("%s: no such file; expected a history, or a folder of its parts", p)
		}
		for _, url := range files {
			to := copyOf(url)
			size, at, err := store.Stat(ctx, url)
			if err == nil {
				err = fetch(ctx, url, to, size, at)
			}
			if err != nil {
				return nil, nil, err
			}
			from[to] = url
			if !folder {
				local = append(local, to)
			}
		}
		if folder {
			local = append(local, filepath.Dir(copyOf(files[0])))
		}
	}
	set, err := split.Plan(ctx, local, o)
	if err == nil {
		set.Name = strings.Join(paths, " ")
	}
	return set, from, err
}

// here makes the copies that pieces need.
func (r Remote) here(ctx context.Context, pieces []split.Piece) error {
	for i := range pieces {
		f := &pieces[i].File
		if url := r[f.Path]; url != "" {
			if err := fetch(ctx, url, f.Path, f.Bytes, time.Unix(0, f.MTime)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Clean removes the copies.
func (r Remote) Clean() {
	for to := range r {
		os.Remove(to)
		os.Remove(filepath.Dir(to))
	}
}
