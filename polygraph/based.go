package polygraph

import (
	"slices"

	"isovet/check/prepass"
	"isovet/closure"
	"isovet/evidence"
	"isovet/internal/slice"
)

// Relation is the known order of two versions of a key.
type Relation int8

const (
	Open Relation = iota
	Before
	After
)

// relate returns the order of two writes of a key that reach shows.
func (p *Polygraph) relate(reach closure.Index, f, w uint32) Relation {
	u, v := p.WriteNode(f), p.WriteNode(w)
	switch {
	case u < 0 || reach.Reaches(p.BeginNode(u), v):
		return Before
	case reach.Reaches(p.BeginNode(v), u):
		return After
	}
	return Open
}

// OptionEdges calls f for each edge of option o: from its write's transaction to the operation's, and from there to
// each target whose version is not known to be earlier. If relate leaves the order of the versions open, is is Open:
// the edge holds only if the target's version is later.
func (p *Polygraph) OptionEdges(o uint32, relate func(f, w uint32) Relation, f func(e Edge, is Relation,
	target uint32)) {
	c := &p.Based[p.Options[o].Of]
	base := p.Options[o].W
	if u := p.WriteNode(base); u >= 0 {
		f(Edge{From: u, To: c.Node, W: o, Dep: evidence.PWR}, Before, none)
	}
	for _, w := range p.Targets[c.TLo:c.THi] {
		if is := relate(base, w); is != After {
			f(Edge{From: c.Node, To: p.WriteNode(w), W: o, Dep: evidence.PRW}, is, w)
		}
	}
}

// pruneBased drops the options of predicate constraints that would close a cycle with the known graph. A constraint
// with one option left becomes known edges. A constraint with an option that needs no further edge is satisfied. It
// returns whether anything changed. Source: [Vbox] §4.3 "Predicate Constraint Pruning" with errata V14 and V18.
func (p *Polygraph) pruneBased(reach closure.Index, add func(by int32, e Edge)) (changed bool, conflict *Conflict) {
	relate := func(f, w uint32) Relation { return p.relate(reach, f, w) }
	for i, c := range slice.Refs(p.Based) {
		if c.Done {
			continue
		}
		last, left := uint32(0), 0
		for o := c.Lo; o < c.Hi && !c.Done; o++ {
			if p.Options[o].Out {
				continue
			}
			switch possible, free := p.option(reach, c, p.Options[o].W); {
			case !possible:
				p.Options[o].Out, p.Options[o].At = true, int32(len(p.Settled))
				changed = true
			case free:
				c.Done = true
			default:
				last, left = o, left+1
			}
		}
		if c.Done || left > 1 {
			continue
		}
		if p.MayCount(c.Node) {
			if left == 0 && slices.Contains(p.Counted(), c.Node) {
				return changed, &Conflict{Based: c}
			}
			if left == 0 { // then it did not commit
				c.Done, changed = true, true
				p.refute(c.Node)
			}
			continue
		}
		if left == 0 {
			return changed, &Conflict{Based: c}
		}
		c.Done = true
		by := int32(-1)
		p.OptionEdges(last, relate, func(e Edge, is Relation, _ uint32) {
			if reach.Reaches(e.From, e.To) {
				return
			}
			if is == Open {
				c.Done = false
				return
			}
			if by < 0 {
				by = int32(len(p.Settled))
				p.Settled = append(p.Settled, Settled{Based: int32(i) + 1, Option: last})
				changed = true
			}
			add(by, e)
		})
	}
	return changed, nil
}

// option reports whether reach allows that an operation was based on write f, and whether that needs no further edge.
func (p *Polygraph) option(reach closure.Index, c *Based, f uint32) (possible, free bool) {
	t, u := c.Node, p.WriteNode(f)
	if u >= 0 && reach.Reaches(t, u) {
		return false, false
	}
	free = u < 0 || reach.Reaches(u, t)
	for _, w := range p.Targets[c.TLo:c.THi] {
		v := p.WriteNode(w)
		if reach.Reaches(t, v) {
			continue
		}
		switch p.relate(reach, f, w) {
		case Before:
			if reach.Reaches(v, t) {
				return false, false
			}
			free = false
		case Open:
			free = false
		}
	}
	return true, free
}

