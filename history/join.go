package history

import (
	"math/bits"
	"sync"
)

// The join gives every reference to a version (an operation's, a list element's, a predicate row's) the dense id of its
// version. References are scattered over partitions by the high bits of their hash as they arrive, so that Build can join one
// partition after the other with a table that stays in the second-level cache; a table over all versions of a large history
// would miss the cache on every reference. A history with few references is not partitioned: its versions are numbered in the
// order of their first reference.

const (
	joinParts = 256
	// extraBit marks a place in the extra references (list elements, predicate rows) rather than in Ops.Ver.
	extraBit = uint32(1) << 31
	// kindShift is where a joinRec's key makes room for the value's kind.
	kindShift = 29
	keyMask   = uint32(1)<<kindShift - 1
	joinSmall = 4096 // references that need no partitions
	joinMin   = 32   // references in a partition's first chunk
	joinMax   = 512  // references in a full-grown chunk: the unused halves of 256 of them stay near 1 MB
)

// joinRec is one reference: version (key, value) is wanted at place at.
type joinRec struct {
	n       int64  // the value's N
	keyKind uint32 // key, and above kindShift the value's kind
	at      uint32
}

type joinPart struct {
	cur  []joinRec   // the chunk being filled
	full [][]joinRec // the earlier ones
}

func (p *joinPart) add(r joinRec) {
	if len(p.cur) == cap(p.cur) {
		size := joinMin
		if p.cur != nil {
			p.full = append(p.full, p.cur)
			size = min(2*cap(p.cur), joinMax)
		}
		p.cur = make([]joinRec, 0, size)
	}
	p.cur = append(p.cur, r)
}

// joinSource is the references of one builder, in terms of its own keys, texts and places.
type joinSource struct {
	small     []joinRec            // all of them, unless there are too many
	part      *[joinParts]joinPart // nil as long as small holds them
	n         int
	key, text []uint32 // their ids in the builder that took this one over; nil: the same
	op, extra uint32   // what to add to places
}

// joiner holds the references of a builder: those of the builders it took over, then its own.
type joiner struct {
	merged []joinSource
	own    joinSource
}

func (j *joiner) total() int {
	n := j.own.n
	for i := range j.merged {
		n += j.merged[i].n
	}
	return n
}

// merge takes over another builder's references.
func (j *joiner) merge(o *joiner, key, text []uint32, op, extra uint32) {
	if j.own.n > 0 {
		j.merged = append(j.merged, j.own)
		j.own = joinSource{}
	}
	for _, s := range append(o.merged, o.own) {
		if s.n == 0 {
			continue
		}
		s.key = compose(s.key, key)
		s.text = compose(s.text, text)
		s.op += op
		s.extra += extra
		j.merged = append(j.merged, s)
	}
}

func compose(first, then []uint32) []uint32 {
	if first == nil || then == nil {
		return append(first, then...)
	}
	both := make([]uint32, len(first))
	for i, x := range first {
		both[i] = then[x]
	}
	return both
}

// settled returns r in the terms of the builder that took the source over, its place apart.
func (s *joinSource) settled(r joinRec) joinRec {
	if s.key != nil {
		r.keyKind = r.keyKind&^keyMask | s.key[r.keyKind&keyMask]
	}
	if s.text != nil {
		if k := ValueKind(r.keyKind >> kindShift); k == String || k == Row {
			r.n = int64(s.text[r.n])
		}
	}
	return r
}

// spill scatters the references of a small source over partitions.
func (s *joinSource) spill(keyHash []uint64, texts *Texts) {
	s.part = new([joinParts]joinPart)
	for _, r := range s.small {
		h := texts.refHash(keyHash, s.settled(r))
		s.part[h>>56].add(r)
	}
	s.small = nil
}

// refHash is the hash of the version that a reference names.
func (t *Texts) refHash(keyHash []uint64, r joinRec) uint64 {
	return mix(keyHash[r.keyKind&keyMask] + t.valueHash(Value{N: r.n, Kind: ValueKind(r.keyKind >> kindShift)}))
}

// versions are the columns that the join makes.
type versions struct {
	key  []uint32
	kind []ValueKind
	n    []int64
}

// joinEntry is a table's slot: the version with local id id-1; id 0 is a free slot.
type joinEntry struct {
	n       int64
	keyKind uint32
	id      uint32
}

// joinTable numbers versions from base on. Places get tag added, which tells the tables of parallel joins apart.
type joinTable struct {
	versions
	slot       []joinEntry
	keyHash    []uint64
	texts      *Texts
	ops, extra []uint32
	tag        uint32
}

// reset makes an empty table for n references, of which some are usually of the same version.
func (t *joinTable) reset(n int) {
	size := 16
	for size < n {
		size *= 2
	}
	if cap(t.slot) < size {
		t.slot = make([]joinEntry, size)
		return
	}
	t.slot = t.slot[:size]
	clear(t.slot)
}

