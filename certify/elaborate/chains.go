package elaborate

import (
	"encoding/binary"

	"isovet/certify/kernel"
)

// chains makes the steps about lists whose elements do not show their appenders: an element was appended more than
// once, was there at first too, or was seen twice. If the assignment names the appender of the last element that a
// transaction saw, then that appender saw the rest of the list. A step follows this chain back, one appender after the
// other.
type chains struct {
	*strongRefuter
	followed map[uint32]bool     // list → such a list, or a transaction of unknown outcome appended to it
	made     map[string]bool     // steps made: reader, key and the chain of appenders
	froms    map[access][]uint32 // the writers whose version the transaction may have seen
}

// longest bounds the chain of appenders: a step names each of them.
const longest = 1 << 7

func newChains(r *strongRefuter) *chains {
	c := &chains{strongRefuter: r, followed: map[uint32]bool{}, made: map[string]bool{}, froms: map[access][]uint32{}}
	for k, writers := range r.writers {
		if !r.isList(k - 1) {
			continue
		}
		there := map[uint32]bool{}
		for _, e := range r.h.Init[k] {
			there[e] = true
		}
		for _, w := range writers {
			c.followed[k] = c.followed[k] || !w.Committed
			for i := range w.Ops {
				if o := &w.Ops[i]; o.Kind == kernel.Append && o.Key == k {
					c.followed[k] = c.followed[k] || there[o.Elem]
					there[o.Elem] = true
				}
			}
		}
	}
	for i := range r.h.Txns {
		for j := range r.h.Txns[i].Ops {
			if o := &r.h.Txns[i].Ops[j]; o.Kind == kernel.Read && len(o.Cell) > 1 && !c.followed[o.Key] {
				there := make(map[uint32]bool, len(o.Cell))
				for _, e := range o.Cell {
					c.followed[o.Key] = c.followed[o.Key] || there[e]
					there[e] = true
				}
			}
		}
	}
	return c
}

// next returns steps for the current assignment that follow lists further back than the steps made so far.
func (c *chains) next() (steps []kernel.Step) {
	if len(c.followed) == 0 {
		return nil
	}
	sees := map[access]uint32{}
	for _, l := range c.Trail() {
		if a := c.atoms[l/2]; l&1 == 0 && a.Kind == kernel.Reads && c.followed[a.K] {
			sees[access{a.T, a.K}] = a.W
		}
	}
	for _, l := range c.Trail() {
		a := c.atoms[l/2]
		if l&1 == 1 || a.Kind != kernel.Reads || a.W == 0 || !c.followed[a.K] {
			continue
		}
		if _, seen := kernel.Observed(a.K, c.k.Txn(a.T).Ops); !seen {
			continue
		}
		name := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(a.T)), uint64(a.K))
		var via []uint32
		for w := a.W; w != 0 && len(via) < longest; w = sees[access{w, a.K}] {
			via = append(via, w)
			name = binary.AppendUvarint(name, uint64(w))
			if !c.made[string(name)] {
				c.made[string(name)] = true
				steps = append(steps, kernel.Step{Kind: kernel.Source, T: a.T, K: a.K, Via: via})
				break
			}
		}
	}
	return steps
}

// add adds a step of next, and the steps that say that a transaction sees only one version.
func (c *chains) add(s kernel.Step) bool {
	cl, ok := c.k.Clause(&s, nil)
	if !ok {
		return false
	}
	c.strongRefuter.add(s, cl)
	for _, l := range cl {
		if l.Kind != kernel.Reads {
			continue
		}
		c.takes(l)
		a := access{l.T, l.K}
		known := false
		for _, w := range c.froms[a] {
			known = known || w == l.W
		}
		if known || len(c.froms[a]) > maxSources {
			continue
		}
		for _, w := range c.froms[a] {
			c.step(kernel.Step{Kind: kernel.Once, T: l.T, K: l.K, W: w, U: l.W})
		}
		c.froms[a] = append(c.froms[a], l.W)
	}
	return true
}
