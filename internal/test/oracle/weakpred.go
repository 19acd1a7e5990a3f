package oracle

import (
	"slices"

	"isovet/history"
)

// readCandidates lists where a transaction may have read a key from, by a read or by a predicate operation:
// transactions as indices into txns, -1 being the initial state.
type readCandidates struct {
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
		if candidates, ok := w.candidates(in); ok {
			if order, ok := w.choose(in, candidates, nil); ok {
				return order, true
			}
		}
	}
	return nil, false
}

// candidates lists the reads of a subset's transactions, those with the fewest explanations first. It returns false if
// one of them contradicts itself.
func (w *world) candidates(in uint32) (out []readCandidates, ok bool) {
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
			s := readCandidates{source: source{t3: i, key: k}}
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
	var sorted []readCandidates
	for n := 0; len(sorted) < len(out); n++ {
		for _, s := range out {
			if len(s.from) == n {
				sorted = append(sorted, s)
			}
		}
	}
	return sorted, true
}

// choose tries every writer of every read. What the axiom demands only grows with the reads, so what no sequence keeps
// is not tried further.
func (w *world) choose(in uint32, left []readCandidates, rf []source) (order []uint32, ok bool) {
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
