package hard

import (
	"fmt"
	"math/rand/v2"

	"isovet/history"
)

// MiniFormula returns a history of mini-transactions without unique values (two reads and two writes at most, each
// write after a read of its key) that satisfies serializability, snapshot isolation and the session and strict forms of
// either iff the formula is satisfiable. It stands for the reductions of [MTC] Appendix C, Theorems 6 to 8: the first
// two are quotations there, and the third does not reduce anything as printed (docs/errata.md, M9). Every transaction
// has a session of its own, and all of them overlap in time, so that neither orders anything. The seed shuffles them.
//
// # The construction
//
// A switch is a key that is 0 while it is free, and has two sides. A side takes the key (reads 0, writes 1, or 2 for
// the other side) and gives it back (reads that, writes 0). The value 0 is written again and again; but whoever takes
// the key last gives it back last, so that one side is over before the other begins: the switch is on if side A comes
// first. Between taking and giving back a side does its steps, each of which moves a counter of the side's own by one,
// so that they come in their order. An edge u→v is a private key: the step u moves it from 0 to 1, the step v on to 2.
//
// These are the switches of FromFormula: its writer is the beginning of a side with the steps that begin edges, its
// readers are the steps behind them, at which edges end. That a reader has come before the other writer is that a side
// is over before the other begins. What is known in FromFormula is known here, and no more: within a side nothing that
// begins an edge comes after something at which one ends. So one is cyclic, whatever the switches, iff the other is.
//
// A transaction reads nothing that it does not write, so that whoever overwrites what it has read conflicts with it:
// under snapshot isolation as under serializability one of the two ends before the other begins.
//
// Size: four transactions a variable and ten an occurrence.
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

// miniSwitch is a key that two sides take one after the other.
type miniSwitch struct {
	key   int
	sides [2]miniSide
}

// miniSide is one that takes it: the private keys of the edges that begin and that end at its steps.
type miniSide struct{ begin, end []int }

// minis collects mini-transactions.
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

// add adds the transactions of a switch.
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
