package history

// The join gives every reference to a version (an operation's, a list element's, a predicate row's) the dense id of its
// version. References are scattered over partitions by the high bits of their hash as they arrive, so that Build can join one
// partition after the other with a table that stays in the second-level cache; a table over all versions of a large history
// would miss the cache on every reference.

const (
	joinParts = 256
	// extraBit marks a place in the extra references (list elements, predicate rows) rather than in Ops.Ver.
	extraBit = uint32(1) << 31
	joinMin  = 32   // records in a partition's first chunk
	joinMax  = 2048 // records in a full-grown chunk
)

// joinRec is one reference: version (key, value) is wanted at place at. The value's kind stands in a parallel array.
type joinRec struct {
	n   int64
	key uint32
	at  uint32
}

type joinChunk struct {
	rec  []joinRec
	kind []ValueKind
}

type joiner struct {
	part [joinParts][]joinChunk
	n    int
}

func (j *joiner) add(hash uint64, r joinRec, kind ValueKind) {
	p := &j.part[hash>>56]
	j.n++
	if k := len(*p); k > 0 {
		c := &(*p)[k-1]
		if len(c.rec) < cap(c.rec) {
			c.rec = append(c.rec, r)
			c.kind = append(c.kind, kind)
			return
		}
	}
	size := joinMin
	if k := len(*p); k > 0 {
		size = min(2*cap((*p)[k-1].rec), joinMax)
	}
	c := joinChunk{rec: make([]joinRec, 1, size), kind: make([]ValueKind, 1, size)}
	c.rec[0], c.kind[0] = r, kind
	*p = append(*p, c)
}

// versions are the columns that the join makes.
type versions struct {
	key  []uint32
	kind []ValueKind
	n    []int64
}

// joinAll numbers the versions and writes their ids to ops and extra. It frees each partition once joined. Versions are
// numbered partition by partition, within one in the order of their first reference.
// Cost: expected O(references), 256 passes over about 1/256 of them each.
func (j *joiner) joinAll(keyHash []uint64, texts *Texts, ops, extra []uint32) versions {
	var v versions
	var slot []uint32
	var slotHash []uint32
	for p := range j.part {
		n := 0
		for _, c := range j.part[p] {
			n += len(c.rec)
		}
		if n == 0 {
			continue
		}
		size := 16
		for size < n+n/2 {
			size *= 2
		}
		if cap(slot) < size {
			slot = make([]uint32, size)
			slotHash = make([]uint32, size)
		}
		slot, slotHash = slot[:size], slotHash[:size]
		clear(slot)
		mask := uint32(size - 1)
		base := uint32(len(v.key))
		for _, c := range j.part[p] {
			for i, r := range c.rec {
				kind := c.kind[i]
				h := uint32(mix(keyHash[r.key] + texts.valueHash(Value{N: r.n, Kind: kind})))
				s := h & mask
				var id uint32
				for {
					e := slot[s]
					if e == 0 {
						id = uint32(len(v.key))
						slot[s], slotHash[s] = id-base+1, h
						v.key = append(v.key, r.key)
						v.kind = append(v.kind, kind)
						v.n = append(v.n, r.n)
						break
					}
					if slotHash[s] == h {
						id = base + e - 1
						if v.n[id] == r.n && v.key[id] == r.key && v.kind[id] == kind {
							break
						}
					}
					s = (s + 1) & mask
				}
				if r.at&extraBit != 0 {
					extra[r.at&^extraBit] = id
				} else {
					ops[r.at] = id
				}
			}
		}
		j.part[p] = nil
		if base == 0 {
			v.reserve(j.n / n * len(v.key))
		}
	}
	return v
}

// reserve makes room for n versions in all: an estimate from the first partition, so that the columns seldom grow twice.
func (v *versions) reserve(n int) {
	n += n / 16
	if n <= cap(v.key) {
		return
	}
	v.key = append(make([]uint32, 0, n), v.key...)
	v.kind = append(make([]ValueKind, 0, n), v.kind...)
	v.n = append(make([]int64, 0, n), v.n...)
}
