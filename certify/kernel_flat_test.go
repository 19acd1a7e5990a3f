package certify_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/certify/kernel"
	"isovet/internal/test/must"
)

const readKind, writeKind uint8 = 0, 1

// registers is a tiny history of registers, an order of begins and commits that explains it, but for session order and
// real time perhaps, and its operations in columns. In a serial order each commit follows its begin.
type registers struct {
	h       kernel.History
	c       kernel.Columns[uint8]
	events  []kernel.Event
	keys    uint32
	version map[[2]uint32]uint32
}

func newRegisters(rng *rand.Rand, serial bool) *registers {
	x := &registers{keys: 1 + rng.Uint32N(3), version: map[[2]uint32]uint32{}}
	x.h.Init = map[uint32]kernel.Cell{}
	n := 1 + rng.Uint32N(6)
	held := make([]uint32, x.keys+1)
	for k := uint32(1); k <= x.keys; k++ {
		if held[k] = rng.Uint32N(3); held[k] != 0 {
			x.h.Init[k] = kernel.Cell{held[k]}
		}
	}
	cell := func(v uint32) kernel.Cell {
		if v == 0 {
			return nil
		}
		return kernel.Cell{v}
	}
	x.h.Txns = make([]kernel.Txn, n)
	waiting, open := rng.Perm(int(n)), []int{}
	wrote := make([]map[uint32]uint32, n)
	since := make([]uint32, n) // how many had committed when it began
	var done []int
	for len(waiting)+len(open) > 0 {
		if len(waiting) > 0 && (len(open) == 0 || !serial && rng.IntN(2) == 0) {
			i := waiting[0]
			waiting, open = waiting[1:], append(open, i)
			wrote[i], since[i] = map[uint32]uint32{}, uint32(len(done))
			t := &x.h.Txns[i]
			*t = kernel.Txn{ID: uint32(i) + 1, Session: 1 + rng.Uint32N(2), Committed: rng.IntN(6) > 0}
			t.Began = uint64(len(x.events)) + rng.Uint64N(3)
			for range rng.IntN(5) {
				k := 1 + rng.Uint32N(x.keys)
				if rng.IntN(2) == 0 {
					v, own := wrote[i][k]
					if !own {
						v = held[k]
					}
					if rng.IntN(25) == 0 {
						v = rng.Uint32N(4)
					}
					t.Ops = append(t.Ops, kernel.Op{Kind: kernel.Read, Key: k, Cell: cell(v)})
					continue
				}
				wrote[i][k] = rng.Uint32N(4)
				t.Ops = append(t.Ops, kernel.Op{Kind: kernel.Write, Key: k, Cell: cell(wrote[i][k])})
			}
			x.events = append(x.events, kernel.Event{Txn: t.ID})
			continue
		}
		at := rng.IntN(len(open))
		i := open[at]
		open = slices.Delete(open, at, at+1)
		t := &x.h.Txns[i]
		for k := uint32(1); k <= x.keys; k++ { // who would overwrite what it has not seen does not write, mostly
			for _, other := range done[since[i]:] {
				_, mine := wrote[i][k]
				if _, both := wrote[other][k]; mine && both && rng.IntN(8) > 0 {
					t.Ops = slices.DeleteFunc(t.Ops, func(o kernel.Op) bool { return o.Key == k })
					delete(wrote[i], k)
					break
				}
			}
		}
		for k, v := range wrote[i] {
			held[k] = v
		}
		done = append(done, i)
		if t.NoEnd = !t.Committed || rng.IntN(6) == 0; !t.NoEnd {
			t.Ended = max(t.Began, uint64(len(x.events)))
		}
		x.events = append(x.events, kernel.Event{Commit: true, Txn: t.ID})
	}
	x.columns()
	return x
}

func (x *registers) columns() {
	c := &x.c
	c.Off = append(c.Off, 0)
	for i := range x.h.Txns {
		for _, o := range x.h.Txns[i].Ops {
			v := [2]uint32{o.Key - 1, 0}
			if len(o.Cell) > 0 {
				v[1] = o.Cell[0]
			}
			n, there := x.version[v]
			if !there {
				n = uint32(len(c.Keys))
				x.version[v] = n
				c.Keys, c.Held = append(c.Keys, v[0]), append(c.Held, v[1])
			}
			kind := readKind
			if o.Kind == kernel.Write {
				kind = writeKind
			}
			c.Ver, c.Kind = append(c.Ver, n), append(c.Kind, kind)
		}
		c.Off = append(c.Off, uint32(len(c.Ver)))
	}
}

// broken changes an order in a place, or not.
func broken[E any](rng *rand.Rand, order []E, stranger E) []E {
	order = slices.Clone(order)
	i, j := rng.IntN(len(order)), rng.IntN(len(order))
	switch rng.IntN(8) {
	case 0:
		order[i], order[j] = order[j], order[i]
	case 1:
		order = slices.Delete(order, i, i+1)
	case 2:
		order[i] = order[j]
	case 3:
		order = append(order, order[i])
	case 4:
		order = slices.Insert(order, i, stranger)
	case 5:
		rng.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
	}
	return order
}

// TestKernelFlat: what is reported of an order by the columns of a history is what is reported by its operations one by
// one, the place included, of orders that hold and of others.
func TestKernelFlat(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	outcomes := map[bool]map[kernel.Outcome]int{true: {}, false: {}}
	for seed := range 20_000 {
		serial := seed%2 == 0
		x := newRegisters(rng, serial)
		l := kernel.Level{Serial: serial, Sessions: rng.IntN(2) == 0, RealTime: rng.IntN(3) == 0}
		h := kernel.All(&x.h)
		var plain, flat kernel.Answer
		if serial {
			var order []uint32
			for _, e := range x.events {
				if !e.Commit {
					order = append(order, e.Txn)
				}
			}
			order = broken(rng, order, uint32(len(x.h.Txns))+1+rng.Uint32N(2))
			plain, flat = kernel.CheckSerial(l, h, order), kernel.FlatSerial(l, h, &x.c, order)
		} else {
			order := broken(rng, x.events, kernel.Event{Commit: rng.IntN(2) == 0, Txn: rng.Uint32N(9)})
			plain, flat = kernel.CheckSnapshot(l, h, order), kernel.FlatSnapshot(l, h, &x.c, order)
		}
		must.Hold(t, plain == flat, "seed %d, %+v: %+v, by columns %+v\n%+v", seed, l, plain, flat, x)
		outcomes[serial][plain.Outcome]++
	}
	for serial, n := range outcomes {
		for o, least := range map[kernel.Outcome]int{kernel.Proved: 1000, kernel.FailsAt: 1000, kernel.FailsFor: 300} {
			if n[o] < least {
				t.Errorf("serial %t: outcome %d only %d times", serial, o, n[o])
			}
		}
	}
	t.Log(outcomes)
	for _, l := range []kernel.Level{{Serial: true}, {}} { // each at the other's levels
		x := newRegisters(rng, true)
		h, other := kernel.All(&x.h), kernel.Level{Serial: !l.Serial}
		if l.Serial && kernel.FlatSerial(other, h, &x.c, nil) != kernel.CheckSerial(other, h, nil) ||
			!l.Serial && kernel.FlatSnapshot(other, h, &x.c, nil) != kernel.CheckSnapshot(other, h, nil) {
			t.Errorf("the answers at a level of the other kind differ")
		}
	}
}
