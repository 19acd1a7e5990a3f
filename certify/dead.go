package certify

import (
	"fmt"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// checkDead proves an aborted read whose possible writers are all of unknown outcome, and returns its reader. For each
// of these writers a.Dead shows that it did not commit: it contradicts itself, or it read a value that only earlier
// transactions of a.Dead can have written. By induction none of them committed.
func (p *proof) checkDead(a *evidence.Anomaly) (reader uint32, err error) {
	h, x := p.h, p.x
	if a.Kind != level.G1a || len(a.Ops) != 1 {
		return 0, fmt.Errorf("found %d operations, and transactions that cannot have committed; expected one read "+
			"of an aborted version", len(a.Ops))
	}
	dead := make(map[uint32]bool)
	for _, ops := range a.Dead {
		if len(ops) == 0 || len(ops) > 2 {
			return 0, fmt.Errorf("%d operations show that a transaction cannot have committed; expected a read, or "+
				"two that disagree", len(ops))
		}
		for _, op := range ops {
			if int(op) >= h.NumOps() {
				return 0, fmt.Errorf("there is no operation %d: the number of operations is %d", op, h.NumOps())
			}
		}
		t := h.TxnOf(ops[0])
		if h.Txns.Status[t] != history.Unknown {
			return 0, fmt.Errorf("%s is not of unknown outcome", name(h, t))
		}
		switch {
		case slices.ContainsFunc(ops, func(op uint32) bool { return h.Ops.Kind[op].Predicate() }) &&
			p.contradictsItself(t):
		case len(ops) == 2:
			err = x.disagree(t, ops[0], ops[1], p.at(t))
		default:
			err = x.onlyFrom(ops[0], dead)
		}
		if err != nil {
			return 0, err
		}
		dead[t] = true
	}
	if int(a.Ops[0]) >= h.NumOps() {
		return 0, fmt.Errorf("there is no operation %d: the number of operations is %d", a.Ops[0], h.NumOps())
	}
	reader = h.TxnOf(a.Ops[0])
	if h.Txns.Status[reader] == history.Aborted {
		return 0, fmt.Errorf("%s, the reader, aborted", name(h, reader))
	}
	return reader, x.onlyFrom(a.Ops[0], dead)
}

// disagree demands that the second operation is a later read of t that contradicts the first one on the same key.
func (x *index) disagree(t, first, second uint32, l level.Level) error {
	h := x.h
	if h.TxnOf(second) != t || second <= first || h.Ops.Kind[second] != history.Read ||
		h.OpKey(first) != h.OpKey(second) {
		return fmt.Errorf("operation %d is not a later read of the same transaction and key as operation %d", second,
			first)
	}
	if h.Ops.Ver[first] == h.Ops.Ver[second] {
		return fmt.Errorf("operations %d and %d saw the same version", first, second)
	}
	own, _ := lastWrite(h, t, h.OpKey(first), second)
	switch h.Ops.Kind[first] {
	case history.Write:
		if own == first {
			return nil
		}
	case history.Read:
		if (own == history.None || own < first) && l.Forbids(level.NonRepeatableRead) {
			return nil
		}
	}
	return fmt.Errorf("operation %d does not make operation %d impossible", first, second)
}

// onlyFrom demands that only transactions in dead can have installed the version that op read, or for a predicate
// operation one of the versions that it matched.
func (x *index) onlyFrom(op uint32, dead map[uint32]bool) (err error) {
	h := x.h
	t := h.TxnOf(op)
	if !h.Ops.Kind[op].Predicate() {
		return x.versionOnlyFrom(t, op, h.Ops.Ver[op], dead)
	}
	err = fmt.Errorf("operation %d matched no version of another transaction", op)
	i := h.Ops.Ver[op]
	for r := h.Preds.Off[i]; r < h.Preds.Off[i+1]; r++ {
		if v := h.Preds.Old[r]; v != history.None {
			if err = x.versionOnlyFrom(t, op, v, dead); err == nil {
				return nil
			}
		}
	}
	return err
}

func (x *index) versionOnlyFrom(t, op, v uint32, dead map[uint32]bool) error {
	h := x.h
	if k := h.Ops.Kind[op]; k != history.Read && !h.Ops.Kind[op].Predicate() || !reads(h, t, v) {
		return fmt.Errorf("operation %d did not read a version of another transaction", op)
	}
	for _, c := range x.candidates(t, v) {
		switch {
		case c == initial:
			return fmt.Errorf("%s may have read the initial version", name(h, t))
		case !dead[c]:
			return fmt.Errorf("%s may have read a version of %s", name(h, t), name(h, c))
		}
	}
	return nil
}

// bury finds all transactions of unknown outcome that cannot have committed, by the same induction: they contradict
// themselves, or read a version that only such transactions can have installed. It repeats this until it finds no more.
// Cost: for each round, the reads of the transactions of unknown outcome; few rounds suffice if the file is in order.
func (p *proof) bury() {
	if !p.x.unknown {
		return
	}
	p.x.dead = make(map[uint32]bool)
	for more := true; more; {
		more = false
		for t := range uint32(p.h.NumTxns()) {
			if p.h.Txns.Status[t] != history.Unknown || p.x.dead[t] {
				continue
			}
			dead := p.contradictsItself(t)
			readsOf(p.h, t, func(v uint32) { dead = dead || len(p.candidates(t, v)) == 0 })
			if dead {
				p.x.dead[t] = true
				more = true
			}
		}
	}
}

// candidates returns the possible writers of v, as reader saw it, without those that cannot have committed.
func (p *proof) candidates(reader, v uint32) []uint32 {
	return slices.DeleteFunc(p.x.candidates(reader, v), func(w uint32) bool { return w != initial && p.x.dead[w] })
}
