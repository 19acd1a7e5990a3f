package polygraph

import (
	"slices"

	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/level"
)

// Baseless returns a predicate constraint that has no option from the start, as a conflict; nil if there is none.
func (p *Polygraph) Baseless() *Conflict {
	for i := range p.Based {
		if c := &p.Based[i]; c.Lo == c.Hi && !p.MayCount(c.Node) {
			return &Conflict{Based: c}
		}
	}
	return nil
}

// Mismatch returns a predicate constraint that no version of its key satisfies in any order, as an anomaly.
func (p *Polygraph) Mismatch() (evidence.Anomaly, bool) {
	for i := range p.Based {
		c := &p.Based[i]
		if c.Lo < c.Hi || c.Read > 0 {
			continue
		}
		if bases, _, free := p.V.Bases(prepass.Miss{Op: c.Op, Key: c.Key}); len(bases) == 0 && !free {
			return evidence.Anomaly{Kind: level.PredicateMismatch, Txns: []uint32{p.Txn[c.Node]}, Ops: []uint32{c.Op},
				Key: c.Key}, true
		}
	}
	return evidence.Anomaly{}, false
}

// target returns the write of a PRW edge's To; false if only time orders it.
func (p *Polygraph) target(e Edge) (w uint32, ok bool) {
	c := &p.Based[p.Options[e.W].Of]
	for _, w := range p.Targets[c.TLo:c.THi] {
		if p.WriteNode(w) == e.To {
			return w, true
		}
	}
	return none, false
}

// excluded returns the cycles that show why an operation was not based on option o, over edges for which use is true.
// The first cycle closes if the operation was based on o. If it assumes that a target's version is later than the
// option's, a second cycle closes if it is earlier.
func (p *Polygraph) excluded(f *Finder, o uint32, use func(*Edge) bool) ([][]Edge, bool) {
	c := &p.Based[p.Options[o].Of]
	base := p.Options[o].W
	u, t := p.WriteNode(base), c.Node
	if u >= 0 {
		if path, ok := f.Path(t, u, use); ok {
			return [][]Edge{append([]Edge{{From: u, To: t, W: o, Dep: evidence.PWR, By: ByHistory}}, path...)}, true
		}
	}
	for _, w := range p.Targets[c.TLo:c.THi] {
		v := p.WriteNode(w)
		path, ok := f.Path(v, t, use)
		if !ok {
			continue
		}
		out := [][]Edge{append([]Edge{{From: t, To: v, W: o, Dep: evidence.PRW, By: ByHistory}}, path...)}
		if u < 0 {
			return out, true
		}
		if path, ok := f.Path(p.BeginNode(u), v, use); ok {
			return append(out, append([]Edge{{From: v, To: p.BeginNode(u), W: base, Dep: evidence.WW, By: ByHistory}},
				path...)), true
		}
	}
	return nil, false
}

// baseReasons explains an edge of a constraint's last option. It returns the cycle that shows why the edge's target has
// a later version than the option; dropped explains why the other options are impossible.
func (p *Polygraph) baseReasons(f *Finder, e Edge) (out [][]Edge) {
	s := p.Settled[e.By]
	use := func(x *Edge) bool { return x.By < e.By }
	base := p.Options[s.Option].W
	if u := p.WriteNode(base); e.Dep == evidence.PRW && u >= 0 {
		u = p.BeginNode(u)
		path, ok := f.Path(u, e.To, use)
		if !ok {
			panic("polygraph: a target is later for no reason")
		}
		out = append(out, append([]Edge{{From: e.To, To: u, W: base, Dep: evidence.WW, By: ByHistory}}, path...))
	}
	return out
}

// dropped returns the cycles that show why pruning dropped options of a predicate constraint. Other cycles rest on
// that: they assume that the operation was based on one of the remaining options.
func (p *Polygraph) dropped(f *Finder, c *Based) (out [][]Edge) {
	for o := c.Lo; o < c.Hi; o++ {
		if !p.Options[o].Out {
			continue
		}
		at := p.Options[o].At
		cycles, ok := p.excluded(f, o, func(x *Edge) bool { return x.By < at })
		if !ok {
			panic("polygraph: a dropped option has no reason")
		}
		out = append(out, cycles...)
	}
	return out
}

// baseConflict returns the cycles of a predicate constraint without options. They show why each option was dropped; if
// there were none from the start, they show for each version that fits how time excludes it.
func (p *Polygraph) baseConflict(f *Finder, c *Based) (out [][]Edge) {
	if c.Lo < c.Hi {
		return p.dropped(f, c)
	}
	if c.Read > 0 {
		return nil // the reader and its possible writers are the whole evidence, see Story
	}
	of := int32(slices.IndexFunc(p.Based, func(x Based) bool { return x.Op == c.Op && x.Key == c.Key }))
	bases, others, _ := p.V.Bases(prepass.Miss{Op: c.Op, Key: c.Key})
	for _, b := range bases {
		u := p.WriteNode(b)
		o := uint32(len(p.Options))
		p.Options = append(p.Options, Option{Of: of, W: b, Out: true})
		if u >= 0 && p.Before(c.Node, u) {
			out = append(out, []Edge{{From: u, To: c.Node, W: o, Dep: evidence.PWR, By: ByHistory}, {From: c.Node,
				To: u, W: none, Dep: evidence.RT, By: ByHistory}})
			continue
		}
		for _, w := range others {
			if g := p.WriteNode(w); g >= 0 && (u < 0 || p.Before(u, g)) && p.Before(g, c.Node) {
				out = append(out, []Edge{{From: c.Node, To: g, W: o, Dep: evidence.PRW, By: ByHistory},
					{From: g, To: c.Node, W: none, Dep: evidence.RT, By: ByHistory}})
				break
			}
		}
	}
	return out
}
