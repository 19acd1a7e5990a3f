package oracle

import (
	"slices"

	"isovet/history"
	"isovet/predicates"
)

// demand is what a transaction's operation asks of the version that it found of a key.
type demand struct {
	exact bool
	ver   uint32           // if exact: this version; None: the initial one, which no operation names
	pred  uint32           // else: predicate pred of history.Preds
	not   predicates.Truth // must not have this truth of it
}

// found is what a transaction asks of the versions that it finds of each key, and what it installs.
type found struct {
	asks     map[uint32][]demand
	installs map[uint32]uint32
	wrong    bool // it disagrees with itself
}

// look goes through a transaction's operations.
func (w *world) look(t uint32) found {
	h := w.h
	f := found{asks: map[uint32][]demand{}, installs: map[uint32]uint32{}}
	ask := func(k uint32, d demand) {
		if own, ok := f.installs[k]; !ok {
			f.asks[k] = append(f.asks[k], d)
		} else if !w.meets(k, own, d) {
			f.wrong = true
		}
	}
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		at := h.Ops.Ver[op]
		switch h.Ops.Kind[op] {
		case history.Read:
			ask(h.VerKey[at], demand{exact: true, ver: at})
		case history.Write:
			f.installs[h.VerKey[at]] = at
		case history.PredRead, history.PredWrite:
			rows := predRows(h, op)
			for k := range uint32(h.NumKeys()) {
				matched := slices.ContainsFunc(rows, func(r predRow) bool { return r.key == k })
				not := predicates.True
				if matched {
					not = predicates.False
				}
				ask(k, demand{pred: at, not: not})
			}
			for _, r := range rows {
				if r.before != history.None {
					ask(r.key, demand{exact: true, ver: r.before})
				}
			}
			for _, r := range rows {
				if r.after != history.None {
					f.installs[r.key] = r.after
				}
			}
		}
	}
	return f
}

// meets reports whether version v of k is what a demand asks for.
func (w *world) meets(k, v uint32, d demand) bool {
	if d.exact {
		return v == d.ver
	}
	return w.of(w.h, d.pred, k, v) != d.not
}

// acyclic is the second implementation for histories with predicates, without lists: some world's graph has no cycle. A
// predicate operation is a read of every key, from any writer whose version agrees with all that the transaction found
// of that key (errata V5, V6, V16).
func (w *world) acyclic() bool {
	h := w.h
	x := &explainer{world: w, txnOf: map[uint32]int{}, pair: map[[2]uint32]lit{}, count: map[uint32]lit{}}
	final := map[uint32]map[uint32]uint32{}
	by := map[uint32]found{}
	for i, t := range w.txns {
		x.txnOf[t.id] = i
		f := w.look(t.id)
		by[t.id] = f
		for k, v := range f.installs {
			if final[k] == nil {
				final[k] = map[uint32]uint32{}
			}
			final[k][t.id] = v
		}
	}
	x.orders(final)
	for _, t := range w.txns {
		f := by[t.id]
		if f.wrong {
			x.exclude(t.id)
			continue
		}
		for k := range uint32(h.NumKeys()) {
			asks := f.asks[k]
			fits := func(v uint32) bool {
				return !slices.ContainsFunc(asks, func(d demand) bool { return !w.meets(k, v, d) })
			}
			all := true
			var from []uint32
			offer := func(writer, v uint32) {
				if fits(v) {
					from = append(from, writer)
				} else {
					all = false
				}
			}
			offer(h.Init, h.InitVer[k])
			for _, u := range w.txns {
				if v, writes := final[k][u.id]; writes && u.id != t.id {
					offer(u.id, v)
				}
			}
			switch {
			case all: // whatever it found is right
			case len(from) == 0:
				x.exclude(t.id)
			default:
				x.registerRead(t.id, k, history.None, from, final[k])
			}
		}
	}
	for clauses := x.base; ; {
		model := solve(x.n, clauses)
		if model == nil {
			return false
		}
		c := x.cycle(model)
		if c == nil {
			return true
		}
		var clause []lit
		for _, a := range c {
			for _, l := range a.needs {
				clause = append(clause, -l)
			}
		}
		clauses = append(clauses, clause)
	}
}

// exclude says that a transaction does not count.
func (x *explainer) exclude(t uint32) {
	clause := []lit{}
	for _, c := range x.counts(t) {
		clause = append(clause, -c)
	}
	x.base = append(x.base, clause)
}
