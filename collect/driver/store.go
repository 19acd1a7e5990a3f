package driver

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
)

// Store describes a user's key-value database. After RegisterStore workloads can run on it. Rows and lists become keys
// and values, as in any other key-value store. It has no conditions on columns.
type Store struct {
	Scheme string // of its URLs, such as "mydb": --db mydb:…
	About  string // for --help
	// Isolations are the names of its levels, the default first. Further names of a level follow after "=".
	Isolations []string
	Open       func(url, isolation string) (KV, error)
	// Promises are the documentation's statements about the isolations.
	Promises []Promise
	// Name is product and version; "" means the scheme.
	Name string
	// Remote says that the store runs in another process. Classify may then return Lost for a lost connection, before
	// and after the commit. If Classify is nil, only conflicts are recognised.
	Remote   bool
	Classify func(error) Class
}

// KV is an open store. Several goroutines may use it. It may have a method Product() string that returns product and
// version.
type KV interface {
	// Begin begins a transaction. Only one goroutine uses the transaction.
	Begin() (KVTxn, error)
	Close() error
}

// KVTxn is a transaction. Rollback is also called after an error of Commit. An error that wraps ErrConflict says that
// the store refused the transaction, which had no effect. After another error of Commit the outcome is unknown;
// another error of Get or Put ends the run.
type KVTxn interface {
	Get(key []byte) (value []byte, found bool, err error)
	Put(key, value []byte) error
	Commit() error
	Rollback() error
}

// ErrConflict is the error that a store wraps to refuse a transaction.
var ErrConflict = errors.New("the store refused the transaction")

// RegisterStore registers a store.
func RegisterStore(s Store) {
	register(Scheme{Name: s.Scheme, URLs: []string{s.Scheme}, About: s.About, Isolations: s.Isolations,
		Embedded: !s.Remote, Promises: s.Promises,
		open: func(_ context.Context, urls []string, iso string, _ Options) (DB, error) {
			kv, err := s.Open(urls[0], iso)
			if err != nil {
				return nil, err
			}
			name := cmp.Or(s.Name, s.Scheme)
			if p, ok := kv.(interface{ Product() string }); ok {
				name = p.Product()
			}
			return &storeDB{kv: kv, classify: s.Classify, info: Info{Name: name,
				Isolation: strings.ReplaceAll(iso, "-", " "), Nodes: []Node{{Name: s.Scheme}}, Unbounded: true}}, nil
		}})
}

type storeDB struct {
	kv   KV
	info Info
	// classify is the store's own function, or nil.
	classify func(error) Class
	run      string // part of the keys: each load has its own, so that it sees no earlier one
}

func (s *storeDB) Info() Info               { return s.info }
func (s *storeDB) Cut()                     {}
func (s *storeDB) Partition(int, bool) bool { return false }
func (s *storeDB) Close() error             { return s.kv.Close() }
func (s *storeDB) Connect(context.Context, int) (Session, error) {
	t := &storeTxn{db: s}
	return &storeSession{KVOps{t}, t}, nil
}

// Classify returns Unclear if a commit failed for another reason than a conflict.
func (s *storeDB) Classify(err error) Class {
	var c commitError
	switch {
	case errors.Is(err, ErrConflict):
		return Aborted
	case s.classify != nil && s.classify(err) != Fatal:
		return s.classify(err)
	case errors.As(err, &c):
		return Unclear
	}
	return Fatal
}

// loadBatch is the number of rows in a transaction of the load.
const loadBatch = 500

func (s *storeDB) Load(ctx context.Context, d Data) error {
	if len(d.Tables) > 0 {
		return Unsupported("%s has no conditions on columns", s.info.Name)
	}
	s.run = "isovet/" + strconv.FormatInt(d.Mark, 36) + "/"
	var t KVTxn
	n := 0
	for k, r := range d.Rows {
		var err error
		if t == nil {
			if t, err = s.kv.Begin(); err != nil {
				return err
			}
		}
		if err = t.Put(s.key(KVKey(RowPrefix, k)), RowText(r)); err == nil {
			if n++; n%loadBatch == 0 {
				err, t = t.Commit(), nil
			}
		}
		err = cmp.Or(err, ctx.Err())
		if err != nil {
			if t != nil {
				err = errors.Join(err, t.Rollback())
			}
			return err
		}
	}
	if t != nil {
		return t.Commit()
	}
	return nil
}

func (s *storeDB) key(k []byte) []byte {
	return append([]byte(s.run), strings.TrimPrefix(string(k), KeyPrefix)...)
}

type commitError struct{ error }

func (c commitError) Unwrap() error { return c.error }

type storeSession struct {
	KVOps
	t *storeTxn
}

type storeTxn struct {
	db  *storeDB
	txn KVTxn // nil: none is open
}

func (t *storeTxn) GetText(key []byte) (string, bool, error) {
	v, ok, err := t.txn.Get(t.db.key(key))
	return string(v), ok, err
}

func (t *storeTxn) PutText(key, value []byte) error { return t.txn.Put(t.db.key(key), value) }

func (s *storeSession) Begin() (err error) {
	s.t.txn, err = s.t.db.kv.Begin()
	return err
}

func (s *storeSession) Commit() error {
	if err := s.t.txn.Commit(); err != nil {
		return commitError{err}
	}
	s.t.txn = nil
	return nil
}

func (s *storeSession) Rollback() error {
	if s.t.txn == nil {
		return nil
	}
	err := s.t.txn.Rollback()
	s.t.txn = nil
	return err
}

func (s *storeSession) Close() { _ = s.Rollback() }
