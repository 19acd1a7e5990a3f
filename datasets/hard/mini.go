package hard

import (
	"fmt"
	"math/rand/v2"

	"isovet/history"
)

// MiniFormula returns a history of mini-transactions without unique values (at most two reads and two writes, each
// write after a read of its key). It satisfies serializability, snapshot isolation and the session and strict forms of
// both iff the formula is satisfiable. It replaces the reductions in [MTC] Appendix C, Theorems 6 to 8: the first two
// are only cited there, and the third, as printed, is no reduction (docs/errata.md, M9). Every transaction has its own
// session, and all overlap in time, so that neither orders any. The seed shuffles them.
//
// # The construction
//
// A switch is a key with two sides, which is 0 while it is free. A side takes the key (reads 0, writes 1, or 2 for the
// other side) and releases it (reads that value, writes 0). The value 0 is written repeatedly; but the last side to
// take the key is the last to release it, so that one side ends before the other begins. The switch is on if side A
// comes first. Between taking and releasing the key a side does its steps. Each step increments a counter of the side,
// which fixes their order. An edge u→v is a key of its own: step u changes it from 0 to 1, step v from 1 to 2.
//
// These switches correspond to those of FromFormula. Its writer is here the beginning of a side, with the steps at
// which edges begin; its readers are the later steps, at which edges end. "A reader precedes the other writer" becomes
// "a side ends before the other begins". The known edges are the same, and no more: within a side, no step that begins
// an edge follows one that ends an edge. So for every setting of the switches one graph has a cycle iff the other has.
//
// A transaction reads only keys that it writes, so that a transaction that overwrites one of its reads conflicts with
// it: under snapshot isolation, as under serializability, one of the two ends before the other begins.
//
// Size: four transactions for each variable and ten for each occurrence of a literal.
func MiniFormula(f Formula, seed uint64) (*history.History, error) {
	m := minis{}
	vars := make([]*miniSwitch, f.Vars)
	for v := range vars {
		vars[v] = m.newSwitch()
	}
	all := append([]*miniSwitch(nil), vars...)
	for i, c := range f.Clauses {
		if len(c) == 0 {
			return nil, fmt.Errorf("clause %d is empty; expected at least one literal", i+1)
		}
		copies := make([]*miniSwitch, len(c))
		for j, l := range c {
			v := max(l, -l)
			if v < 1 || v > f.Vars {
				return nil, fmt.Errorf("clause %d has literal %d; expected a variable from 1 to %d", i+1, l, f.Vars)
			}
			on, off := &vars[v-1].sides[0], &vars[v-1].sides[1]
			if l < 0 {
				on, off = off, on
			}
			copies[j] = m.newSwitch()
			m.edge(on, &copies[j].sides[0])
			m.edge(&copies[j].sides[1], off)
		}
		all = append(all, copies...)
		for j := range copies {
			m.edge(&copies[j].sides[0], &copies[(j+1)%len(copies)].sides[1])
		}
	}
	for _, s := range all {
		m.add(s)
	}
	return m.build(seed, fmt.Sprintf("mini-sat-%d-%d", f.Vars, len(f.Clauses)))
}

// miniSwitch is a key that two sides take, one after the other.
type miniSwitch struct {
	key   int
	sides [2]miniSide
}

// miniSide is a side of a switch: the keys of the edges that begin and that end at its steps.
type miniSide struct{ begin, end []int }

type minis struct {
	keys int
	txns [][]miniMove
}

// miniMove reads a value of a key and writes another.
type miniMove struct {
	key      int
	from, to int64
}

func (m *minis) newKey() int {
	m.keys++
	return m.keys - 1
}

func (m *minis) newSwitch() *miniSwitch { return &miniSwitch{key: m.newKey()} }

func (m *minis) edge(from, to *miniSide) {
	k := m.newKey()
	from.begin, to.end = append(from.begin, k), append(to.end, k)
}

func (m *minis) add(s *miniSwitch) {
	for i, side := range s.sides {
		counter, at, mine := m.newKey(), int64(0), int64(i+1)
		step := func(key int, from, to int64) {
			m.txns = append(m.txns, []miniMove{{counter, at, at + 1}, {key, from, to}})
			at++
		}
		step(s.key, 0, mine)
		for _, k := range side.begin {
			step(k, 0, 1)
		}
		for _, k := range side.end {
			step(k, 1, 2)
		}
		step(s.key, mine, 0)
	}
}

func (m *minis) build(seed uint64, name string) (*history.History, error) {
	rng := rand.New(rand.NewPCG(seed, 0x6d696e69))
	b := history.NewBuilder()
	b.Meta.Name, b.Initial = name, history.IntValue(0)
	for i, t := range rng.Perm(len(m.txns)) {
		for _, v := range m.txns[t] {
			k := b.Key(history.IntValue(int64(v.key)))
			b.Read(k, history.IntValue(v.from))
			b.Write(k, history.IntValue(v.to))
		}
		head := history.NewTxnHead()
		head.Session, head.HasSess = int64(i), true
		head.Start, head.End = int64(i), int64(len(m.txns)+i)
		b.EndTxn(head)
	}
	return b.Build()
}
