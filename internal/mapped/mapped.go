// Package mapped maps files into memory and lists the mappings, so that code that limits the process's memory can
// release their pages: the system reads them from the file again when needed. Mappings must be read-only.
package mapped

import (
	"slices"
	"sync"
	"unsafe"
)

var (
	mu    sync.Mutex
	parts [][]byte
)

// add adds a mapping to the list. remove must be called before it is unmapped.
func add(data []byte) (remove func()) {
	if len(data) == 0 {
		return func() {}
	}
	mu.Lock()
	defer mu.Unlock()
	parts = append(parts, data)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if i := slices.IndexFunc(parts, func(p []byte) bool {
			return unsafe.SliceData(p) == unsafe.SliceData(data)
		}); i >= 0 {
			parts = slices.Delete(parts, i, i+1)
		}
	}
}

// Release returns the pages of all mappings to the system, if it supports that.
func Release() {
	mu.Lock()
	defer mu.Unlock()
	for _, p := range parts {
		release(p)
	}
}
