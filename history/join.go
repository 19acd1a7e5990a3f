package history

import (
	"math/bits"

	"isovet/internal/safego"
	"isovet/internal/slice"
)

// The join gives every reference to a version (of an operation, a list element, a predicate row) the id of the
// version. References are scattered over partitions by the high bits of their hash as they arrive. So Build can join
// one partition after the other with a table that stays in the second-level cache; a table of all versions of a large
// history would miss the cache on every reference. A history with few references has only one partition: its versions
// are numbered by their first reference.

const (
	joinShift = 58 // a hash's bits above are its partition
	joinParts = 1 << (64 - joinShift)
	// extraBit marks an index into the extra references (list elements, predicate rows) instead of Ops.Ver.
	extraBit = uint32(1) << 31
	// kindShift is the bit of joinRec.keyKind at which the value's kind begins.
	kindShift = 29
	keyMask   = uint32(1)<<kindShift - 1
	joinSmall = 4096 // references that need no partitions
	joinMin   = 32   // references in a partition's first chunk
	joinMax   = 512  // references in a full-grown chunk: what the last ones leave unused stays below half a megabyte
)

// joinRec is one reference: the id of version (key, value) must go to index at.
type joinRec struct {
	// n is the value's N. For a text, which needs only the lower half, the upper half of a scattered reference is the
	// lower half of its hash, so that the hash of the text need not be fetched from memory.
	n       int64
	keyKind uint32 // key, and above kindShift the value's kind
	at      uint32
}

type joinPart struct {
	cur  []joinRec   // the chunk being filled,
	n    int         // so far
	full [][]joinRec // the earlier ones
}

func (p *joinPart) add(r joinRec) {
	if p.n == len(p.cur) {
		p.next()
	}
	p.cur[p.n] = r
	p.n++
}

// next begins a chunk.
func (p *joinPart) next() {
	size := joinMin
	if p.cur != nil {
		p.full = append(p.full, p.cur)
		size = min(2*len(p.cur), joinMax)
	}
	p.cur, p.n = make([]joinRec, size), 0
}

// joinSource has the references of one builder, with the builder's own numbers of keys and texts and its own indexes.
type joinSource struct {
	small     []joinRec            // all of them, unless there are too many
	part      *[joinParts]joinPart // nil as long as small holds them
	n         int                  // with those that repeat one before and are not here
	key       []uint32             // their ids in the builder that took this one over; nil: the same
	text      textMap
	op, extra uint32 // what to add to places
	draft     bool   // small holds them, however many there are
}

// joiner has the references of a builder: those of the builders merged into it, then its own.
type joiner struct {
	merged []joinSource
	own    joinSource
}

// merge takes over another builder's references.
func (j *joiner) merge(o *joiner, key []uint32, text textMap, op, extra uint32) {
	if j.own.n > 0 {
		j.merged = append(j.merged, j.own)
		j.own = joinSource{}
	}
	for _, s := range append(o.merged, o.own) {
		if s.n == 0 {
			continue
		}
		s.key = compose(s.key, key)
		s.text = s.text.then(text)
		s.op += op
		s.extra += extra
		j.merged = append(j.merged, s)
	}
}

func compose(first, then []uint32) []uint32 {
	switch {
	case first == nil:
		return then
	case then == nil:
		return first
	}
	return slice.Pick(then, first)
}

// settled converts r to the keys and texts of the builder into which the source was merged. It does not change r.at.
func (s *joinSource) settled(r joinRec) joinRec {
	if s.key != nil {
		r.keyKind = r.keyKind&^keyMask | s.key[r.keyKind&keyMask]
	}
	if r.isText() && !s.text.same() {
		r.n = r.n>>32<<32 | int64(s.text.of(uint32(r.n)))
	}
	return r
}

func (r *joinRec) isText() bool {
	k := ValueKind(r.keyKind >> kindShift)
	return k == String || k == Row
}

// hashed adds the part of the hash that a reference stores.
func (r joinRec) hashed(h uint64) joinRec {
	if r.isText() {
		r.n |= int64(h << 32)
	}
	return r
}

// spill scatters the references of a small source over partitions.
func (s *joinSource) spill(keyHash []uint64, texts *Texts) {
	texts.ready()
	s.part = new([joinParts]joinPart)
	for _, r := range s.small {
		h := texts.refHash(keyHash, s.settled(r))
		s.part[h>>joinShift].add(r.hashed(h))
	}
	s.small = nil
}

// refHash returns the hash of the version that a reference names, before hashed has stored it.
func (t *Texts) refHash(keyHash []uint64, r joinRec) uint64 {
	return mix(keyHash[r.keyKind&keyMask] + t.spread(r.n, ValueKind(r.keyKind>>kindShift)))
}

