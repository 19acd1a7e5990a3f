package keyvalue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"

	"github.com/dgraph-io/badger/v4"

	"isovet/collect/driver"
	"isovet/datasets/workload"
	"isovet/internal/slice"
)

func init() { driver.Register(driver.Scheme{Name: "badger"}, openBadger) }

type badgerDB struct {
	db   *badger.DB
	o    driver.Options
	info driver.Info
}

func openBadger(_ context.Context, urls []string, iso string, o driver.Options) (driver.DB, error) {
	_, dir, _ := strings.Cut(urls[0], ":")
	dir = strings.TrimPrefix(dir, "//")
	// Each Load clears a memory table; a value in it may not pass what a transaction holds, 15 % of it.
	opt := badger.DefaultOptions(dir).WithInMemory(dir == "").WithLogger(nil).WithMetricsEnabled(false).
		WithDetectConflicts(iso != "no-conflicts").WithMemTableSize(4 << 20).WithValueThreshold(256 << 10)
	if o.Timestamps {
		opt = opt.WithNumVersionsToKeep(math.MaxInt)
	}
	db, err := badger.Open(opt)
	if err != nil {
		return nil, err
	}
	level := "serializable"
	if iso == "no-conflicts" {
		level = "snapshot reads without conflict detection"
	}
	info := driver.Info{Name: "Badger v4", Version: driver.ModuleVersion("github.com/dgraph-io/badger/v4"),
		Isolation: level,
		Nodes:     []driver.Node{{Name: "badger"}}, Unbounded: true}
	return &badgerDB{db: db, o: o, info: info}, nil
}

func (b *badgerDB) Info() driver.Info { return b.info }
func (b *badgerDB) Cut()              {}

// Partition does nothing: there is no network.
func (b *badgerDB) Partition(int, bool) bool { return false }

func (b *badgerDB) Load(_ context.Context, d driver.Data) error {
	if err := b.db.DropPrefix([]byte(driver.KeyPrefix)); err != nil {
		return err
	}
	w := b.db.NewWriteBatch()
	defer w.Cancel()
	for k, r := range d.Rows {
		if err := w.Set(driver.KVKey(driver.RowPrefix, k), driver.RowText(r)); err != nil {
			return err
		}
	}
	for i := range d.Tables {
		for pk, row := range d.Tables[i].Rows {
			if err := w.Set(badgerRow(d.Tables[i].ID, pk), intsText(row)); err != nil {
				return err
			}
		}
	}
	return w.Flush()
}

func (b *badgerDB) Close() error {
	var err error
	if !b.db.Opts().InMemory {
		err = b.db.DropPrefix([]byte(driver.KeyPrefix))
	}
	return errors.Join(err, b.db.Close())
}

// Classify returns Aborted for a conflict and for no other error.
func (b *badgerDB) Classify(err error) driver.Class {
	if errors.Is(err, badger.ErrConflict) {
		return driver.Aborted
	}
	return driver.Fatal
}

func (b *badgerDB) Connect(context.Context, int) (driver.Session, error) {
	t := &badgerTxn{db: b.db}
	return &badgerSession{driver.KVOps{Texts: t}, t, b.o.Timestamps}, nil
}

