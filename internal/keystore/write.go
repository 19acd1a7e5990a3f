package keystore

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"isovet/internal/safego"
)

// Who puts keys does not wait for the disk: one goroutine beside writes what leaves recent, and checkpoints, one after
// the other. So a checkpoint has what was put before it and nothing of what was put behind, though the tables are
// written all the time: what recent has at that moment stays there until it is saved.

// jobs are what is done beside, one after the other.
type jobs struct {
	group   safego.Group
	last    *job
	closing chan struct{} // the store is: what waits gives up
}

// job is one of them.
type job struct {
	done chan struct{}
	err  error // once done
}

var errUnfinished = errors.New("not finished")

func (j *jobs) add(do func() error) *job {
	before := j.last
	n := &job{done: make(chan struct{}), err: errUnfinished}
	j.last = n
	j.group.Go(func() {
		defer close(n.done)
		if before != nil {
			<-before.done
			before = nil
		}
		n.err = do()
	})
	return n
}

// finish waits for all.
func (j *jobs) finish() {
	j.group.Wait()
	j.last = nil
}

func (n *job) wait() error {
	<-n.done
	return n.err
}

// isDone reports whether a job is done; none is.
func (n *job) isDone() bool {
	if n == nil {
		return true
	}
	select {
	case <-n.done:
		return true
	default:
		return false
	}
}

// leave has the oldest keys of recent go to the disk, if it is crowded or, must, there is no room, for which it waits
// then.
func (s *Store) leave(must bool) error {
	if s.writing != nil && (must || s.writing.isDone() && s.saving.isDone()) {
		if err := s.settle(); err != nil {
			return err
		}
		must = false
	}
	if s.writing != nil || !must && !s.recent.crowded() {
		return nil
	}
	if s.recent.sparse() {
		if !must && !s.saving.isDone() {
			return nil
		}
		if err := s.settle(); err != nil || s.recent.recycle() {
			return err
		}
	}
	s.leaving = s.recent.oldest(s.leaving.at)
	at := s.leaving.at
	s.tables++
	first := s.tables
	s.tables += len(s.recent.ring) / tableBytes
	s.writing = s.jobs.add(func() error { return s.write(at, first) })
	return nil
}

// settle waits until what leaves is written, and lets it go.
func (s *Store) settle() error {
	if s.saving != nil {
		<-s.saving.done // it may be reading; whoever asked for it has its error
		s.saving = nil
	}
	if s.writing == nil {
		return nil
	}
	if err := s.writing.wait(); err != nil {
		s.jobs.group.Wait() // it may have panicked
		return err
	}
	s.writing = nil
	s.recent.retire(s.leaving.entries)
	return nil
}

// past writes what is too long for recent.
func (s *Store) past(key, val []byte, sum uint64) error {
	if err := s.settle(); err != nil {
		return err
	}
	s.recent.drop(key, sum)
	s.direct = true
	if err := s.db.Set(key, val, pebble.NoSync); err != nil {
		return fmt.Errorf("%s: %w", s.o.Dir, err)
	}
	return nil
}

// tableBytes is how much, about, a file has that is written at once. Keys that come near their order are in few of
// them, and most files are beside all others and stay as they are.
const tableBytes = 8 * mib

// write has entries of recent be part of the tree, and waits for a disk that is full.
func (s *Store) write(items []item, first int) error {
	slices.SortFunc(items, func(a, b item) int {
		if c := cmp.Compare(a.first, b.first); c != 0 {
			return c
		}
		return bytes.Compare(s.recent.key(a.at), s.recent.key(b.at))
	})
	for {
		err := s.ingest(items, first)
		if !errors.Is(err, syscall.ENOSPC) {
			return err
		}
		select {
		case <-s.jobs.closing:
			return err
		case <-time.After(time.Second):
		}
	}
}

// ingest writes sorted entries to tables, and makes them part of the tree.
func (s *Store) ingest(items []item, number int) (err error) {
	var paths []string
	defer func() {
		if err != nil {
			for _, p := range paths {
				err = errors.Join(err, ignoreMissing(vfs.Default.Remove(p)))
			}
			err = fmt.Errorf("%s: %w", s.o.Dir, err)
		}
	}()
	for len(items) > 0 {
		path := filepath.Join(s.o.Dir, fmt.Sprintf("isovet-table-%d", number))
		paths = append(paths, path)
		number++
		n, err := s.table(path, items)
		if err != nil {
			return err
		}
		items = items[n:]
	}
	if len(paths) == 0 {
		return nil
	}
	return s.db.Ingest(background, paths)
}

// table writes the first of some entries to a file, and says how many.
func (s *Store) table(path string, items []item) (n int, err error) {
	f, err := unsynced{vfs.Default}.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return 0, err
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), s.tableOptions)
	for size := 0; n < len(items) && size < tableBytes; n++ {
		key, val := s.recent.key(items[n].at), s.recent.val(items[n].at)
		if err := w.Set(key, val); err != nil {
			return 0, errors.Join(err, w.Close())
		}
		size += len(key) + len(val)
	}
	return n, w.Close()
}
