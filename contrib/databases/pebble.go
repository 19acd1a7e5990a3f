package databases

import (
	"errors"
	"runtime"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"isovet/collect/driver"
	"isovet/level"
)

var pebbleStore = driver.Store{
	Scheme: "pebble",
	Name:   "Pebble v2",
	About:  "Pebble inside this program: pebble: (in memory), pebble:DIR; it has batches, and detects no conflicts",
	Isolations: []string{
		"batch=default=read-committed=rc", // each read sees what is newest
		"snapshot",                        // reads from a snapshot taken at the beginning
	},
	Promises: []driver.Promise{
		{Database: "Pebble", Isolation: "batch", Levels: []level.Level{level.ReadCommitted}, But: pebbleLoses,
			Source: "Pebble's Batch and DB.NewIndexedBatch: writes are applied at once; reads see the batch " +
				"and what is newest; nothing is said of conflicts"},
		{Database: "Pebble", Isolation: "snapshot", Levels: []level.Level{level.ReadAtomic},
			Source: "Pebble's DB.NewSnapshot and Batch: a view as of one moment; nothing is said of conflicts",
			But:    pebbleLoses},
	},
	Open: openPebble,
}

// pebbleLoses is how lost appends to lists show: an append reads the list and writes it back.
var pebbleLoses = []level.Anomaly{level.IncompatibleOrder, level.NoOrder}

type pebbleDB struct {
	db       *pebble.DB
	snapshot bool
	memory   bool
}

// silent takes what the library would log; a fault of its own ends the program.
type silent struct{ pebble.Logger }

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}

func openPebble(url, isolation string) (driver.KV, error) {
	_, dir, _ := strings.Cut(url, ":")
	dir = strings.TrimPrefix(dir, "//")
	o := &pebble.Options{Logger: silent{pebble.DefaultLogger}}
	if dir == "" {
		o.FS = vfs.NewMem()
	}
	db, err := pebble.Open(dir, o)
	if err != nil {
		return nil, err
	}
	return &pebbleDB{db, isolation == "snapshot", dir == ""}, nil
}

// Close removes what was written where the folder stays.
func (p *pebbleDB) Close() error {
	var err error
	if !p.memory {
		err = p.db.DeleteRange([]byte("isovet/"), []byte("isovet0"), pebble.NoSync)
	}
	return errors.Join(err, p.db.Close())
}

func (p *pebbleDB) Begin() (driver.KVTxn, error) {
	t := &pebbleTxn{b: p.db.NewIndexedBatch()}
	t.reads = t.b
	if p.snapshot {
		t.s = p.db.NewSnapshot()
	}
	return t, nil
}

type pebbleTxn struct {
	b     *pebble.Batch
	reads pebble.Reader
	s     *pebble.Snapshot // nil: reads see what is newest
	wrote [][]byte
}

func (t *pebbleTxn) Get(key []byte) ([]byte, bool, error) {
	runtime.Gosched()
	from := t.reads
	if t.s != nil && !slices.ContainsFunc(t.wrote, func(k []byte) bool { return string(k) == string(key) }) {
		from = t.s
	}
	v, done, err := from.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return slices.Clone(v), true, done.Close()
}

func (t *pebbleTxn) Put(key, value []byte) error {
	runtime.Gosched()
	if t.s != nil {
		t.wrote = append(t.wrote, slices.Clone(key))
	}
	return t.b.Set(key, value, nil)
}

func (t *pebbleTxn) Commit() error { return errors.Join(t.b.Commit(pebble.NoSync), t.end()) }

func (t *pebbleTxn) Rollback() error { return t.end() }

// end closes the batch and the snapshot, once.
func (t *pebbleTxn) end() (err error) {
	if t.b == nil {
		return nil
	}
	err = t.b.Close()
	if t.s != nil {
		err = errors.Join(err, t.s.Close())
	}
	t.b = nil
	return err
}