// Resolve finds the version of each write in the store, which is the commit timestamp. Because a snapshot at r sees
// the commits up to r, commits become even numbers and snapshots odd ones.
func (b *badgerDB) Resolve(ctx context.Context, txns []driver.Stamped) error {
	type write struct{ key, version int64 }
	at, deleted := map[write]int64{}, map[int64][]int64{} // versions of deletions, the newest first
	err := b.db.View(func(t *badger.Txn) error {
		it := t.NewIterator(badger.IteratorOptions{AllVersions: true, Prefix: []byte(driver.KeyPrefix)})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			item := it.Item()
			key := item.Key()
			if len(key) < len(driver.RowPrefix)+8 {
				continue
			}
			kind, pk := string(key[:len(key)-8]), int64(binary.BigEndian.Uint64(key[len(key)-8:])^1<<63)
			if t, ok := strings.CutPrefix(kind, driver.KeyPrefix+"t"); ok {
				table, err := strconv.Atoi(strings.TrimSuffix(t, "/"))
				if err != nil {
					return fmt.Errorf("key %q: %w", key, err)
				}
				pk = int64(workload.MakeKey(table, pk))
			}
			if item.IsDeletedOrExpired() {
				deleted[pk] = append(deleted[pk], int64(item.Version()))
				continue
			}
			err := item.Value(func(v []byte) error {
				// The version is the first number of a row and the last of a list.
				first, _, _ := strings.Cut(string(v), " ")
				n, err := strconv.ParseInt(first[strings.LastIndexByte(first, ',')+1:], 10, 64)
				at[write{pk, n}] = int64(item.Version())
				return err
			})
			if err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	for _, t := range slice.Refs(txns) {
		v, ok := at[write{t.Key, t.Version}]
		// It read the row, so that nobody else has written it since, unless conflicts are not detected.
		for _, d := range deleted[t.Key] {
			if t.Version == driver.Deleted && d > t.Start && b.db.Opts().DetectConflicts {
				v, ok = d, true
			}
		}
		if t.Start != driver.NoTime {
			t.Start = 2*t.Start + 1
		}
		if ok && t.Wrote {
			t.Commit = 2 * v
		} else if t.Committed && !t.Wrote {
			t.Commit = t.Start
		}
	}
	return err
}

type badgerSession struct {
	driver.KVOps
	t      *badgerTxn
	stamps bool
}

type badgerTxn struct {
	db  *badger.DB
	txn *badger.Txn
	ts  int64
}

func (s *badgerSession) Begin() error {
	s.t.txn = s.t.db.NewTransaction(true)
	s.t.ts = int64(s.t.txn.ReadTs())
	return nil
}

// GetText and put yield to other sessions. Without a network, transactions would hardly overlap.
func (t *badgerTxn) GetText(key []byte) (value string, found bool, err error) {
	runtime.Gosched()
	item, err := t.txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	err = item.Value(func(v []byte) error {
		value = string(v)
		return nil
	})
	return value, true, err
}

func (t *badgerTxn) PutText(key, value []byte) error {
	runtime.Gosched()
	return t.txn.Set(key, value)
}

func (s *badgerSession) Commit() error   { return s.t.txn.Commit() }
func (s *badgerSession) Rollback() error { s.t.txn.Discard(); return nil }
func (s *badgerSession) Close() {
	if s.t.txn != nil {
		s.t.txn.Discard()
	}
}

func (s *badgerSession) Stamp() driver.Stamp {
	return driver.Stamp{Start: s.t.ts, Commit: driver.NoTime}
}

// Rows with columns are stored under isovet/t<table>/, as "version v1 v2 …". Badger has no indexes, so a condition
// reads the whole table.

func badgerTable(table int) []byte { return fmt.Appendf(nil, "%st%d/", driver.KeyPrefix, table) }

func badgerRow(table int, pk int64) []byte { return driver.KVKey(string(badgerTable(table)), pk) }

func intsText(row []int64) []byte {
	var b []byte
	for i, v := range row {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, v, 10)
	}
	return b
}

func parseInts(s string) (row []int64, err error) {
	for f := range strings.FieldsSeq(s) {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return nil, err
		}
		row = append(row, n)
	}
	return row, nil
}

func (s *badgerSession) GetRow(table int, pk int64, _ bool) ([]int64, error) {
	v, ok, err := s.t.GetText(badgerRow(table, pk))
	if err != nil || !ok {
		return nil, err
	}
	return parseInts(v)
}

func (s *badgerSession) PutRow(table int, pk int64, row []int64) error {
	return s.t.PutText(badgerRow(table, pk), intsText(row))
}

func (s *badgerSession) DeleteRow(table int, pk int64) error {
	runtime.Gosched()
	return s.t.txn.Delete(badgerRow(table, pk))
}

func (s *badgerSession) Where(table int, where []workload.Range, change driver.Change) ([]driver.Match, error) {
	runtime.Gosched()
	var found []driver.Match
	it := s.t.txn.NewIterator(badger.IteratorOptions{Prefix: badgerTable(table), PrefetchValues: true,
		PrefetchSize: 100})
	err := func() error {
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			key := it.Item().Key()
			m := driver.Match{PK: int64(binary.BigEndian.Uint64(key[len(key)-8:]) ^ 1<<63)}
			err := it.Item().Value(func(v []byte) (err error) {
				m.Old, err = parseInts(string(v))
				return err
			})
			if err != nil {
				return err
			}
			if workload.Matches(where, m.Old[1:]) {
				found = append(found, m)
			}
		}
		return nil
	}()
	if err != nil || change.Reads() {
		return found, err
	}
	for _, m := range slice.Refs(found) {
		if change.Delete {
			err = s.DeleteRow(table, m.PK)
		} else {
			m.New = change.Apply(m.PK, m.Old)
			err = s.PutRow(table, m.PK, m.New)
		}
		if err != nil {
			return found, err
		}
	}
	return found, nil
}
