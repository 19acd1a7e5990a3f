package certify

import (
	"cmp"
	"fmt"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// cycle checks a cycle and adds its clause.
func (p *proof) cycle(c []evidence.Edge) error {
	if len(c) < 2 {
		return fmt.Errorf("the number of edges is %d; expected at least 2", len(c))
	}
	var needs []Lit
	for i, e := range c {
		next := c[(i+1)%len(c)]
		if e.To != next.From {
			return fmt.Errorf("edge %d ends at transaction index %d, the next begins at %d", i+1, e.To, next.From)
		}
		var err error
		if needs, err = p.edge(needs, e); err != nil {
			if _, ok := err.(*Unsupported); ok {
				return err
			}
			return fmt.Errorf("edge %d (%s): %w", i+1, e.Dep, err)
		}
		if at := p.at(e.To); at.Snapshot() && p.overlaps(e) && p.overlaps(next) {
			return fmt.Errorf("anti-dependencies %d and %d are adjacent, which %s allows", i+1, (i+1)%len(c)+1, at)
		}
	}
	if slices.ContainsFunc(c, func(e evidence.Edge) bool { return anti(e.Dep) && weak(p.at(e.From)) }) {
		if err := p.weakCycle(c); err != nil {
			return err
		}
	}
	p.clause(p.not(needs))
	return nil
}

// overlaps reports whether, under snapshot isolation, an edge only says that From began before To committed. That is so
// for an anti-dependency, unless From writes the key as well: then From committed before To began, because two writers
// of a key do not overlap.
func (p *proof) overlaps(e evidence.Edge) bool {
	if !anti(e.Dep) || int(e.From) >= p.h.NumTxns() {
		return anti(e.Dep)
	}
	w, _ := finalWrite(p.h, e.From, e.Key)
	return w == history.None
}

// edge checks an edge against the history and appends its assumptions.
func (p *proof) edge(needs []Lit, e evidence.Edge) ([]Lit, error) {
	needs, err := p.ends(needs, e)
	if err != nil {
		return nil, err
	}
	switch e.Dep {
	case evidence.SO:
		return needs, p.so(e)
	case evidence.RT:
		return needs, p.rt(e)
	case evidence.WR:
		return p.wr(needs, e)
	case evidence.WW:
		return p.ww(needs, e)
	case evidence.RW:
		return p.rw(needs, e)
	case evidence.PWR, evidence.PRW:
		if p.level.Serial() || p.level.Snapshot() || weak(p.level) && p.level != level.ReadCommitted {
			return p.predicate(needs, e)
		}
	}
	return nil, &Unsupported{fmt.Sprintf("edges of kind %s at level %s", e.Dep, p.level)}
}

// ends checks the transactions at both ends of an edge. For each of unknown outcome it appends the assumption that it
// committed.
func (p *proof) ends(needs []Lit, e evidence.Edge) ([]Lit, error) {
	if n := uint32(p.h.NumTxns()); e.From >= n || e.To >= n || e.From == e.To {
		return nil, fmt.Errorf("an edge leads from transaction index %d to %d; expected two different ones below %d",
			e.From, e.To, n)
	}
	for _, t := range [...]uint32{e.From, e.To} {
		if p.h.Txns.Status[t] == history.Aborted {
			return nil, fmt.Errorf("%s aborted", name(p.h, t))
		}
		needs = p.counts(needs, t)
	}
	if e.To == p.h.Init {
		return nil, fmt.Errorf("%s, the initial one, precedes all others", name(p.h, e.To))
	}
	return needs, nil
}

func (p *proof) so(e evidence.Edge) error {
	if at := p.at(e.To); !at.Sessions() {
		return fmt.Errorf("%s does not demand session order", at)
	}
	if !p.x.sessionBefore(e.From, e.To) {
		return fmt.Errorf("%s is not a committed transaction earlier in the session of %s", name(p.h, e.From),
			name(p.h, e.To))
	}
	return nil
}

func (p *proof) rt(e evidence.Edge) error {
	if at := p.at(e.To); !at.RealTime() {
		return fmt.Errorf("%s does not demand real-time order", at)
	}
	if !p.timeBefore(e.From, e.To) {
		return fmt.Errorf("%s did not end before %s began", name(p.h, e.From), name(p.h, e.To))
	}
	return nil
}

func (p *proof) timeBefore(a, b uint32) bool {
	return a != p.h.Init && b != p.h.Init && history.InTime(endOf(p.h, a), p.h.Start(b), p.skew)
}

// version demands that Ver is a version of Key.
func (p *proof) version(e evidence.Edge) error {
	if int(e.Ver) >= p.h.NumVersions() || p.h.VerKey[e.Ver] != e.Key {
		return fmt.Errorf("version %d is not one of key %d", e.Ver, e.Key)
	}
	return nil
}

func (p *proof) wr(needs []Lit, e evidence.Edge) ([]Lit, error) {
	if err := p.version(e); err != nil {
		return nil, err
	}
	if ops := listReads(p.h, e.To, e.Key); len(ops) > 0 {
		var again error // the error of the proof by a doubled list
		if !weak(p.level) {
			var d *doubledProof
			if d, again = p.doubled(e.Key); d != nil && again == nil {
				var out []Lit
				if out, again = p.doubledWR(d, needs, e); again == nil {
					return out, nil
				}
			}
			// If one transaction alone appended the element, it is the writer, even in a doubled list.
			if c := p.candidates(history.None, e.Ver); again != nil && (len(c) != 1 || c[0] != e.From) {
				return nil, again
			}
		}
		lo, _ := p.h.TxnOps(e.To)
		if !slices.ContainsFunc(ops, func(op uint32) bool {
			seen, _ := others(p.h, op, lo)
			return contains(seen, e.Ver)
		}) {
			return nil, cmp.Or(again, fmt.Errorf("%s did not read it in its list", name(p.h, e.To)))
		}
	} else if !reads(p.h, e.To, e.Ver) {
		return nil, fmt.Errorf("%s did not read %s = %s, or only after its own write", name(p.h, e.To),
			p.h.KeyString(e.Key), p.h.ValueString(e.Ver))
	}
	return p.from(needs, e.To, e.Ver, e.From)
}

func (p *proof) ww(needs []Lit, e evidence.Edge) ([]Lit, error) {
	h := p.h
	if err := p.version(e); err != nil {
		return nil, err
	}
	a, from := finalWrite(h, e.From, e.Key)
	b, to := finalWrite(h, e.To, e.Key)
	if a == history.None || b == history.None {
		return nil, fmt.Errorf("the two transactions do not both write %s", h.KeyString(e.Key))
	}
	if to != e.Ver {
		return nil, fmt.Errorf("%s does not install %s = %s", name(h, e.To), h.KeyString(e.Key), h.ValueString(e.Ver))
	}
	if e.From == h.Init {
		return needs, nil
	}
	if h.Ops.Kind[a] == history.Append {
		var again error
		if !weak(p.level) {
			var d *doubledProof
			if d, again = p.doubled(e.Key); d != nil && again == nil {
				p.link(d, e.From, e.To)
				return p.before(needs, e.From, e.To), nil
			}
		}
		by := p.shown(from, to, e)
		if len(by) > 0 && h.Txns.Status[by[0]] == history.Committed {
			return needs, nil
		}
		if again != nil {
			return nil, again
		}
		before := p.before(nil, e.From, e.To)[0]
		for _, t := range by {
			p.clause(append(p.not(p.counts(nil, t)), before))
		}
	}
	return p.before(needs, e.From, e.To), nil
}

func (p *proof) rw(needs []Lit, e evidence.Edge) ([]Lit, error) {
	h := p.h
	if int(e.Key) >= h.NumKeys() {
		return nil, fmt.Errorf("there is no key index %d: the number of keys is %d", e.Key, h.NumKeys())
	}
	w, _ := finalWrite(h, e.To, e.Key)
	if w == history.None {
		return nil, fmt.Errorf("%s does not write %s", name(h, e.To), h.KeyString(e.Key))
	}
	if e.Writer == e.To || e.Writer == e.From {
		return nil, fmt.Errorf("%s wrote the version read", name(h, e.Writer))
	}
	if h.Ops.Kind[w] == history.Append {
		return p.listRW(needs, e, w)
	}
	if err := p.version(e); err != nil {
		return nil, err
	}
	if !reads(h, e.From, e.Ver) {
		return nil, fmt.Errorf("%s did not read %s = %s, or only after its own write", name(h, e.From),
			h.KeyString(e.Key), h.ValueString(e.Ver))
	}
	needs, err := p.from(needs, e.From, e.Ver, e.Writer)
	if err != nil {
		return nil, err
	}
	if e.Writer == history.None || e.Writer == h.Init {
		return needs, nil
	}
	return p.before(needs, e.Writer, e.To), nil
}

func contains(list []uint32, v uint32) bool { return slices.Contains(list, v) }

func anti(d evidence.Dep) bool { return d == evidence.RW || d == evidence.PRW }