// OpenBased counts the predicate constraints that are not settled.
func (p *Polygraph) OpenBased() int {
	return slice.Count(p.Based, func(b Based) bool { return !b.Done })
}

// StoryOf calls f with the transactions of Story and with the constraint's own.
func (p *Polygraph) StoryOf(c *Based, f func(t uint32)) {
	v := p.V
	m := prepass.Miss{Op: c.Op, Key: c.Key}
	var bases []uint32
	if c.Read > 0 {
		at, _ := slices.BinarySearch(v.Amb, c.Read-1)
		bases = v.Cand[v.CandOff[at]:v.CandOff[at+1]]
	} else {
		bases, _, _ = v.Bases(m)
	}
	f(p.Txn[c.Node])
	for _, w := range bases {
		if t := v.WTxn[w]; t != none {
			f(t)
		}
	}
	if t, ok := p.LastBefore(m); ok {
		f(t)
	}
}

// OpenEdges returns an upper bound of the edges that the open choices and predicate constraints may add.
func (p *Polygraph) OpenEdges() int {
	n := 0
	for _, c := range p.Choices {
		n += 2 + len(p.Readers(c.A)) + len(p.Readers(c.B))
	}
	for i := range p.Based {
		if c := &p.Based[i]; !c.Done {
			n += int(c.Hi-c.Lo) * (1 + int(c.THi-c.TLo))
		}
	}
	return n
}

// Later guesses whether option a's version came after option b's.
func (p *Polygraph) Later(a, b uint32) bool {
	w, x := p.Options[a].W, p.Options[b].W
	return p.WriteNode(w) >= 0 && (p.WriteNode(x) < 0 || p.Sooner(x, w))
}

// Relate returns a function that relates two writes of a key without reachability. An initial version is before all
// others; real time and pruning have settled some pairs; a choice decides the rest. In the last case is is Open, and
// either tells whether the choice's "A before B" means "f before w".
func (p *Polygraph) Relate() func(f, w uint32) (is Relation, choice int, either bool) {
	keys := make(map[uint32]bool)
	for i := range p.Based {
		if !p.Based[i].Done {
			keys[p.Based[i].Key] = true
		}
	}
	first := p.settledPairs()
	choices := make(map[[2]uint32]int)
	for i, c := range p.Choices {
		if keys[p.V.WKey[c.A]] {
			choices[[2]uint32{c.A, c.B}] = i
		}
	}
	return func(f, w uint32) (Relation, int, bool) {
		u, v := p.WriteNode(f), p.WriteNode(w)
		if u < 0 || p.Before(u, v) {
			return Before, 0, false
		}
		if p.Before(v, u) {
			return After, 0, false
		}
		if _, ok := first[[2]uint32{f, w}]; ok {
			return Before, 0, false
		}
		if _, ok := first[[2]uint32{w, f}]; ok {
			return After, 0, false
		}
		if i, ok := choices[[2]uint32{f, w}]; ok {
			return Open, i, true
		}
		i, ok := choices[[2]uint32{w, f}]
		if !ok {
			panic("polygraph: no choice has two writes of a key that nothing orders")
		}
		return Open, i, false
	}
}

// settledPairs finds the settled choices of keys that predicate constraints are about, by first and second write.
func (p *Polygraph) settledPairs() map[[2]uint32]int32 {
	keys := make(map[uint32]bool)
	for i := range p.Based {
		keys[p.Based[i].Key] = true
	}
	pairs := make(map[[2]uint32]int32)
	for i := range p.Settled {
		if s := &p.Settled[i]; s.Based == 0 && keys[p.V.WKey[s.First]] {
			pairs[[2]uint32{s.First, s.Then}] = int32(i)
		}
	}
	return pairs
}
