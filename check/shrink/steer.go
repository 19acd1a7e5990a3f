package shrink

import (
	"cmp"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/sorts"
)

// maxProofs is the number of an answer's anomalies that are tried.
const maxProofs = 5

// proof has the transactions, keys and predicate operations of an anomaly, in the whole's numbers.
type proof struct {
	txns, keys, preds map[uint32]bool
}

// steer goes directly to the transactions and keys in the evidence of the best answer, as long as that is a smaller
// history.
func (s *search) steer() {
	for s.jump() && !s.stop() {
	}
}

func (s *search) jump() bool {
	for _, p := range s.proofs() {
		for _, plan := range s.plans(p) {
			if before := s.size; s.try(plan) && s.size.Txns < before.Txns {
				return true
			}
		}
	}
	return false
}

// plans returns the parts of the history to try for a proof, smallest first: the operations of its transactions on its
// keys; these, with all writes of its keys that its reads saw or its predicates missed; all operations of its
// transactions; all operations of its transactions and of the writers that these read from; all operations on its keys.
func (s *search) plans(p *proof) []func(st *state) {
	in := func(op uint32) bool { return p.txns[s.w.txnOf[op]] }
	var plans []func(st *state)
	if len(p.keys) > 0 {
		plans = append(plans, s.around(p, in, false), s.around(p, in, true))
	}
	writers := s.writersOf(in)
	plans = append(plans, s.only(in), s.only(func(op uint32) bool { return in(op) || writers[s.w.txnOf[op]] }))
	if len(p.keys) > 0 {
		plans = append(plans, s.around(p, func(uint32) bool { return true }, true))
	}
	return plans
}

// only keeps the operations that keep selects.
func (s *search) only(keep func(op uint32) bool) func(st *state) {
	return func(st *state) {
		for op := range uint32(len(st.op)) {
			if st.op[op] && !keep(op) {
				s.w.take(st, op)
			}
		}
	}
}

// around keeps, of the operations on the keys of a proof, those that in selects, and its predicate operations. If
// writes is set, it also keeps all other writes of these keys; of other predicate writes it keeps only the writes.
func (s *search) around(p *proof, in func(op uint32) bool, writes bool) func(st *state) {
	h, w := s.w.h, s.w
	return func(st *state) {
		for op := range uint32(len(st.op)) {
			if !st.op[op] {
				continue
			}
			switch kind := h.Ops.Kind[op]; {
			case kind == history.PredRead || kind == history.PredWrite:
				if p.preds[op] {
					continue
				}
				v := h.Ops.Ver[op]
				some := false
				for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
					some = some || st.written[j] && p.keys[w.rowKey[j]]
				}
				if !some || !in(op) && !writes {
					w.take(st, op)
					continue
				}
				for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
					if st.matched[j] = false; !p.keys[w.rowKey[j]] {
						w.takeWritten(st, op, j)
					}
				}
				for k := range p.keys {
					st.setBeyond(w.predAt[op], k, h.NumKeys())
				}
			case !p.keys[h.OpKey(op)], !in(op) && (!writes || kind == history.Read || kind == history.ReadList):
				w.take(st, op)
			}
		}
	}
}

// writersOf returns the transactions that wrote what the operations selected by in read.
func (s *search) writersOf(in func(op uint32) bool) map[uint32]bool {
	h, w := s.w.h, s.w
	writers := map[uint32]bool{}
	add := func(v uint32) {
		if v == history.None || w.writeOff[v+1]-w.writeOff[v] > manyWriters {
			return
		}
		for _, x := range w.writers[w.writeOff[v]:w.writeOff[v+1]] {
			writers[w.txnOf[x]] = true
		}
	}
	for op := range uint32(h.NumOps()) {
		if !s.best.op[op] || !in(op) {
			continue
		}
		v := h.Ops.Ver[op]
		switch h.Ops.Kind[op] {
		case history.Read:
			add(v)
		case history.PredRead, history.PredWrite:
			for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
				add(h.Preds.Old[j])
			}
		}
	}
	return writers
}

// proofs returns the proofs of the best answer, fewest transactions first.
func (s *search) proofs() []*proof {
	var out []*proof
	r := s.answer
	few := slice.Numbers[uint32](len(r.Anomalies))
	sorts.Stable(few, func(a, b uint32) int { return cmp.Compare(len(r.Anomalies[a].Txns), len(r.Anomalies[b].Txns)) })
	few = slices.DeleteFunc(few, func(i uint32) bool { return !s.wanted(r.Anomalies[i]) })
	for _, i := range few[:min(len(few), maxProofs)] {
		out = append(out, s.proof(&r.Anomalies[i]))
	}
	if m := r.Mechanisms; m != nil {
		for i := range m.Violations {
			out = append(out, s.named(m.Violations[i].Txns))
		}
	}
	sorts.Stable(out, func(a, b *proof) int { return cmp.Compare(len(a.txns), len(b.txns)) })
	return out[:min(len(out), maxProofs)]
}

func newProof() *proof {
	return &proof{txns: map[uint32]bool{}, keys: map[uint32]bool{}, preds: map[uint32]bool{}}
}

// named returns a proof of which only the transactions' ids are known.
func (s *search) named(ids []int64) *proof {
	p := newProof()
	for t, id := range s.part.h.Txns.ID {
		if slices.Contains(ids, id) {
			p.txns[s.part.txn[t]] = true
		}
	}
	return p
}

func (s *search) proof(a *evidence.Anomaly) *proof {
	p := newProof()
	g := s.answer.H
	items := s.answer.Items // then the answer has other keys and operations
	txn := func(t uint32) {
		if t != history.None {
			p.txns[s.part.txn[t]] = true
		}
	}
	key := func(k uint32) {
		if k != history.None && !items {
			p.keys[s.part.key[k]] = true
		}
	}
	op := func(o uint32) {
		txn(g.TxnOf(o))
		if items {
			return
		}
		if k := g.Ops.Kind[o]; k != history.PredRead && k != history.PredWrite {
			key(g.OpKey(o))
			return
		}
		p.preds[s.part.op[o]] = true
		key(a.Key)
	}
	for _, t := range a.Txns {
		txn(t)
	}
	for _, o := range a.Ops {
		op(o)
	}
	for _, o := range slices.Concat(a.Dead...) {
		op(o)
	}
	for _, e := range a.Edges() {
		txn(e.From)
		txn(e.To)
		txn(e.Writer)
		key(e.Key)
		if e.Predicate() {
			op(e.Op)
		}
	}
	return p
}