// slotOf returns the lower half of refHash for a scattered reference.
func slotOf(keyHash []uint64, keyKind uint32, n int64) uint32 {
	k := ValueKind(keyKind >> kindShift)
	if k == String || k == Row {
		return uint32(n >> 32)
	}
	return uint32(mix(keyHash[keyKind&keyMask] + spreadPlain(n, k)))
}

// ready computes the hashes of all references. Afterwards the texts' hashes are not needed.
func (j *joiner) ready(keyHash []uint64, texts *Texts) {
	texts.ready()
	if j.merged = append(j.merged, j.own); len(j.merged) == 0 {
		return
	}
	j.own = joinSource{}
	total := 0
	for i := range j.merged {
		total += j.merged[i].n
	}
	for i := range j.merged {
		s := &j.merged[i]
		if s.part != nil {
			continue
		}
		if total > joinSmall {
			s.spill(keyHash, texts)
			continue
		}
		for i, r := range s.small {
			s.small[i] = r.hashed(texts.refHash(keyHash, s.settled(r)))
		}
	}
}

// versions are the columns of versions that the join makes.
type versions struct {
	key  []uint32
	kind []ValueKind
	n    []int64
}

// joinChunk is some references of one source in one partition. The join overwrites it: the partition's versions found
// so far replace its first references, in the order of appearance. So no other memory is needed until the total number
// is known.
type joinChunk struct {
	src *joinSource
	rec []joinRec
}

// joinEntry is a slot of a table: the version with local id id-1. id 0 means that the slot is free.
type joinEntry struct {
	n       int64
	keyKind uint32
	id      uint32
}

// joinTable numbers the versions of partitions from 0 on. It adds tag to the ids that it stores, which distinguishes
// the tables of parallel joins.
type joinTable struct {
	slot       []joinEntry
	keyHash    []uint64
	ops, extra []uint32
	next       uint32 // the next number
	tag        uint32
	wide       bool // most references are of different versions, as the partition before told
}

// reset makes an empty table for n references, several of which usually name the same version.
func (t *joinTable) reset(n int) {
	size := 16
	for size < n || t.wide && size/4*3 <= n {
		size *= 2
	}
	if cap(t.slot) < size {
		t.slot = make([]joinEntry, size)
		return
	}
	t.slot = t.slot[:size]
	clear(t.slot)
}

