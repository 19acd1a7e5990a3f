package oracle

import (
	"slices"

	"isovet/history"
)

// sight is what a transaction found of a key that it read, or that a predicate operation of it ranged over: a version
// from one of these transactions, indices into txns, -1 being the initial state.
type sight struct {
	source
	from []int
}

// weakPredicates is weak for registers with predicate operations, at read-atomic and causal: a predicate operation
// reads every key, a row that it matched at a known version from who installed that, any other from a transaction (or
// the initial state) whose version agrees with what it says of the row. A transaction reads a key from one writer: of
// two each would be visible, and by the axiom before the other.
func (w *world) weakPredicates() (order []uint32, ok bool) {
	for in := range uint32(1) << len(w.txns) {
		if in&w.sure != w.sure {
			continue
		}
		if sights, ok := w.sights(in); ok {
			if order, ok := w.choose(in, sights, nil); ok {
				return order, true
			}
		}
	}
	return nil, false
}

// sights lists what the transactions of a subset found, those with the fewest explanations first; false if one of them
// contradicts itself.
func (w *world) sights(in uint32) (out []sight, ok bool) {
	h := w.h
	initial := w.initial()
	for i, t := range w.txns {
		if in>>i&1 == 0 {
			continue
		}
		f := w.look(t.id)
		if f.wrong {
			return nil, false
		}
		for k := range uint32(h.NumKeys()) {
			asks := f.asks[k]
			if len(asks) == 0 {
				continue
			}
			s := sight{source: source{t3: i, key: k}}
			offer := func(u int, v uint32) {
				if !slices.ContainsFunc(asks, func(d demand) bool { return !w.meets(k, v, d) }) {
					s.from = append(s.from, u)
				}
			}
			offer(-1, initial.reg[k])
			for u := range w.txns {
				if v := w.installs(u, k); u != i && in>>u&1 == 1 && v != history.None {
					offer(u, v)
				}
			}
			out = append(out, s)
		}
	}
	var sorted []sight
	for n := 0; len(sorted) < len(out); n++ {
		for _, s := range out {
			if len(s.from) == n {
				sorted = append(sorted, s)
			}
		}
	}
	return sorted, true
}

// choose tries every writer of every sight. What the axiom demands only grows with the reads, so what no sequence keeps
// is not tried further.
func (w *world) choose(in uint32, left []sight, rf []source) (order []uint32, ok bool) {
	if order, ok = w.commitOrder(in, rf); !ok || len(left) == 0 {
		return order, ok
	}
	r := left[0].source
	for _, r.t1 = range left[0].from {
		if order, ok = w.choose(in, left[1:], append(rf[:len(rf):len(rf)], r)); ok {
			return order, true
		}
	}
	return nil, false
}
