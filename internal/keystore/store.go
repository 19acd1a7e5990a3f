package keystore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Store maps keys, which are bytes, to bytes, on disk. It is made when something is first written. One goroutine at a
// time.
//
// What was put last stays in memory for a while (recent.go). What leaves it is sorted and written beside, a table at a
// time, which takes its place in the tree as it is (write.go); so does a checkpoint.
//
// Cost: a put some 2 µs of processor, work beside included, if keys come near their order, and some 5 more if not; a
// get of what is there 5 to 30 µs where the system has its file in memory; a tenth of that of what was put lately, and
// of what is not there mostly nothing. Memory: a third of what Options say.
type Store struct {
	o      Options
	db     *pebble.DB
	cache  *pebble.Cache
	filter *filter
	recent *recent
	most   [256][]byte // by their first byte, the greatest key that was put
	direct bool        // something was written past recent

	jobs    jobs
	leaving batch // is written by, nil: there is none
	writing *job
	saving  *job // a checkpoint
	tables  int  // made so far

	tableOptions sstable.WriterOptions
}

// ErrDamaged says that a file of a checkpoint is not as it was written.
var ErrDamaged = errors.New("damaged")

// Options say where a store lies.
type Options struct {
	// Dir is the store's own folder. What is in it goes when the store begins.
	Dir string
	// Memory, in bytes, is for all that is kept in memory, of which the store takes a third for itself.
	Memory int64
}

// New returns a store of which there is nothing yet.
func New(o Options) *Store { return &Store{o: o} }

// Empty reports whether nothing was ever written.
func (s *Store) Empty() bool { return s.db == nil }

// mib is a mebibyte.
const mib = 1 << 20

// begin makes the store.
func (s *Store) begin() error {
	if s.db != nil {
		return nil
	}
	if err := os.RemoveAll(s.o.Dir); err != nil {
		return err
	}
	return s.open(newFilter(min(s.o.Memory/16, 256*mib)))
}

func (s *Store) open(f *filter) error {
	s.cache = pebble.NewCache(max(mib, s.o.Memory/32))
	o := &pebble.Options{
		Cache:                       s.cache,
		FS:                          unsynced{vfs.Default},
		DisableWAL:                  true, // the stream can be read again
		MemTableSize:                mib / 4,
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       64,
		MaxOpenFiles:                int(min(max(100, s.o.Memory/(mib/8)), 1000)), // to open one takes 50 µs
		FormatMajorVersion:          pebble.FormatNewest,
		Logger:                      logger{},
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		o.Levels[i].BlockSize = 4 << 10
		o.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
	}
	for i := range o.TargetFileSizes {
		o.TargetFileSizes[i] = 16 * mib
	}
	var err error
	s.db, err = pebble.Open(s.o.Dir, o)
	if err != nil {
		s.cache.Unref()
		return fmt.Errorf("%s: the store of keys that memory does not hold: %w", s.o.Dir, err)
	}
	o.EnsureDefaults()
	s.tableOptions = o.MakeWriterOptions(0, s.db.TableFormat())
	s.filter, s.recent, s.most, s.jobs.closing = f, newRecent(s.o.Memory/16*3), [256][]byte{}, make(chan struct{})
	return nil
}

// logger is silent. What Pebble cannot survive ends the process, as a power cut would: the checkpoint has everything.
type logger struct{}

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}
func (logger) Fatalf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "isovet: the store of keys on disk cannot go on: %s\n", fmt.Sprintf(format, args...))
	os.Exit(254)
}

// Put writes. The key is not empty.
func (s *Store) Put(key, val []byte) error {
	if err := s.begin(); err != nil {
		return err
	}
	sum := xxhash.Sum64(key)
	s.filter.add(sum)
	if s.beyond(key) {
		s.most[key[0]] = append(s.most[key[0]][:0], key...)
	}
	if !s.recent.fits(key, val) {
		return s.past(key, val, sum)
	}
	for !s.recent.put(key, val, sum) {
		if err := s.leave(true); err != nil {
			return err
		}
	}
	return nil
}

// Flush has what leaves memory go on its way; some calls after many puts are enough.
func (s *Store) Flush() error {
	if s.db == nil {
		return nil
	}
	return s.leave(false)
}

