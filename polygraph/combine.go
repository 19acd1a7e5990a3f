package polygraph

import (
	"slices"

	"isovet/evidence"
	"isovet/internal/room"
)

// Combine makes choices between chains of writes rather than between writes: a transaction that reads a version and
// overwrites it is that version's immediate successor, so that consecutive read-modify-writes form a chain that no
// other write can enter. Readers inside a chain precede the next write of it: known edges. The chain that begins at the
// initial version precedes all others of its key. Constraints between the same two chains are one choice
// (coalescing). Some keys are not combined, since Based needs the order of their writes: keys with a read of several
// possible writers, with a predicate constraint, or accessed by a transaction that may not have committed. So
// Predicates must be called before.
//
// Source:  [Cobra] §4.2.1 "Combining writes" and §4.2.2 "Coalescing constraints". Keeps:   an acyclic completion exists
// before iff after. Two read-modify-writes of one version (a lost update) give a cycle of known edges. Cost:    linear,
// and quadratic in the chains of a key. The error is a *room.ShortError: the choices do not fit into memory.
func (p *Polygraph) Combine() error {
	v := p.V
	const noWrite = none
	next := slices.Repeat([]uint32{noWrite}, len(v.WKey)) // the write that replaced this one in a read-modify-write
	inner := make([]bool, len(v.WKey))                    // it has a predecessor in its chain
	alone := p.uncombined()
	mine := make([]uint32, v.H.NumKeys())
	stamp := make([]int32, v.H.NumKeys())
	for i := 0; i < p.N; i += p.step() {
		t := p.Txn[i]
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			k := v.WKey[w]
			mine[k], stamp[k] = w, int32(i)+1
		}
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			a := v.RW[r]
			if a == none {
				continue
			}
			k := v.WKey[a]
			if stamp[k] != int32(i)+1 || alone != nil && alone[k] {
				continue
			}
			b := mine[k]
			if next[a] == noWrite {
				next[a], inner[b] = b, true
			}
			for _, x := range p.Readers(a) {
				if x != int32(i) && !v.Initial(a) { // readers of the initial version precede every writer already
					p.Known = append(p.Known, Edge{From: x, To: p.CommitNode(int32(i)), W: a, Dep: evidence.RW,
						By: ByHistory})
				}
			}
		}
	}
	type chain struct{ head, tail uint32 }
	var chains []chain
	pairs, checked := 0.0, float64(1<<22)
	for k := range uint32(v.H.NumKeys()) {
		chains = chains[:0]
		first := k
		for next[first] != noWrite {
			first = next[first]
		}
		for _, w := range p.Writers(k) {
			if inner[w] {
				continue
			}
			c := chain{w, w}
			for next[c.tail] != noWrite {
				c.tail = next[c.tail]
			}
			chains = append(chains, c)
			if first != k {
				p.Side(first, w, func(e Edge) bool {
					e.By = ByHistory
					p.Known = append(p.Known, e)
					return true
				})
			}
		}
		if pairs += float64(len(chains)) * float64(len(chains)-1) / 2; pairs > checked {
			checked = 2 * pairs
			if err := room.For(4 * 16 * pairs); err != nil { // twice while the list grows
				return err
			}
		}
		for i, a := range chains {
			for _, b := range chains[i+1:] {
				p.Choices = append(p.Choices, Choice{a.tail, b.tail, a.head, b.head})
			}
		}
	}
	return nil
}

// uncombined returns the keys that Combine does not combine; nil: none.
func (p *Polygraph) uncombined() []bool {
	v := p.V
	if len(v.Amb) == 0 && len(p.Based) == 0 {
		return nil
	}
	alone := make([]bool, v.H.NumKeys())
	for i := range p.Based {
		alone[p.Based[i].Key] = true
	}
	for _, r := range v.Amb {
		alone[v.RKey[r]] = true
	}
	if p.unsure == nil {
		return alone
	}
	for _, t := range v.Open {
		for _, k := range v.RKey[v.ROff[t]:v.ROff[t+1]] {
			alone[k] = true
		}
		for _, k := range v.WKey[v.WOff[t]:v.WOff[t+1]] {
			alone[k] = true
		}
	}
	return alone
}
