package online

import (
	"cmp"
	"slices"

	"isovet/history"
)

// build makes the history of a part.
func (e *Engine) build(p *proof, members []uint32, initial map[uint32]uint64, has map[kv]bool) {
	type one struct {
		slot uint32
		o    *outsider
		sess uint32
		seq  int64
		line int64
	}
	var all []one
	for _, t := range members {
		x := &e.slots[t]
		all = append(all, one{t, nil, x.sess, x.seq, x.line})
	}
	for _, o := range p.others {
		all = append(all, one{noSlot, o, o.sess, o.seq, o.line})
	}
	for _, a := range all {
		e.unrank(a.sess)
	}
	for _, a := range all {
		e.rank(a.sess, a.line)
	}
	slices.SortStableFunc(all, func(a, b one) int {
		return cmp.Or(cmp.Compare(e.rankOf(a.sess), e.rankOf(b.sess)), cmp.Compare(a.seq, b.seq),
			cmp.Compare(a.line, b.line))
	})
	b := history.NewBuilder()
	for _, a := range all {
		p.txns, p.outside = append(p.txns, a.slot), append(p.outside, a.o)
		if a.o != nil {
			for _, k := range a.o.writes {
				b.Write(keyOf(b, k.key), value(k.val))
			}
			x := txn{start: a.o.start, end: a.o.end, sess: a.o.sess, status: a.o.status}
			b.EndTxn(x.head())
			continue
		}
		x := &e.slots[a.slot]
		for i := range x.reads {
			r := &x.reads[i]
			if r.state != counts || e.isOut(a.slot, i) {
				continue
			}
			if v, first := initial[r.key]; has[kv{r.key, r.val}] || first && v == r.val {
				b.Read(keyOf(b, r.key), value(r.val))
			} else if x.status == history.Unknown {
				e.dead = true
				if p.keepThin && e.cannot(kv{r.key, r.val}) {
					b.Read(keyOf(b, r.key), value(r.val))
					p.thin = append(p.thin, ReadAt{x.line, r.at})
				} else {
					p.dropped[ReadAt{x.line, r.at}] = true
				}
			} else {
				p.dropped[ReadAt{x.line, r.at}] = true
			}
		}
		for i := range x.writes {
			b.Write(keyOf(b, x.writes[i].key), value(x.writes[i].val))
		}
		b.EndTxn(x.head())
	}
	keys := make([]uint32, 0, len(initial))
	for k := range initial {
		keys = append(keys, k)
	}
	for k := range has {
		if _, first := initial[k.key]; k.val == 0 && !first { // which the key must not hold by itself
			initial[k.key] = unknowable
			keys = append(keys, k.key)
		}
	}
	slices.SortFunc(keys, e.byHash) // numbers of keys depend on which ones lie on disk
	for _, k := range keys {
		if initial[k] != 0 {
			b.Write(keyOf(b, k), value(initial[k]))
		}
	}
	head := history.NewTxnHead()
	head.Init = true
	b.EndTxn(head)
	p.b = b
}

// byHash orders keys by what is their own for good.
func (e *Engine) byHash(a, b uint32) int {
	return cmp.Or(cmp.Compare(e.cells[a].hash, e.cells[b].hash), cmp.Compare(a, b))
}

// unknowable is a value that nobody reads.
const unknowable = 0x756e6b6e6f77

// judged returns the part if it violates the level.
func (p *proof) judged(e *Engine) *proof {
	a := e.solve(p.b, nil)
	if p.b = nil; a.status != unsolved {
		return nil
	}
	p.seed = a.seed
	return p
}

// cannot reports whether nobody can have written a version who may have committed. Who wrote it may still come, at the
// levels with real time only late.
func (e *Engine) cannot(k kv) bool {
	g := e.dug(k)
	return !e.exists(k) && !e.cells[k.key].open &&
		(e.o.Level.RealTime() && !e.patient() || e.final || g != nil && g.kind != overwritten)
}
