package keystore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

// Store maps keys, which are bytes, to bytes, on disk. It is made when something is first written. One goroutine at a
// time.
//
// What was put last stays in memory for a while (recent.go).
//
// Cost: a put 1 to 2 µs of processor, background work included, and a get of what is there 10 to 30 µs where the system
// has its file in memory; a tenth of that of what was put lately, and of what is not there mostly nothing. Memory: a
// quarter of what Options say.
type Store struct {
	o      Options
	db     *pebble.DB
	cache  *pebble.Cache
	filter *filter
	batch  *pebble.Batch
	recent *recent
}

// ErrDamaged says that a file of a checkpoint is not as it was written.
var ErrDamaged = errors.New("damaged")

// Options say where a store lies.
type Options struct {
	// Dir is the store's own folder. What is in it goes when the store begins.
	Dir string
	// Memory, in bytes, is for all that is kept in memory, of which the store takes a quarter for itself.
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
	if err := s.open(); err != nil {
		return err
	}
	s.filter = newFilter(min(s.o.Memory/16, 256*mib))
	s.recent = newRecent(s.o.Memory / 8)
	return nil
}

func (s *Store) open() error {
	s.cache = pebble.NewCache(max(mib, s.o.Memory/32))
	o := &pebble.Options{
		Cache:                       s.cache,
		DisableWAL:                  true, // the stream can be read again
		MemTableSize:                uint64(min(max(mib/2, s.o.Memory/128), 16*mib)),
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       64,
		MaxOpenFiles:                200,
		Logger:                      logger{},
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		o.Levels[i].BlockSize = 4 << 10
	}
	for i := range o.TargetFileSizes {
		o.TargetFileSizes[i] = 8 * mib
	}
	var err error
	s.db, err = pebble.Open(s.o.Dir, o)
	if err != nil {
		s.cache.Unref()
		return fmt.Errorf("%s: the store of keys that memory does not hold: %w", s.o.Dir, err)
	}
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

// Put writes, at the next Flush; later gets see it then.
func (s *Store) Put(key, val []byte) error {
	if err := s.begin(); err != nil {
		return err
	}
	sum := xxhash.Sum64(key)
	s.filter.add(sum)
	if s.recent.fits(key, val) {
		return s.recent.put(key, val, sum, s.toDisk)
	}
	s.recent.drop(key, sum)
	return s.toDisk(key, val)
}

// toDisk writes to the disk.
func (s *Store) toDisk(key, val []byte) error {
	if s.batch == nil {
		s.batch = s.db.NewBatch()
	}
	if err := s.batch.Set(key, val, nil); err != nil {
		return err
	}
	if s.batch.Len() > mib/4 {
		return s.Flush()
	}
	return nil
}

// Flush has what was put be seen.
func (s *Store) Flush() error {
	if s.batch == nil {
		return nil
	}
	b := s.batch
	s.batch = nil
	if err := b.Commit(pebble.NoSync); err != nil {
		return fmt.Errorf("%s: %w", s.o.Dir, err)
	}
	return nil
}

// May reports whether a key may be there; mostly it is if so.
func (s *Store) May(key []byte) bool { return s.db != nil && s.filter.may(xxhash.Sum64(key)) }

// Get appends what a key has to buf; false: nothing was put. Keys in their order are found faster.
func (s *Store) Get(key, buf []byte) ([]byte, bool, error) {
	if s.db == nil {
		return buf, false, nil
	}
	sum := xxhash.Sum64(key)
	if !s.filter.may(sum) {
		return buf, false, nil
	}
	if v, ok := s.recent.get(key, sum); ok {
		return append(buf, v...), true, nil
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

// DiskBytes is what the store takes on disk, about.
func (s *Store) DiskBytes() int64 {
	if s.db == nil {
		return 0
	}
	return int64(s.db.Metrics().DiskSpaceUsage())
}

// Files of a checkpoint: the filter, and what was put last.
const (
	filterFile = "isovet-filter"
	recentFile = "isovet-recent"
)

// Checkpoint writes the store as it is to a folder, which is not there yet. Files of sorted keys are hard links. An
// empty store writes none.
func (s *Store) Checkpoint(dir string) error {
	if s.db == nil {
		return nil
	}
	if err := s.Flush(); err != nil {
		return err
	}
	if err := s.db.Flush(); err != nil {
		return fmt.Errorf("%s: %w", s.o.Dir, err)
	}
	if err := s.db.Checkpoint(dir); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return errors.Join(s.filter.save(filepath.Join(dir, filterFile)), s.recent.save(filepath.Join(dir, recentFile)))
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
	if err := os.MkdirAll(s.o.Dir, 0o755); err != nil {
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
	if err := s.open(); err != nil {
		return err
	}
	s.filter, s.recent = flt, newRecent(s.o.Memory/8)
	if err := readRecent(filepath.Join(dir, recentFile), s.Put); err != nil {
		return err
	}
	return s.Flush()
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	out, err := os.Create(to)
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
	db := s.db
	var err error
	if s.batch != nil {
		err = s.batch.Close()
	}
	s.db, s.batch, s.filter, s.recent = nil, nil, nil, nil
	err = errors.Join(err, db.Close())
	s.cache.Unref()
	return err
}
