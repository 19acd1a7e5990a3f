package spill

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"isovet/certify"
	"isovet/check/spill/plan"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
)

// prove makes one proof of all violations found. The proof has their anomalies, in a history of their transactions and
// of the writers that these read from. It is certified against that history, which violates the level only if the whole
// history does.
func (e *engine) prove(ctx context.Context, a *Answer) error {
	var members []*plan.Txn
	in := map[int64]bool{}
	for _, r := range a.Found {
		for i := range r.Anomalies {
			for _, t := range r.Anomalies[i].Txns {
				if id := r.H.Txns.ID[t]; !in[id] {
					in[id] = true
					members = append(members, e.seen[id])
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(e.forced)) {
		if !in[id] {
			in[id] = true
			members, a.With = append(members, e.seen[id]), append(a.With, id)
		}
	}
	slices.SortFunc(members, func(a, b *plan.Txn) int { return cmp.Compare(a.Place, b.Place) })
	by, others, err := e.sources(ctx, members)
	if err != nil {
		return err
	}
	h, err := plan.Part(members, by, others, e.in.Initial)
	if err != nil {
		return err
	}
	h.File, h.Meta = e.in.Name, e.in.Meta
	for t, id := range h.Txns.ID {
		if lo, hi := h.TxnOps(uint32(t)); in[id] && int(hi-lo) != len(e.seen[id].Ops) {
			a.Partial = true
		}
	}
	how := certify.Options{ClockSkew: e.o.Skew}
	p := &evidence.Result{Verdict: evidence.Violated, Level: e.asked, Checker: a.Found[0].Checker, H: h}
	to := newRetold(h)
	for _, r := range a.Found {
		for i := range r.Anomalies {
			x, err := to.anomaly(r.H, &r.Anomalies[i])
			if err != nil {
				return err
			}
			p.Anomalies = append(p.Anomalies, x)
		}
	}
	a.Proof = p
	if certify.Check(p, how) == nil {
		return nil
	}
	// If a proof only uses the writes of some transaction, that transaction's reads may show a violation of their own,
	// which contradicts the proof.
	all := p.Anomalies
	p.Anomalies = nil
	for _, x := range all {
		one := *p
		if one.Anomalies = []evidence.Anomaly{x}; certify.Check(&one, how) == nil {
			p.Anomalies = append(p.Anomalies, x)
		} else {
			p.Also++
		}
	}
	if len(p.Anomalies) == 0 {
		a.Proof, a.Partial = a.Found[0], true
		a.Proof.Also += len(all) - 1
	}
	return nil
}

// force records, for transactions of unknown outcome in an anomaly, their readers and those whose reads show that they
// committed: a proof needs these too. txns are all transactions among which the anomaly was found.
func (e *engine) force(r *evidence.Result, txns []*plan.Txn) {
	var todo []*plan.Txn
	asked := map[uint64]bool{}
	add := func(x *plan.Txn) {
		if x != nil && x.Status == history.Unknown && !x.Counts && !asked[x.Place] {
			asked[x.Place] = true
			todo = append(todo, x)
		}
	}
	for _, t := range r.Anomalies[0].Txns {
		add(e.seen[r.H.Txns.ID[t]])
	}
	for ; len(todo) > 0; todo = todo[1:] {
		wrote := map[plan.Want]bool{}
		todo[0].External(func(*plan.Op) {}, func(op *plan.Op) { wrote[plan.Want{Key: op.Key, Value: op.Value}] = true })
		for _, x := range txns {
			reads := false
			x.External(func(op *plan.Op) {
				reads = reads || wrote[plan.Want{Key: op.Key, Value: op.Value}]
			}, func(*plan.Op) {})
			if reads && x.Status != history.Aborted {
				e.forced[x.ID], e.seen[x.ID] = true, x
				add(x)
			}
		}
	}
}

// retold translates from one history to another that includes it.
type retold struct {
	h    *history.History
	txns map[int64]uint32
	vers map[plan.Want]uint32
	keys map[plan.Value]uint32
}

func newRetold(h *history.History) *retold {
	r := &retold{h, map[int64]uint32{}, map[plan.Want]uint32{}, map[plan.Value]uint32{}}
	for t, id := range h.Txns.ID {
		r.txns[id] = uint32(t)
	}
	for k, v := range h.Keys {
		r.keys[h.Own(v)] = uint32(k)
	}
	for v := range uint32(h.NumVersions()) {
		r.vers[plan.Want{Key: h.Own(h.Keys[h.VerKey[v]]), Value: h.Own(h.VerValue(v))}] = v
	}
	return r
}

// lost is the error that something is missing in the other history.
type lost struct{ what string }

func (r *retold) txn(h *history.History, t uint32) uint32 {
	if t == history.None {
		return t
	}
	u, ok := r.txns[h.Txns.ID[t]]
	if !ok {
		panic(lost{fmt.Sprintf("transaction %d", h.Txns.ID[t])})
	}
	return u
}

func (r *retold) ver(h *history.History, v uint32) uint32 {
	if v == history.None {
		return v
	}
	w, ok := r.vers[plan.Want{Key: h.Own(h.Keys[h.VerKey[v]]), Value: h.Own(h.VerValue(v))}]
	if !ok {
		panic(lost{"version " + h.ValueString(v)})
	}
	return w
}

// op finds an operation in the other history, where the transaction has the same operations, and perhaps more.
func (r *retold) op(h *history.History, op uint32) uint32 {
	t := h.TxnOf(op)
	lo, _ := h.TxnOps(t)
	at, end := r.h.TxnOps(r.txn(h, t))
	for o := lo; ; o++ {
		v := r.ver(h, h.Ops.Ver[o])
		for at < end && (r.h.Ops.Kind[at] != h.Ops.Kind[o] || r.h.Ops.Ver[at] != v) {
			at++
		}
		if at == end {
			panic(lost{fmt.Sprintf("operation %d of transaction %d", op-lo, h.Txns.ID[t])})
		}
		if o == op {
			return at
		}
		at++
	}
}

func (r *retold) ops(h *history.History, ops []uint32) []uint32 {
	return slice.Map(ops, func(op uint32) uint32 { return r.op(h, op) })
}

func (r *retold) cycle(h *history.History, c []evidence.Edge) (out []evidence.Edge) {
	for _, e := range c {
		e.From, e.To, e.Writer, e.Ver = r.txn(h, e.From), r.txn(h, e.To), r.txn(h, e.Writer), r.ver(h, e.Ver)
		if e.Key != history.None {
			e.Key = r.keys[h.Own(h.Keys[e.Key])]
		}
		out = append(out, e)
	}
	return out
}

func (r *retold) anomaly(h *history.History, a *evidence.Anomaly) (out evidence.Anomaly, err error) {
	defer func() {
		if l, is := recover().(lost); is {
			err = fmt.Errorf("the combined history lacks %s of a proof", l.what)
		}
	}()
	out = *a
	out.Txns = slice.Map(a.Txns, func(t uint32) uint32 { return r.txn(h, t) })
	out.Ops = r.ops(h, a.Ops)
	out.Dead = slice.Map(a.Dead, func(ops []uint32) []uint32 { return r.ops(h, ops) })
	out.Cycle = r.cycle(h, a.Cycle)
	out.Cycles = slice.Map(a.Cycles, func(c []evidence.Edge) []evidence.Edge { return r.cycle(h, c) })
	return out, nil
}
