package prepass

import (
	"slices"

	"isovet/history"
	"isovet/internal/slice"
)

// death records that transaction t is dead, as ops show (see evidence.Anomaly). ver is the version that t read and only
// dead transactions wrote, or none if t contradicts itself.
type death struct {
	t, ver uint32
	ops    []uint32
}

// watch is a read that keeps its transaction alive while the transaction of write w, a possible writer, may have
// committed.
type watch struct{ t, op, ver, w uint32 }

// bury finds the dead: transactions of unknown outcome, not known to count, that contradict themselves, or have a read
// that only dead ones could explain. Each read watches one possible writer, and looks for the next when that one dies.
// Cost: linear in the reads of such transactions and their possible writers.
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

// die marks t as dead, once.
func (p *pass) die(t, ver uint32, ops []uint32) {
	if p.died == nil {
		p.died = make([]uint32, p.h.NumTxns())
	}
	if p.died[t] == 0 {
		p.deaths = append(p.deaths, death{t, ver, ops})
		p.died[t] = uint32(len(p.deaths))
	}
}

// dead returns the operations which show that all possible writers of the version that t read are dead, as in
// evidence.Anomaly. It returns nil if there are no such writers.
func (p *pass) dead(t, ver uint32) [][]uint32 {
	if p.died == nil {
		return nil
	}
	v := p.v
	told := make(map[uint32]bool) // deaths that were told, by their place
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
	return slice.Map(places, func(i uint32) []uint32 { return p.deaths[i].ops })
}
