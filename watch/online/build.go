package online

import (
	"cmp"
	"maps"
	"slices"

	"isovet/history"
)

// partTxn is a transaction of a part: one of its members, or an outsider.
type partTxn struct {
	slot uint32
	o    *outsider
	sess uint32
	seq  int64
	line int64
}

// inOrderOf returns the transactions of a part, session by session.
func (e *Engine) inOrderOf(p *proof, members []uint32) (all []partTxn) {
	for _, t := range members {
		x := &e.slots[t]
		all = append(all, partTxn{t, nil, x.sess, x.seq, x.line})
	}
	for _, o := range p.others {
		all = append(all, partTxn{noSlot, o, o.sess, o.seq, o.line})
	}
	for _, a := range all {
		e.unrank(a.sess)
	}
	for _, a := range all {
		e.rank(a.sess, a.line)
	}
	slices.SortStableFunc(all, func(a, b partTxn) int {
		return cmp.Or(cmp.Compare(e.rankOf(a.sess), e.rankOf(b.sess)), cmp.Compare(a.seq, b.seq),
			cmp.Compare(a.line, b.line))
	})
	return all
}

// build makes the history of a part. has contains the versions that the part's transactions write.
func (e *Engine) build(p *proof, members []uint32, has map[kv]bool) {
	b := history.NewBuilder()
	p.b = b
	for _, a := range e.inOrderOf(p, members) {
		p.txns, p.outside = append(p.txns, a.slot), append(p.outside, a.o)
		if a.o != nil {
			for _, k := range a.o.writes {
				b.Write(keyOf(b, k.key), value(k.val))
			}
			x := txn{start: a.o.start, end: a.o.end, sess: a.o.sess, status: a.o.status}
			b.EndTxn(x.head())
			continue
		}
		e.buildReads(p, a.slot, has)
		x := &e.slots[a.slot]
		for i := range x.writes {
			b.Write(keyOf(b, x.writes[i].key), value(x.writes[i].val))
		}
		b.EndTxn(x.head())
	}
	e.buildInitial(p, has)
}

// buildReads adds those reads of a transaction whose versions the part's transactions write.
func (e *Engine) buildReads(p *proof, t uint32, has map[kv]bool) {
	x := &e.slots[t]
	for i := range x.reads {
		r := &x.reads[i]
		if r.state != counts || e.isOut(t, i) {
			continue
		}
		k, at := kv{r.key, r.val}, ReadAt{x.line, r.at}
		v, first := p.initial[r.key]
		there := has[k] || first && v == r.val
		unknown := !there && x.status == history.Unknown
		e.attempt.dead = e.attempt.dead || unknown
		if unknown && p.keepThin && e.cannot(k, x.start) {
			p.thin = append(p.thin, at)
		} else if !there {
			p.dropped[at] = true
			continue
		}
		p.b.Read(keyOf(p.b, r.key), value(r.val))
	}
}

func (e *Engine) buildInitial(p *proof, has map[kv]bool) {
	keys := slices.Collect(maps.Keys(p.initial))
	for k := range has {
		if _, first := p.initial[k.key]; k.val == 0 && !first { // the key must not have null by itself
			p.initial[k.key] = unknowable
			keys = append(keys, k.key)
		}
	}
	slices.SortFunc(keys, e.byHash) // keys' numbers depend on which ones are on disk
	for _, k := range keys {
		if p.initial[k] != 0 {
			p.b.Write(keyOf(p.b, k), value(p.initial[k]))
		}
	}
	head := history.NewTxnHead()
	head.Init = true
	p.b.EndTxn(head)
}

// byHash orders keys by their hashes, which never change.
func (e *Engine) byHash(a, b uint32) int {
	return cmp.Or(cmp.Compare(e.cells[a].hash, e.cells[b].hash), cmp.Compare(a, b))
}

// unknowable is a value that no read sees.
const unknowable = 0x756e6b6e6f77

// judged returns the part if it violates the level, otherwise nil.
func (p *proof) judged(e *Engine) *proof {
	a := e.solve(p.b, nil)
	if p.b = nil; a.status != unsolved {
		return nil
	}
	p.seed = a.seed
	return p
}

// cannot reports whether no committed transaction can have written a version that a transaction read which began at
// start. At the levels with real time a writer that still comes would be late.
func (e *Engine) cannot(k kv, start int64) bool {
	g := e.dug(k)
	return !e.exists(k) && !e.mayUnseen(k.key, start) && (e.o.Level.RealTime() && !e.patient() || e.stream.final ||
		g != nil && g.kind != overwritten && g.kind != dropped)
}
