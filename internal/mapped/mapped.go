// Package mapped maps files into memory and keeps a list of them, so that whoever watches over the process's
// memory can give their pages back: they are read from the file again where they are still needed. Mappings must be for
// reading only.
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

// add enters a mapping. The function that it returns takes it out again, and must be called before it is unmapped.
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
			return unsafe.SliceData(p) == unsafe.SliceData(
				data)
		}); i >= 0 {
			parts = slices.Delete(parts, i, i+1)
		}
	}
}

// Release gives the pages of all mappings back to the system, where it can be told to.
func Release() {
	mu.Lock()
	defer mu.Unlock()
	for _, p := range parts {
		release(p)
	}
}
