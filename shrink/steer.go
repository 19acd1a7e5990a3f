package shrink

import (
	"cmp"
	"slices"

	"isovet/evidence"
	"isovet/history"
)

// maxProofs is how many anomalies of an answer are tried.
const maxProofs = 5

// proof is what an anomaly rests on, in the whole's numbers.
type proof struct {
	txns, keys, preds map[uint32]bool
}

// steer jumps to what the evidence of the best answer names, as long as that makes it smaller.
func (s *search) steer() {
	for s.jump() && !s.stop() {
	}
}

func (s *search) jump() bool {
	for _, p := range s.proofs() {
		for _, keep := range s.plans(p) {
			before := s.size
			if s.try(func(st *state) { s.only(st, keep) }) && s.size.Txns < before.Txns {
				return true
			}
		}
	}
	return false
}

// only takes away the operations that keep does not.
func (s *search) only(st *state, keep func(op uint32) bool) {
	for op := range uint32(len(st.op)) {
		if st.op[op] && !keep(op) {
			s.w.take(st, op)
		}
	}
}

// plans are what to keep for a proof, the least first: the operations of its transactions on its keys; with them all
// writers of its keys, which its predicates may have missed; all that its transactions did; with those from whom they
// read; all that was done to its keys.
func (s *search) plans(p *proof) []func(op uint32) bool {
	h, w := s.w.h, s.w
	on := func(op uint32) bool {
		switch h.Ops.Kind[op] {
		case history.PredRead, history.PredWrite:
			return p.preds[op]
		}
		return p.keys[h.OpKey(op)]
	}
	in := func(op uint32) bool { return p.txns[w.txnOf[op]] }
	plans := []func(op uint32) bool{func(op uint32) bool { return in(op) && on(op) }}
	if len(p.keys) == 0 {
		plans = nil
	}
	if len(p.preds) > 0 {
		plans = append(plans, func(op uint32) bool {
			k := h.Ops.Kind[op]
			return on(op) && (in(op) || k == history.Write || k == history.PredWrite)
		}, func(op uint32) bool { return in(op) || on(op) })
	}
	writers := map[uint32]bool{}
	for op := range uint32(h.NumOps()) {
		if !s.best.op[op] || !in(op) {
			continue
		}
		v := h.Ops.Ver[op]
		add := func(v uint32) {
			if v == history.None || w.writeOff[v+1]-w.writeOff[v] > manyWriters {
				return
			}
			for _, x := range w.writers[w.writeOff[v]:w.writeOff[v+1]] {
				writers[w.txnOf[x]] = true
			}
		}
		switch h.Ops.Kind[op] {
		case history.Read:
			add(v)
		case history.PredRead, history.PredWrite:
			for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
				add(h.Preds.Old[j])
			}
		}
	}
	return append(plans, in, func(op uint32) bool { return in(op) || writers[w.txnOf[op]] }, func(op uint32) bool {
		return len(p.keys) > 0 && on(op)
	})
}

// proofs are those of the best answer, those of fewest transactions first.
func (s *search) proofs() []*proof {
	var out []*proof
	r := s.answer
	for i := range r.Anomalies {
		out = append(out, s.proof(&r.Anomalies[i]))
	}
	if m := r.Mechanisms; m != nil {
		for i := range m.Violations {
			out = append(out, s.named(m.Violations[i].Txns))
		}
	}
	slices.SortStableFunc(out, func(a, b *proof) int { return cmp.Compare(len(a.txns), len(b.txns)) })
	return out[:min(len(out), maxProofs)]
}

func newProof() *proof {
	return &proof{txns: map[uint32]bool{}, keys: map[uint32]bool{}, preds: map[uint32]bool{}}
}

// named is a proof of which only the transactions' ids are known.
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
	items := s.answer.Items // then keys and operations are others
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
		t := g.TxnOf(o)
		txn(t)
		if items {
			return
		}
		if k := g.Ops.Kind[o]; k != history.PredRead && k != history.PredWrite {
			key(g.OpKey(o))
			return
		}
		for _, w := range s.w.preds { // those of the transaction will do
			p.preds[w] = p.preds[w] || s.w.txnOf[w] == s.part.txn[t]
		}
		key(a.Key)
	}
	for _, t := range a.Txns {
		txn(t)
	}
	for _, o := range a.Ops {
		op(o)
	}
	for _, d := range a.Dead {
		for _, o := range d {
			op(o)
		}
	}
	for _, c := range append([][]evidence.Edge{a.Cycle}, a.Cycles...) {
		for i := range c {
			e := &c[i]
			txn(e.From)
			txn(e.To)
			txn(e.Writer)
			key(e.Key)
			if e.Predicate() {
				op(e.Op)
			}
		}
	}
	return p
}