// May reports whether a key may be there; mostly it is if so.
func (s *Store) May(key []byte) bool {
	return s.db != nil && !s.beyond(key) && s.filter.may(xxhash.Sum64(key))
}

// beyond reports whether a key is greater than all that were put.
func (s *Store) beyond(key []byte) bool { return bytes.Compare(key, s.most[key[0]]) > 0 }

// Near returns what a key has, if that is in memory, until the next Put.
func (s *Store) Near(key []byte) ([]byte, bool) {
	if s.db == nil || s.beyond(key) {
		return nil, false
	}
	return s.recent.get(key, xxhash.Sum64(key))
}

// Get appends what a key has to buf; false: nothing was put. Keys in their order are found faster.
func (s *Store) Get(key, buf []byte) ([]byte, bool, error) {
	if v, ok := s.Near(key); ok {
		return append(buf, v...), true, nil
	}
	if !s.May(key) {
		return buf, false, nil
	}
	return s.far(key, buf)
}

// far is Get of a key that is not in memory.
func (s *Store) far(key, buf []byte) ([]byte, bool, error) {
	v, done, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return buf, false, nil
	}
	if err != nil {
		return buf, false, fmt.Errorf("%s: %w", s.o.Dir, err)
	}
	buf = append(buf, v...)
	return buf, true, done.Close()
}

// Files of a checkpoint: the filter, and what was put last.
const (
	filterFile = "isovet-filter"
	recentFile = "isovet-recent"
)

// Checkpoint writes the store as it is to a folder, which is not there yet. Files of sorted keys are hard links. An
// empty store writes none. It goes on beside: rest waits until all is written, and may be called from another
// goroutine.
func (s *Store) Checkpoint(dir string) (rest func() error) {
	if s.db == nil {
		return func() error { return nil }
	}
	db, f, r, now, direct := s.db, s.filter, s.recent, s.recent.span, s.direct
	s.saving = s.jobs.add(func() error {
		if direct {
			if err := db.Flush(); err != nil {
				return fmt.Errorf("%s: %w", s.o.Dir, err)
			}
		}
		if err := db.Checkpoint(dir); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		return errors.Join(f.save(filepath.Join(dir, filterFile)), r.save(filepath.Join(dir, recentFile), now))
	})
	return s.saving.wait
}

// Restore makes the store what it was at a checkpoint. The checkpoint's folder is not used any more afterwards, nor
// changed. A folder that is not there is the checkpoint of an empty store.
func (s *Store) Restore(dir string) error {
	if err := s.Close(); err != nil {
		return err
	}
	if err := os.RemoveAll(s.o.Dir); err != nil {
		return err
	}
	files, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.o.Dir, 0o700); err != nil {
		return err
	}
	for _, f := range files {
		from, to := filepath.Join(dir, f.Name()), filepath.Join(s.o.Dir, f.Name())
		if f.IsDir() || f.Name() == filterFile || f.Name() == recentFile {
			continue
		}
		if strings.HasSuffix(f.Name(), ".sst") && os.Link(from, to) == nil {
			continue // it never changes
		}
		if err := copyFile(from, to); err != nil {
			return err
		}
	}
	flt, err := loadFilter(filepath.Join(dir, filterFile))
	if err != nil {
		return err
	}
	if err := s.open(flt); err != nil {
		return err
	}
	if err := s.findMost(); err != nil {
		return fmt.Errorf("%s: %w", s.o.Dir, err)
	}
	gone := func(key []byte) { s.recent.drop(key, xxhash.Sum64(key)) }
	return readRecent(filepath.Join(dir, recentFile), s.Put, gone)
}

// findMost makes most anew.
func (s *Store) findMost() error {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return err
	}
	for ok := it.Last(); ok; {
		key := slices.Clone(it.Key())
		s.most[key[0]] = key
		ok = it.SeekLT(key[:1])
	}
	return it.Close()
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return errors.Join(err, in.Close())
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, in.Close(), out.Close())
}

// Close ends the store; its folder stays. It can begin anew.
func (s *Store) Close() error {
	if s.db == nil {
		return nil
	}
	close(s.jobs.closing)
	s.jobs.finish()
	db := s.db
	s.db, s.filter, s.recent, s.most = nil, nil, nil, [256][]byte{}
	s.leaving, s.writing, s.saving, s.direct = batch{}, nil, nil, false
	err := db.Close()
	s.cache.Unref()
	return err
}
