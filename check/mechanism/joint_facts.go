package mechanism

import "isovet/internal/saved"

// decode reads a piece of a part's facts.
func (j *Joint) decode(part int, piece []byte) error {
	d := saved.Reader{B: piece}
	f := &j.v.rest.parts[part].facts
	p := &j.parts[part]
	step := d.Uint()
	if step > p.taken && !d.Bad {
		return &GapError{part, p.taken, step}
	}
	text := func() []byte {
		n := d.Count()
		out := d.B[:n]
		d.B = d.B[n:]
		return out
	}
	var keys []uint32
	for range d.Count() {
		keys = append(keys, j.keys.number(text()))
	}
	num := func() uint64 { return d.Uint() - 1 }
	key := func() uint32 {
		n := d.Uint()
		if n >= uint64(len(keys)) {
			d.Bad = true
			return 0
		}
		return keys[n]
	}
	begun, had := false, false // a step has been; it has been taken
	for range d.Count() {
		x := fact{kind: factKind(d.Byte())}
		if x.kind < factStep {
			x.at = uint32(num())
		} else {
			begun, had = true, step < p.taken
			step++
		}
		switch x.kind {
		case factEdge:
			x.n = uint32(len(f.edges))
			f.edges = append(f.edges, edgeFact{num(), num(), key(), d.Byte(), Reason(d.Byte())})
			if e := &f.edges[x.n]; int(e.kind) >= len(depOf) || e.why >= numReasons {
				d.Bad = true
			}
		case factBefore:
			x.n = uint32(len(f.before))
			f.before = append(f.before, predecessor{num(), num(), 0, uint32(num()), uint32(num())})
			f.before[x.n].key = key()
		case factRead:
			x.n = uint32(len(f.reads))
			var r readFact
			r.read.Op = uint32(num())
			r.txn, r.id, r.next, r.by, r.read.Val = num(), num(), num(), num(), num()
			r.read.Key = key()
			r.read.Bef, r.read.Aft, r.c, r.d, r.until = d.Int(), d.Int(), d.Int(), d.Int(), d.Int()
			r.from = len(f.next)
			for n := num(); n > 0 && !d.Bad; n-- {
				f.next = append(f.next, num())
			}
			r.to = len(f.next)
			f.reads = append(f.reads, r)
		case factUnseen:
			x.n = uint32(num())
		case factStep, factVerified:
		case factEnded:
			x.n = uint32(len(f.ended))
			f.ended = append(f.ended, endedFact{num(), num(), d.Int(), d.Int(), d.Int(), d.Int()})
		case factFloor:
			x.n = uint32(len(f.floors))
			f.floors = append(f.floors, d.Int())
		default:
			return ErrFacts
		}
		if d.Bad || !begun {
			return ErrFacts
		}
		if !had {
			f.all = append(f.all, x)
		}
	}
	if d.Bad || len(d.B) > 0 {
		return ErrFacts
	}
	return nil
}

// cut takes off what a part says of the reads of a transaction.
func (h *hearing) cut() (out hearing) {
	f := &out.facts
	for ; h.at < len(h.facts.all) && h.facts.all[h.at].kind < factStep; h.at++ {
		x := h.facts.all[h.at]
		switch x.kind {
		case factRead:
			r := h.facts.reads[x.n]
			next := h.facts.next[r.from:r.to]
			r.from = len(f.next)
			f.next = append(f.next, next...)
			r.to = len(f.next)
			x.n = uint32(len(f.reads))
			f.reads = append(f.reads, r)
		case factEdge:
			f.edges = append(f.edges, h.facts.edges[x.n])
			x.n = uint32(len(f.edges)) - 1
		}
		f.all = append(f.all, x)
	}
	return out
}

// manyKeys are not worth looking for those that are not named any more.
const manyKeys = 1 << 16

// Compact forgets keys that nothing names any more, and gives their numbers to others.
func (j *Joint) Compact() {
	var all []*uint32
	f := func(f *facts, from int) {
		for _, x := range f.all[from:] {
			switch x.kind {
			case factEdge:
				all = append(all, &f.edges[x.n].key)
			case factBefore:
				all = append(all, &f.before[x.n].key)
			case factRead:
				all = append(all, &f.reads[x.n].read.Key)
			}
		}
	}
	for i := range j.v.rest.parts {
		h := &j.v.rest.parts[i]
		f(&h.facts, h.at)
	}
	for i := j.head; i < len(j.wait); i++ {
		w := &j.wait[i]
		for k := range w.before {
			all = append(all, &w.before[k].key)
		}
		for k := range w.heard {
			f(&w.heard[k].facts, 0)
		}
	}
	for i := range j.v.r.Violations {
		x := &j.v.r.Violations[i]
		all = append(all, &x.Key)
		for k := range x.Cycle {
			all = append(all, &x.Cycle[k].Key)
		}
	}
	if g := &j.v.g; g.on {
		for s := g.base; s != g.next; s++ {
			if n := g.at(s); !n.gone {
				for e := range n.out {
					all = append(all, &n.out[e].key)
				}
			}
		}
	}
	j.live = j.keys.compact(all)
}
