package history

// Index maps the names of sessions or processes to numbers. Names are mostly small, and an array has their numbers.
type Index struct {
	small []uint32 // plus one
	large map[int64]uint32
}

const smallNames = 1 << 16

// Get returns the number of a name.
func (x *Index) Get(name int64) (n uint32, ok bool) {
	if uint64(name) < uint64(len(x.small)) {
		n = x.small[name]
		return n - 1, n > 0
	}
	n, ok = x.large[name]
	return n, ok
}

// Set sets the number of a name.
func (x *Index) Set(name int64, n uint32) {
	if uint64(name) >= smallNames {
		if x.large == nil {
			x.large = map[int64]uint32{}
		}
		x.large[name] = n
		return
	}
	if size := int(name) + 1; size > len(x.small) {
		x.small = append(x.small, make([]uint32, size-len(x.small))...)
	}
	x.small[name] = n + 1
}

// Delete removes a name.
func (x *Index) Delete(name int64) {
	if uint64(name) < uint64(len(x.small)) {
		x.small[name] = 0
	}
	delete(x.large, name)
}