// join joins the references of one chunk. base is the number of versions before this partition.
func (t *joinTable) join(s *joinSource, recs []joinRec, base int) {
	mask := uint32(len(t.slot) - 1)
	ops, extra := t.ops[s.op:], t.extra[s.extra:]
	mapped := s.key != nil || s.text != nil
	for _, r := range recs {
		if mapped {
			r = s.settled(r)
		}
		h := uint32(t.texts.refHash(t.keyHash, r)) & mask
		var id uint32
		for {
			e := &t.slot[h]
			if e.id == 0 {
				id = uint32(len(t.key))
				*e = joinEntry{n: r.n, keyKind: r.keyKind, id: id + 1}
				t.key = append(t.key, r.keyKind&keyMask)
				t.kind = append(t.kind, ValueKind(r.keyKind>>kindShift))
				t.n = append(t.n, r.n)
				if 4*(int(id)+1-base) > 3*len(t.slot) {
					t.grow()
					mask = uint32(len(t.slot) - 1)
				}
				break
			}
			if e.n == r.n && e.keyKind == r.keyKind {
				id = e.id - 1
				break
			}
			h = (h + 1) & mask
		}
		if r.at&extraBit != 0 {
			extra[r.at&^extraBit] = id | t.tag
		} else {
			ops[r.at] = id | t.tag
		}
	}
}

func (t *joinTable) grow() {
	old := t.slot
	t.slot = make([]joinEntry, 2*len(old))
	mask := uint32(len(t.slot) - 1)
	for _, e := range old {
		if e.id == 0 {
			continue
		}
		h := uint32(t.texts.refHash(t.keyHash, joinRec{n: e.n, keyKind: e.keyKind})) & mask
		for t.slot[h].id != 0 {
			h = (h + 1) & mask
		}
		t.slot[h] = e
	}
}

// joinAll numbers the versions and writes their ids to ops and extra, on up to workers cores. It lets go of each partition once
// joined. Versions are numbered partition by partition, within one in the order of their first reference; the number of workers
// makes no difference.
// Cost: expected O(references), 256 passes over about 1/256 of them each.
func (j *joiner) joinAll(keyHash []uint64, texts *Texts, ops, extra []uint32, workers int) versions {
	src := append(j.merged, j.own)
	j.merged, j.own = nil, joinSource{}
	total := 0
	for i := range src {
		total += src[i].n
	}
	table := joinTable{keyHash: keyHash, texts: texts, ops: ops, extra: extra}
	if total <= joinSmall {
		table.reset(total + total/2)
		for i := range src {
			table.join(&src[i], src[i].small, 0)
		}
		return table.versions
	}
	var size [joinParts]int
	for i := range src {
		if src[i].part == nil {
			src[i].spill(keyHash, texts)
		}
		for p := range src[i].part {
			for _, c := range src[i].part[p].full {
				size[p] += len(c)
			}
			size[p] += len(src[i].part[p].cur)
		}
	}
	if workers < 2 || total < 16*joinSmall {
		table.joinParts(src, size[:], 0, joinParts)
		return table.versions
	}

	// Each worker joins a run of partitions and numbers from 0 under its tag, as it cannot know how many versions the runs
	// before its own have; a pass over the places turns (tag, number) into ids.
	workers = min(workers, 16)
	shift := 32 - bits.Len(uint(workers-1))
	tables := make([]joinTable, workers)
	var wg sync.WaitGroup
	lo, before := 0, 0
	for w := range tables {
		hi := lo
		for hi < joinParts && (w == workers-1 || before < total/workers*(w+1)) {
			before += size[hi]
			hi++
		}
		tables[w] = table
		tables[w].tag = uint32(w) << shift
		first := lo
		wg.Go(func() { tables[w].joinParts(src, size[:], first, hi) })
		lo = hi
	}
	wg.Wait()
	var base [16]uint32
	n := 0
	for w := range tables {
		base[w] = uint32(n)
		n += len(tables[w].key)
	}
	step := (len(ops) + workers - 1) / workers
	for w := range workers {
		own := ops[min(w*step, len(ops)):min((w+1)*step, len(ops))]
		wg.Go(func() { untag(own, &base, shift) })
	}
	untag(extra, &base, shift)
	wg.Wait()

	v := tables[0].versions
	v.reserve(n)
	for w := range tables[1:] {
		t := &tables[w+1]
		v.key = append(v.key, t.key...)
		v.kind = append(v.kind, t.kind...)
		v.n = append(v.n, t.n...)
		*t = joinTable{}
	}
	return v
}

func untag(places []uint32, base *[16]uint32, shift int) {
	mask := uint32(1)<<shift - 1
	for i, id := range places {
		places[i] = base[(id>>shift)&15] + id&mask
	}
}

// joinParts joins partitions lo to hi.
func (t *joinTable) joinParts(src []joinSource, size []int, lo, hi int) {
	refs := 0
	for _, n := range size[lo:hi] {
		refs += n
	}
	for p := lo; p < hi; p++ {
		if size[p] == 0 {
			continue
		}
		t.reset(size[p])
		base := len(t.key)
		for i := range src {
			s := &src[i]
			for _, c := range s.part[p].full {
				t.join(s, c, base)
			}
			t.join(s, s.part[p].cur, base)
			s.part[p] = joinPart{}
		}
		if base == 0 {
			t.reserve(int(float64(refs) / float64(size[p]) * float64(len(t.key)) * 17 / 16))
		}
	}
}

// reserve makes room for n versions in all: an estimate from the first partition, so that the columns seldom grow twice.
func (v *versions) reserve(n int) {
	if n <= cap(v.key) {
		return
	}
	v.key = append(make([]uint32, 0, n), v.key...)
	v.kind = append(make([]ValueKind, 0, n), v.kind...)
	v.n = append(make([]int64, 0, n), v.n...)
}
