package check

import (
	"context"
	"errors"
	"time"

	"isovet/certify"
	"isovet/check/minitxn"
	"isovet/check/replay"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/polygraph"
)

// lightweight decides linearizability, each key by itself.
type lightweight struct{}

var linearLevels = []level.Level{level.Linearizable}

func (lightweight) Info() Info {
	return Info{
		Name: "lwt", Paper: "MTC", Levels: linearLevels,
		About: "linearizability, key by key: chains of lightweight transactions in linear time; other registers by zones, or by Wing and Gong's search as Lowe does it",
	}
}

// Check is the chain algorithm; where that does not say yes, the graph of mini-transactions, whose cycles say why not; and for registers
// with blind writes zones, with values written twice or failed compare-and-sets that did not say what they saw a search.
func (c lightweight) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	if x, done := beginLinear(ctx, "lwt", h, o); done {
		return x.r, nil
	}
	at := time.Now()
	if order, ok := minitxn.Chains(h, o.ClockSkew); ok {
		x := &run{ctx: ctx, h: h, o: o, at: at, r: &evidence.Result{Level: o.Level, Checker: "lwt", H: h, Verdict: evidence.Holds, Order: order}}
		x.r.Stats = evidence.Stats{Txns: h.NumTxns(), Ops: h.NumOps(), Sessions: h.NumSessions(), Keys: h.NumKeys(), Stages: map[string]float64{}}
		x.stage("chains")
		return x.r, nil
	}
	x, done := beginAmbiguous(ctx, "lwt", h, o, linearLevels)
	if done {
		return x.r, nil
	}
	if x.v.Bad != nil {
		x.unknown("%v", x.v.Bad)
		return x.r, nil
	}
	if minitxn.Outside(x.v) == "" {
		a := minitxn.Check(x.v, o.Level, o.ClockSkew)
		x.stage("construction")
		if a.Holds {
			x.r.Verdict, x.r.Order = evidence.Holds, a.Order
		} else {
			x.violated(a.Anomaly)
		}
		return x.r, nil
	}
	return x.r, x.registers()
}

// beginLinear answers what needs no search at linearizability: it speaks of keys, one by one, and of time.
func beginLinear(ctx context.Context, name string, h *history.History, o Options) (x *run, done bool) {
	x = &run{ctx: ctx, h: h, o: o, at: time.Now(), r: &evidence.Result{Level: o.Level, Checker: name, H: h}}
	if o.Level != level.Linearizable {
		return x, x.unknown("%s does not decide %s", name, o.Level)
	}
	if why := minitxn.MultiKey(h); why != "" {
		return x, x.unknown("%s", why)
	}
	if t, missing := polygraph.MissingTime(h); missing {
		return x, x.unknown("%s needs start and end of every committed transaction; transaction %d has not both", o.Level, h.Txns.ID[t])
	}
	return x, false
}

// registers orders each key's operations by zones where every value has one writer, else by search.
func (x *run) registers() error {
	opts := minitxn.SearchOptions{Stop: func() bool { return x.ctx.Err() != nil }}
	if x.h.HasPredicates() {
		opts.True = minitxn.Claims(x.v)
	}
	placed := make([]bool, x.h.NumTxns())
	var order []uint32
	regs := minitxn.Registers(x.v, x.o.ClockSkew)
	unique := !x.v.Ambiguous() && !x.h.HasPredicates()
	for i := range regs {
		if unique {
			txns, ok, conflict := minitxn.Zones(&regs[i])
			if !ok {
				if a, found := x.cycleOf(conflict); found {
					x.stage("solving")
					x.violated(a)
					return nil
				}
			} else {
				order = append(order, txns...)
				for _, t := range txns {
					placed[t] = true
				}
				continue
			}
		}
		txns, ok, err := minitxn.Search(&regs[i], opts)
		if err == nil && ok && unique {
			return &Fault{Checker: "lwt", Err: errors.New("zones refute a register that has an order")}
		}
		if err == nil && !ok {
			var last minitxn.Op
			if last, err = minitxn.FirstFailure(&regs[i], opts); err == nil {
				x.stage("solving")
				x.violated(x.noOrder(&regs[i], last))
				x.stage("evidence")
				return nil
			}
		}
		switch {
		case errors.Is(err, minitxn.ErrStopped):
			x.stopped()
			return nil
		case err != nil:
			x.unknown("key %s: %v", x.h.KeyString(regs[i].Key), err)
			return nil
		}
		for _, t := range txns {
			placed[t] = true
		}
		order = append(order, txns...)
	}
	for t := range uint32(x.h.NumTxns()) { // those without operations, or whose operations see only their own
		if x.h.Txns.Status[t] == history.Committed && t != x.h.Init && !placed[t] {
			order = append(order, t)
		}
	}
	x.stage("solving")
	x.r.Verdict, x.r.Order = evidence.Holds, order
	return nil
}

// maxExplained is up to how many operations a cycle is looked for that shows the violation without a search.
var maxExplained = 60

// noOrder is the violation by a register's operations that run out of orders when one ends: by a cycle, where one is found soon among what
// was under way then and what those read, else by themselves.
func (x *run) noOrder(reg *minitxn.Register, last minitxn.Op) evidence.Anomaly {
	h := x.h
	a := evidence.Anomaly{Kind: level.NonLinearizable, Key: reg.Key}
	part := reg.Prefix(last.Until)
	add := func(t uint32) {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			a.Ops = append(a.Ops, op)
		}
	}
	add(last.Txn)
	for _, op := range part.Ops {
		if op.Txn != last.Txn && op.Until >= last.Until && op.End >= last.End {
			add(op.Txn)
		}
	}
	seed := make([]uint32, 0, len(part.Ops))
	for _, op := range part.Ops {
		seed = append(seed, op.Txn)
	}
	if c, ok := x.cycleOf(seed); ok {
		return c
	}
	return a
}

// cycleOf asks replay for a proof by cycles of a few transactions on one key.
func (x *run) cycleOf(seed []uint32) (evidence.Anomaly, bool) {
	h := x.h
	if len(seed) == 0 || len(seed) > maxExplained || h.HasPredicates() || len(x.v.Open) > 0 {
		return evidence.Anomaly{}, false
	}
	ctx, cancel := context.WithTimeout(x.ctx, 2*time.Second)
	defer cancel()
	y := &run{ctx: ctx, h: h, o: x.o, v: x.v, at: time.Now(), r: &evidence.Result{Level: level.StrictSerializable, Checker: x.r.Checker, H: h}}
	y.o.Level = level.StrictSerializable
	y.r.Stats.Stages = map[string]float64{}
	if err := y.explain(seed, replay.Refute); err != nil || y.r.Verdict != evidence.Violated {
		return evidence.Anomaly{}, false
	}
	// The proof may rest on sessions, which linearizability does not ask for: what counts is that it holds without.
	y.r.Level = level.Linearizable
	if certify.Check(y.r, certify.Options{ClockSkew: x.o.ClockSkew, Stop: func() bool { return ctx.Err() != nil }}) != nil {
		return evidence.Anomaly{}, false
	}
	a := &y.r.Anomalies[0]
	if len(a.Cycle)+len(a.Cycles) > 0 { // found with session order, which gives it another name
		a.Kind, a.Text = "", ""
		a.Complete(h, level.Linearizable, x.o.ClockSkew)
	}
	return *a, true
}
