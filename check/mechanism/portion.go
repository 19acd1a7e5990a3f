package mechanism

import (
	"encoding/binary"
)

// A part and the rest need not be in one process (parts.go). A part that is alone has the steps themselves among its
// facts: who ended, who is verified, the floor. So the rest can follow it without the stream, and needs no clock: a
// piece of facts of each part is all that it hears (joint.go). What a part finds of a key is a violation there; the
// rest finds those that span keys.

// Foreign is the number of all keys that somebody else knows (Portion).
const Foreign = ^uint32(0)

// endedFact is a transaction that has committed.
type endedFact struct {
	id, name   uint64
	a, b, c, d int64 // snapshot and commit
}

// mark adds a fact that begins a step, where the rest needs to be told.
func (p *part) mark(stage uint64, kind factKind, n int) {
	if p.alone {
		p.facts.all = append(p.facts.all, fact{stage: stage, n: uint32(n), kind: kind})
	}
}

func (p *part) end(stage uint64, e endedFact) {
	if p.alone {
		p.mark(stage, factEnded, len(p.facts.ended))
		p.facts.ended = append(p.facts.ended, e)
	}
}

func (p *part) floor(stage uint64, at int64) {
	if p.alone {
		p.mark(stage, factFloor, len(p.facts.floors))
		p.facts.floors = append(p.facts.floors, at)
	}
}

// Portion has an Online know some of the keys only: not those with the number Foreign. It comes first. What it finds is
// of single keys; Facts is what a Joint needs for the rest.
func (x *Online) Portion() {
	o := x.o.Options
	edges := x.v.g.on
	o.Profile.Certifier = NoCertifier
	x.v = NewVerifier(0, o)
	x.v.p.Certifier = x.o.Profile.Certifier
	x.v.part = &part{edges: edges, alone: true}
}

// SetName names the transaction of an end, for parts that are alone: the same in all of them, wherever it stands in the
// streams that they take.
func (t *Trace) SetName(name uint64) { t.Op, t.Key = uint32(name), uint32(name>>32) }

func (t *Trace) name() uint64 { return uint64(t.Key)<<32 | uint64(t.Op) }

// Told is how many steps the facts have that AppendFacts has given.
func (x *Online) Told() uint64 { return x.v.told }

// Forgotten says that nothing follows any more from what transactions did whose serials are below (Joint.Forgotten).
func (x *Online) Forgotten(serial uint64) {
	x.v.dead = max(x.v.dead, serial)
}

// AppendFacts appends to buf what has been found since it was last called that spans keys, as a piece for Joint; name
// returns a key's JSON. Nothing is appended if there is nothing.
//
// Cost: memory for the facts. A fact takes some 10 bytes.
func (x *Online) AppendFacts(buf []byte, name func(key uint32) string) []byte {
	f := &x.v.part.facts
	if len(f.all) == 0 {
		return buf
	}
	var keys []uint32
	of := map[uint32]uint64{}
	var b []byte
	key := func(k uint32) {
		n, there := of[k]
		if !there {
			n = uint64(len(keys))
			of[k] = n
			keys = append(keys, k)
		}
		b = binary.AppendUvarint(b, n)
	}
	num := func(all ...uint64) {
		for _, x := range all {
			b = binary.AppendUvarint(b, x+1) // none is 0
		}
	}
	at := func(all ...int64) {
		for _, x := range all {
			b = binary.AppendVarint(b, x)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(f.all)))
	steps := uint64(0)
	for i := range f.all {
		x := &f.all[i]
		b = append(b, byte(x.kind))
		if x.kind < factStep {
			num(uint64(x.at))
		} else {
			steps++
		}
		switch x.kind {
		case factEdge:
			e := &f.edges[x.n]
			num(e.from, e.to)
			key(e.key)
			b = append(b, e.kind, byte(e.why))
		case factBefore:
			p := &f.before[x.n]
			num(p.txn, p.id, uint64(p.op), uint64(p.mine))
			key(p.key)
		case factRead:
			r := &f.reads[x.n]
			num(uint64(r.read.Op), r.txn, r.id, r.next, r.by, r.read.Val)
			key(r.read.Key)
			at(r.read.Bef, r.read.Aft, r.c, r.d, r.until)
			num(uint64(r.to - r.from))
			num(f.next[r.from:r.to]...)
		case factUnseen:
			num(uint64(x.n))
		case factEnded:
			e := &f.ended[x.n]
			num(e.id, e.name)
			at(e.a, e.b, e.c, e.d)
		case factFloor:
			at(f.floors[x.n])
		}
	}
	f.clear()
	buf = binary.AppendUvarint(buf, x.v.told)
	x.v.told += steps
	buf = binary.AppendUvarint(buf, uint64(len(keys)))
	for _, k := range keys {
		text := name(k)
		buf = append(binary.AppendUvarint(buf, uint64(len(text))), text...)
	}
	return append(buf, b...)
}
