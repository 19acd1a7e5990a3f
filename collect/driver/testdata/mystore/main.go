// Command mystore is isovet with one more database, "mem:", which runs one transaction at a time.
package main

import (
	"sync"

	"isovet/cmd/command"
	"isovet/collect/driver"
)

type store struct {
	lock sync.Mutex
	data map[string][]byte
}

func (s *store) Begin() (driver.KVTxn, error) {
	s.lock.Lock()
	return &txn{s, map[string][]byte{}}, nil
}
func (s *store) Close() error { return nil }

type txn struct {
	s     *store
	dirty map[string][]byte
}

func (t *txn) Get(key []byte) ([]byte, bool, error) {
	if v, ok := t.dirty[string(key)]; ok {
		return v, true, nil
	}
	v, ok := t.s.data[string(key)]
	return v, ok, nil
}
func (t *txn) Put(key, value []byte) error { t.dirty[string(key)] = value; return nil }
func (t *txn) Rollback() error             { t.s.lock.Unlock(); return nil }
func (t *txn) Commit() error {
	for k, v := range t.dirty {
		t.s.data[k] = v
	}
	t.s.lock.Unlock()
	return nil
}

func main() {
	driver.RegisterStore(driver.Store{Scheme: "mem", About: "a map with a lock", Isolations: []string{"serializable"},
		Open: func(url, isolation string) (driver.KV, error) { return &store{data: map[string][]byte{}}, nil }})
	command.Main()
}
