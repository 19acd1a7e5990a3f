package databases

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"

	"isovet/collect/driver"
)

// compared makes transactions of a store that has none but can change several keys at once if others are as they were:
// reads remember each key's version, writes wait, and the commit compares. With none it compares nothing.
type compared struct {
	store comparing
	none  bool
	read  map[string]int64 // the version of each key read, 0: absent
	wrote map[string][]byte
	order []string
}

// comparing is such a store. A version is never 0 but of what is absent.
type comparing interface {
	get(key string) (value []byte, version int64, err error)
	// apply writes all if every key in were has its version, or else nothing and answers false.
	apply(were map[string]int64, order []string, wrote map[string][]byte, version int64) (bool, error)
}

func newCompared(s comparing, none bool) *compared {
	return &compared{s, none, map[string]int64{}, map[string][]byte{}, nil}
}

func (t *compared) Get(key []byte) ([]byte, bool, error) {
	k := string(key)
	if v, ok := t.wrote[k]; ok {
		return v, true, nil
	}
	v, version, err := t.store.get(k)
	if err != nil {
		return nil, false, err
	}
	if was, ok := t.read[k]; ok && was != version && !t.none {
		return nil, false, driver.ErrConflict // the commit would be refused
	}
	t.read[k] = version
	return v, version != 0, nil
}

func (t *compared) Put(key, value []byte) error {
	if _, ok := t.wrote[string(key)]; !ok {
		t.order = append(t.order, string(key))
	}
	t.wrote[string(key)] = append([]byte(nil), value...)
	return nil
}

// Commit compares what was read, of a transaction that only read too: its reads were of different moments.
func (t *compared) Commit() error {
	were := t.read
	if t.none {
		were = nil
	}
	if len(were) == 0 && len(t.order) == 0 || len(were) == 1 && len(t.order) == 0 {
		return nil // one read is of one moment
	}
	ok, err := t.store.apply(were, t.order, t.wrote, 1+rand.Int64N(1<<52))
	if err == nil && !ok {
		err = driver.ErrConflict
	}
	return err
}

func (t *compared) Rollback() error { return nil }

// lost is for stores behind a network: an answer that did not come.
func lost(err error) driver.Class {
	var n net.Error
	if errors.As(err, &n) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return driver.Lost
	}
	return driver.Fatal
}
