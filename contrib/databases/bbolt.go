package databases

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"go.etcd.io/bbolt"

	"isovet/collect/driver"
	"isovet/level"
)

var boltStore = driver.Store{
	Scheme:     "bbolt",
	Name:       "bbolt",
	About:      "bbolt inside this program: bbolt: (a throw-away file), bbolt:FILE",
	Isolations: []string{"serializable=ser=default=session-serializable=strict-serializable"},
	Promises: []driver.Promise{{Database: "bbolt", Isolation: "serializable",
		Levels: []level.Level{level.StrictSerializable},
		Source: "bbolt's README, Transactions: fully serializable, one read-write transaction at a time"}},
	Open: openBolt,
}

var boltBucket = []byte("isovet")

type boltDB struct {
	db  *bbolt.DB
	dir string // to remove; "": none
}

func openBolt(url, _ string) (driver.KV, error) {
	b := &boltDB{}
	_, file, _ := strings.Cut(url, ":")
	if file = strings.TrimPrefix(file, "//"); file == "" {
		var err error
		if b.dir, err = os.MkdirTemp("", "isovet-bbolt-"); err != nil {
			return nil, err
		}
		file = filepath.Join(b.dir, "db")
	}
	var err error
	if b.db, err = bbolt.Open(file, 0o600, &bbolt.Options{NoSync: true}); err != nil {
		return nil, err
	}
	return b, b.db.Update(func(t *bbolt.Tx) error {
		_, err := t.CreateBucketIfNotExists(boltBucket)
		return err
	})
}

// Close removes what was written where the file stays.
func (b *boltDB) Close() error {
	if b.dir == "" {
		if err := b.db.Update(func(t *bbolt.Tx) error { return t.DeleteBucket(boltBucket) }); err != nil {
			return err
		}
		return b.db.Close()
	}
	if err := b.db.Close(); err != nil {
		return err
	}
	return os.RemoveAll(b.dir)
}

// Begin: every transaction may write, so that they are one after the other.
func (b *boltDB) Begin() (driver.KVTxn, error) {
	t, err := b.db.Begin(true)
	if err != nil {
		return nil, err
	}
	return boltTxn{t, t.Bucket(boltBucket)}, nil
}

type boltTxn struct {
	t *bbolt.Tx
	b *bbolt.Bucket
}

func (t boltTxn) Get(key []byte) ([]byte, bool, error) {
	runtime.Gosched()
	v := t.b.Get(key)
	return v, v != nil, nil
}

func (t boltTxn) Put(key, value []byte) error {
	runtime.Gosched()
	return t.b.Put(key, value)
}

func (t boltTxn) Commit() error   { return t.t.Commit() }
func (t boltTxn) Rollback() error { return t.t.Rollback() }
