package prepass

import (
	"slices"

	"isovet/history"
)

// A death is that of transaction t, shown by ops as in evidence.Anomaly. ver is the version read that only dead ones
// wrote, if any; none where the transaction contradicts itself.
type death struct {
	t, ver uint32
	ops    []uint32
}

// watch is a read that stands as long as write w's transaction may have committed, or another after it among those of
// the same version.
type watch struct{ t, op, ver, w uint32 }

// bury finds the dead: transactions of unknown outcome, not yet known to count, that contradict themselves, or of which
// a read could only be of dead ones. Each read watches one possible writer and looks for the next when that dies. Cost:
// linear in the reads of such transactions and in the writes that these could be of.
func (p *pass) bury() {
	h, v := p.h, p.v
	mortal := func(t uint32) bool { return h.Txns.Status[t] == history.Unknown && !v.Counts[t] }
	for _, f := range p.internal {
		if mortal(f.t) {
			ops := slices.Clone(f.a.Ops)
			slices.Sort(ops)
			p.die(f.t, none, ops)
		}
	}
	watches := make(map[uint32][]watch)
	look := func(x watch) {
		for ; x.w != none; x.w = p.before(x.w) {
			u := v.WTxn[x.w]
			switch {
			case u == x.t || p.died != nil && p.died[u] > 0:
				continue
			case mortal(u):
				watches[u] = append(watches[u], x)
			}
			return
		}
		p.die(x.t, x.ver, []uint32{x.op})
	}
	for t := range uint32(h.NumTxns()) {
		if !mortal(t) {
			continue
		}
		for i := p.rOff[t]; i < p.rOff[t+1]; i++ {
			if ver := p.rVer[i]; !p.isInitial(ver) {
				look(watch{t, p.rOp[i], ver, p.newest(ver)})
			}
		}
	}
	for i := 0; i < len(p.deaths); i++ {
		for _, x := range watches[p.deaths[i].t] {
			look(x)
		}
	}
}

// die marks t as dead, unless it is.
func (p *pass) die(t, ver uint32, ops []uint32) {
	if p.died == nil {
		p.died = make([]uint32, p.h.NumTxns())
	}
	if p.died[t] == 0 {
		p.deaths = append(p.deaths, death{t, ver, ops})
		p.died[t] = uint32(len(p.deaths))
	}
}

// dead returns what shows that all who could have written the version that t read are dead, for evidence.Anomaly; nil
// if nobody could have.
func (p *pass) dead(t, ver uint32) [][]uint32 {
	if p.died == nil {
		return nil
	}
	v := p.v
	told := make(map[uint32]bool) // deaths by their place
	var places []uint32
	add := func(t, ver uint32) {
		for w := p.newest(ver); w != none; w = p.before(w) {
			if u := v.WTxn[w]; u != t && !told[p.died[u]-1] {
				told[p.died[u]-1] = true
				places = append(places, p.died[u]-1)
			}
		}
	}
	add(t, ver)
	for i := 0; i < len(places); i++ {
		if d := p.deaths[places[i]]; d.ver != none {
			add(d.t, d.ver)
		}
	}
	slices.Sort(places)
	var out [][]uint32
	for _, i := range places {
		out = append(out, p.deaths[i].ops)
	}
	return out
}