// join joins the references of one partition and returns how many versions they name.
func (t *joinTable) join(chunks []joinChunk) (versions int) {
	refs := 0
	for _, c := range chunks {
		refs += len(c.rec)
	}
	if refs == 0 {
		return 0
	}
	t.reset(refs)
	mask := uint32(len(t.slot) - 1)
	base := t.next
	limit := base + uint32(len(t.slot)/4*3)
	out, outAt, chunk := chunks[0].rec, 0, 0 // where the next version goes
	for _, c := range chunks {
		s := c.src
		ops, extra := t.ops[s.op:], t.extra[s.extra:]
		mapped := s.key != nil || !s.text.same()
		for _, r := range c.rec {
			if mapped {
				r = s.settled(r)
			}
			h := slotOf(t.keyHash, r.keyKind, r.n) & mask
			var id uint32
			for {
				e := &t.slot[h]
				if e.id == 0 {
					id = t.next
					t.next++
					*e = joinEntry{n: r.n, keyKind: r.keyKind, id: t.next}
					for outAt == len(out) {
						chunk++
						out, outAt = chunks[chunk].rec, 0
					}
					out[outAt] = r
					outAt++
					if t.next > limit {
						t.grow()
						mask = uint32(len(t.slot) - 1)
						limit = base + uint32(len(t.slot)/4*3)
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
	return int(t.next - base)
}

func (t *joinTable) grow() {
	t.wide = true
	old := t.slot
	t.slot = make([]joinEntry, 2*len(old))
	mask := uint32(len(t.slot) - 1)
	for _, e := range old {
		if e.id == 0 {
			continue
		}
		h := slotOf(t.keyHash, e.keyKind, e.n) & mask
		for t.slot[h].id != 0 {
			h = (h + 1) & mask
		}
		t.slot[h] = e
	}
}

// joinAll numbers the versions and writes their ids to ops and extra, on up to workers cores. It numbers them
// partition by partition, and by first reference within a partition. If most references are rows of predicates or
// elements of lists, it numbers all by first reference, beginning with these. The number of workers makes no
// difference. Cost: expected O(references), in 64 passes over about 1/64 of them each.
//
// ready must have been called.
func (j *joiner) joinAll(keyHash []uint64, ops, extra []uint32, workers int) versions {
	src := j.merged
	j.merged = nil
	total := 0
	for i := range src {
		total += src[i].n
	}
	part, held := partitions(src, total)

	// Each worker joins some partitions and numbers from 0 with its tag, since it cannot know how many versions the
	// earlier partitions have. A pass over the indexes then turns (tag, number) into ids.
	if total < 16*joinSmall {
		workers = 1
	}
	workers = max(1, min(workers, joinWorkers))
	shift := 32 - bits.Len(uint(workers-1))
	var count [joinParts]int
	var base [joinWorkers]uint32
	runs := cut(&part, held, workers)
	parallel(workers, func(w int) {
		t := joinTable{keyHash: keyHash, ops: ops, extra: extra, tag: uint32(w) << shift}
		for p := runs[w]; p < runs[w+1]; p++ {
			count[p] = t.join(part[p])
		}
	})
	n := 0
	var first [joinParts]int // id of a partition's first version
	for w := range workers {
		base[w] = uint32(n)
		for p := runs[w]; p < runs[w+1]; p++ {
			first[p] = n
			n += count[p]
		}
	}
	v := versions{key: make([]uint32, n), kind: make([]ValueKind, n), n: make([]int64, n)}
	step := (len(ops) + workers - 1) / workers
	if workers > 1 {
		untag(extra, &base, shift)
	}
	parallel(workers, func(w int) {
		if workers > 1 {
			untag(ops[min(w*step, len(ops)):min((w+1)*step, len(ops))], &base, shift)
		}
		for p := runs[w]; p < runs[w+1]; p++ {
			v.fill(first[p], count[p], part[p])
			part[p] = nil
		}
	})
	if len(extra) > len(ops) {
		v.byAppearance(workers, extra, ops)
	}
	return v
}

// partitions returns the references of each partition, and their total number. Few references are all in one partition.
func partitions(src []joinSource, total int) (part [joinParts][]joinChunk, held int) {
	for i := range src {
		s := &src[i]
		if total <= joinSmall {
			part[0] = append(part[0], joinChunk{s, s.small})
			held += len(s.small)
			continue
		}
		for p := range s.part {
			q := &s.part[p]
			for _, c := range q.full {
				part[p] = append(part[p], joinChunk{s, c})
				held += len(c)
			}
			part[p] = append(part[p], joinChunk{s, q.cur[:q.n]})
			held += q.n
		}
		s.part = nil
	}
	return part, held
}

// byAppearance renumbers the versions in the order in which references name them first, one column after the other.
// Versions that are used together are then close in memory. For checks of predicates this saves more time than it
// costs; for single reads and writes it does not.
func (v *versions) byAppearance(workers int, refs ...[]uint32) {
	n := len(v.key)
	to := make([]uint32, n)
	next := uint32(0)
	for _, col := range refs {
		for i, id := range col {
			x := to[id]
			if x == 0 {
				next++
				x = next
				to[id] = x
			}
			col[i] = x - 1
		}
	}
	key, kind, num := make([]uint32, n), make([]ValueKind, n), make([]int64, n)
	parallel(workers, func(w int) {
		for id := w * n / workers; id < (w+1)*n/workers; id++ {
			x := to[id] - 1
			key[x], kind[x], num[x] = v.key[id], v.kind[id], v.n[id]
		}
	})
	v.key, v.kind, v.n = key, kind, num
}

// parallel calls f(0) to f(n-1), each on a goroutine of its own if there are several.
func parallel(n int, f func(int)) {
	if n == 1 {
		f(0)
		return
	}
	var wg safego.Group // a panic must not end the program as if the verdict were unknown
	for w := range n {
		wg.Go(func() { f(w) })
	}
	wg.Wait()
}

const joinWorkers = 16 // at most; the tag takes this many bits' worth of the ids

// cut divides the partitions into one run for each worker, with about equal numbers of references.
func cut(part *[joinParts][]joinChunk, total, workers int) []int {
	runs := make([]int, workers+1)
	p, refs := 0, 0
	for w := range workers {
		runs[w] = p
		for p < joinParts && (w == workers-1 || refs < total/workers*(w+1)) {
			for _, c := range part[p] {
				refs += len(c.rec)
			}
			p++
		}
	}
	runs[workers] = p
	return runs
}

func untag(places []uint32, base *[joinWorkers]uint32, shift int) {
	mask := uint32(1)<<shift - 1
	for i, id := range places {
		places[i] = base[id>>shift%joinWorkers] + id&mask
	}
}

// fill copies the n versions at the beginning of a partition's chunks to the columns, from index at on.
func (v *versions) fill(at, n int, chunks []joinChunk) {
	for _, c := range chunks {
		for _, r := range c.rec[:min(n, len(c.rec))] {
			v.key[at] = r.keyKind & keyMask
			v.kind[at] = ValueKind(r.keyKind >> kindShift)
			if v.n[at] = r.n; r.isText() {
				v.n[at] = int64(uint32(r.n))
			}
			at++
		}
		if n -= len(c.rec); n <= 0 {
			return
		}
	}
}
