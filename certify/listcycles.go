package certify

import (
	"fmt"
	"slices"

	"isovet/evidence"
	"isovet/history"
)

// shown returns a committed transaction whose list shows From's element and, after it or not at all, To's; if there is
// none, all of unknown outcome that show it. Lists only grow, so From appended first if one of them counts.
func (p *proof) shown(from, to uint32, e evidence.Edge) (by []uint32) {
	if c := p.candidates(history.None, from); len(c) != 1 || c[0] != e.From {
		return nil
	}
	for _, op := range p.x.lists[e.Key] {
		t := p.h.TxnOf(op)
		lo, _ := p.h.TxnOps(t)
		list, ok := others(p.h, op, lo)
		if !ok {
			continue
		}
		// there, what a transaction appends itself it may append without having seen what came before
		if !weak(p.level) {
			list = elems(p.h, p.h.Ops.Ver[op])
		}
		i := slices.Index(list, from)
		if i < 0 {
			continue
		}
		if j := slices.Index(list, to); j >= 0 {
			if c := p.candidates(history.None, to); j < i || len(c) != 1 || c[0] != e.To {
				continue
			}
		}
		if p.h.Txns.Status[t] == history.Committed {
			return []uint32{t}
		}
		by = append(by, t)
	}
	return by
}

// listRW checks an anti-dependency of lists: a list that From read lacks what To appended. Nothing is assumed.
func (p *proof) listRW(needs []Lit, e evidence.Edge, w uint32) ([]Lit, error) {
	h := p.h
	if !weak(p.level) {
		if d, err := p.doubled(e.Key); err != nil {
			return nil, err
		} else if d != nil {
			return p.doubledRW(d, needs, e)
		}
	}
	err := fmt.Errorf("%s does not read the list %s", name(h, e.From), h.KeyString(e.Key))
	for _, op := range listReads(h, e.From, e.Key) { // they differ at read-committed only
		if err = p.lacks(op, e, w); err == nil {
			return needs, nil
		}
	}
	return nil, err
}

// lacks checks it of one list read.
func (p *proof) lacks(op uint32, e evidence.Edge, w uint32) error {
	h := p.h
	lo, _ := h.TxnOps(e.From)
	seen, ok := others(h, op, lo)
	if !ok {
		return fmt.Errorf("the list that %s read does not end with its own appends", name(h, e.From))
	}
	if contains(seen, h.Ops.Ver[w]) {
		return fmt.Errorf("%s read %s, which %s appended", name(h, e.From), h.ValueString(h.Ops.Ver[w]), name(h, e.To))
	}
	if len(seen) == 0 {
		if e.Writer != history.None && e.Writer != h.Init || e.Ver != history.None && e.Ver != h.InitVer[e.Key] {
			return fmt.Errorf("%s read an empty list", name(h, e.From))
		}
		return nil
	}
	if e.Ver != seen[len(seen)-1] {
		return fmt.Errorf("the version is not the last element that %s read", name(h, e.From))
	}
	for _, c := range p.candidates(e.From, e.Ver) {
		if c == e.Writer || c == initial && e.Writer == h.Init {
			return nil
		}
	}
	return fmt.Errorf("the writer named did not append the last element that %s read", name(h, e.From))
}
