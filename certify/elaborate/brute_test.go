package elaborate_test

import (
	"maps"
	"slices"

	"isovet/certify/kernel"
)

// brute says by History.v alone whether a level holds of a history in the kernel's terms: it goes through all orders
// of begins and commits, or of transactions, of those who take part, until one explains every operation. It uses
// nothing of package kernel but how histories are written.
type brute struct {
	l        kernel.Level
	h        *kernel.History
	begun    []bool
	done     []bool
	overtook []map[int]bool // who committed since its begin
	left     int            // steps
}

type cells map[uint32]kernel.Cell

// bruteHolds gives up after some steps, and is then not known.
func bruteHolds(l kernel.Level, h *kernel.History) (holds, known bool) {
	n := len(h.Txns)
	b := &brute{l: l, h: h, begun: make([]bool, n), done: make([]bool, n), overtook: make([]map[int]bool, n),
		left: 300_000}
	ids := map[uint32]bool{}
	for i := range h.Txns {
		if ids[h.Txns[i].ID] {
			return false, false
		}
		ids[h.Txns[i].ID] = true
	}
	holds = b.some(cells(h.Init))
	return holds, holds || b.left > 0
}

// some reports whether some order goes on from here.
func (b *brute) some(s cells) bool {
	if b.left--; b.left < 0 {
		return false
	}
	complete := true
	for i := range b.h.Txns {
		if b.begun[i] != b.done[i] || b.h.Txns[i].Committed && !b.done[i] {
			complete = false
		}
	}
	if complete {
		return true
	}
	for i := range b.h.Txns {
		t := &b.h.Txns[i]
		switch {
		case b.done[i]:
		case !b.begun[i]:
			after, explained := run(t.Ops, s)
			if !explained || !b.mayBegin(i) {
				continue
			}
			b.begun[i], b.overtook[i] = true, map[int]bool{}
			next := s
			if b.l.Serial {
				b.done[i], next = true, after
			}
			if b.some(next) {
				return true
			}
			b.begun[i], b.done[i] = false, false
		default:
			if !b.mayCommit(i) {
				continue
			}
			after, _ := run(t.Ops, s)
			b.done[i] = true
			var told []int
			for j := range b.h.Txns {
				if b.begun[j] && !b.done[j] {
					b.overtook[j][i] = true
					told = append(told, j)
				}
			}
			if b.some(after) {
				return true
			}
			b.done[i] = false
			for _, j := range told {
				delete(b.overtook[j], i)
			}
		}
	}
	return false
}

// mayBegin: nobody who has to precede it is still to commit. Who has to is committed, so it takes part.
func (b *brute) mayBegin(i int) bool {
	u := &b.h.Txns[i]
	for j := range b.h.Txns {
		t := &b.h.Txns[j]
		if j == i || !t.Committed || b.done[j] {
			continue
		}
		if b.l.Sessions && t.Session == u.Session && j < i || b.l.RealTime && !t.NoEnd && t.Ended < u.Began {
			return false
		}
	}
	return true
}

func (b *brute) mayCommit(i int) bool {
	for j := range b.overtook[i] {
		for _, o := range b.h.Txns[i].Ops {
			for _, p := range b.h.Txns[j].Ops {
				if o.Kind >= kernel.Write && p.Kind >= kernel.Write && o.Key == p.Key {
					return false
				}
			}
		}
	}
	return true
}

// run is what operations make of a state, and whether what was seen is what that held.
func run(ops []kernel.Op, s cells) (after cells, explained bool) {
	after, explained = maps.Clone(s), true
	if after == nil {
		after = cells{}
	}
	for _, o := range ops {
		switch o.Kind {
		case kernel.Read:
			explained = explained && slices.Equal(after[o.Key], o.Cell)
		case kernel.Write:
			after[o.Key] = o.Cell
		case kernel.Append:
			after[o.Key] = append(slices.Clone(after[o.Key]), o.Elem)
		case kernel.Search:
			is := func(cs []kernel.Cell, k uint32) bool {
				return slices.ContainsFunc(cs, func(c kernel.Cell) bool { return slices.Equal(c, after[k]) })
			}
			p := o.Match.Pred
			for k, cs := range p.Cells {
				explained = explained && (!is(cs, k) || slices.Contains(o.Match.Keys, k))
			}
			for _, k := range o.Match.Keys {
				explained = explained && (is(p.Cells[k], k) || is(p.Maybe[k], k))
			}
		}
	}
	return after, explained
}
