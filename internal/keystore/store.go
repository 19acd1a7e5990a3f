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
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Store maps keys to values, both bytes, on disk. Its files are made at the first write. Only one goroutine at a time
// may use it.
//
// Cost: a put some 5 µs of processor time, including the tree's background work; a get of an existing key 5 to 30 µs
// if the system has its file in memory; of a missing key usually nothing. Memory: a third of Options.Memory.
type Store struct {
	o       Options
	db      *pebble.DB
	cache   *pebble.Cache
	filter  *filter
	most    [256][]byte // by their first byte, the greatest key that was put
	closing *atomic.Bool
}

// ErrDamaged says that a file of a checkpoint was damaged.
var ErrDamaged = errors.New("damaged")

// Options are the options of a store.
type Options struct {
	// Dir is the store's own folder. The store deletes its content when it begins.
	Dir string
	// Memory, in bytes, is the memory of the whole process. The store uses a third of it.
	Memory int64
}

// New returns an empty store.
func New(o Options) *Store { return &Store{o: o} }

// Empty reports whether nothing was ever written to the store.
func (s *Store) Empty() bool { return s.db == nil }

// mib is a mebibyte.
const mib = 1 << 20

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
	tables, table := 3, min(max(mib/4, s.o.Memory/16), 64*mib)
	// Pebble takes the memory of its tables off the cache's; without any, each get reads a file's filter.
	s.cache, s.closing = pebble.NewCache(max(mib, s.o.Memory/32)+int64(tables)*table), new(atomic.Bool)
	o := &pebble.Options{
		Cache:                       s.cache,
		FS:                          unsynced{vfs.Default, s.closing},
		DisableWAL:                  true, // the stream can be read again
		MemTableSize:                uint64(table),
		MemTableStopWritesThreshold: tables,
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
		return fmt.Errorf("%s: the store of keys on disk: %w", s.o.Dir, err)
	}
	s.filter, s.most = f, [256][]byte{}
	return nil
}

// logger discards messages. If Pebble cannot continue, it ends the process, as a power cut would; the checkpoint has
// everything.
type logger struct{}

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}
func (logger) Fatalf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "isovet: the store of keys on disk failed: %s\n", fmt.Sprintf(format, args...))
	os.Exit(254)
}

// Put writes a value. The key must not be empty.
func (s *Store) Put(key, val []byte) error {
	if err := s.begin(); err != nil {
		return err
	}
	s.filter.add(xxhash.Sum64(key))
	if s.beyond(key) {
		s.most[key[0]] = append(s.most[key[0]][:0], key...)
	}
	if err := s.db.Set(key, val, pebble.NoSync); err != nil {
		return fmt.Errorf("%s: %w", s.o.Dir, err)
	}
	return nil
}

// May reports whether a key may exist. If it says so, the key usually exists.
func (s *Store) May(key []byte) bool {
	return s.db != nil && !s.beyond(key) && s.filter.may(xxhash.Sum64(key))
}

// beyond reports whether a key is greater than all keys that were put.
func (s *Store) beyond(key []byte) bool { return bytes.Compare(key, s.most[key[0]]) > 0 }

// Get appends the value of a key to buf, or returns false. Keys are found faster in ascending order.
func (s *Store) Get(key, buf []byte) ([]byte, bool, error) {
	if !s.May(key) {
		return buf, false, nil
	}
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

// The files of a checkpoint: the filter, and recentFile of older versions, with states that were not in the tree yet.
const (
	filterFile = "isovet-filter"
	recentFile = "isovet-recent"
)

// Checkpoint writes the store to a new folder. Files of sorted keys are hard links. An empty store writes no folder.
func (s *Store) Checkpoint(dir string) error {
	if s.db == nil {
		return nil
	}
	if err := s.db.Flush(); err != nil {
		return fmt.Errorf("%s: %w", s.o.Dir, err)
	}
	if err := s.db.Checkpoint(dir); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return s.filter.save(filepath.Join(dir, filterFile))
}

// Restore loads the state of a checkpoint. Afterwards the checkpoint's folder is not used, and it is never changed. A
// missing folder is the checkpoint of an empty store.
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
		if f.Name() == recentFile {
			return fmt.Errorf("%s: written by an older version: %w", from, ErrDamaged)
		}
		if f.IsDir() || f.Name() == filterFile {
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
	return nil
}

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

// Close ends the store but leaves its folder. The store can begin again.
func (s *Store) Close() error {
	if s.db == nil {
		return nil
	}
	s.closing.Store(true)
	db := s.db
	s.db, s.filter, s.most = nil, nil, [256][]byte{}
	err := db.Close()
	s.cache.Unref()
	return err
}
