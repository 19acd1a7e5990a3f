package check

import (
	"context"
	"errors"

	"isovet/check/minitxn"
	"isovet/evidence"
	"isovet/history"
)

// lightweight decides linearizability, each key by itself.
type lightweight struct{}

func (lightweight) Info() Info {
	return Info{
		Name: "lwt", Paper: "MTC", Levels: linearLevels,
		Takes: Takes{Items: true, Predicates: linearLevels, Unknown: OutcomesDecided, Duplicates: true},
		About: "linearizability, key by key: chains of lightweight transactions in linear time; other registers by " +
			"zones, or by Wing and Gong's search as Lowe does it",
	}
}

// Check is the chain algorithm; where that does not say yes, the graph of mini-transactions, whose cycles say why not;
// and for registers with blind writes zones, with values written twice or failed compare-and-sets that did not say what
// they saw a search.
func (c lightweight) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, err := newRun(ctx, c.Info(), h, o)
	if err != nil {
		return nil, err
	}
	if order, ok := minitxn.Chains(h, o.ClockSkew); ok {
		x.r.Verdict, x.r.Order = evidence.Holds, order
		x.stage("chains")
		return x.r, nil
	}
	x, done, err := begin(ctx, c.Info(), h, o)
	if done {
		return x.r, err
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

// registers orders each key's operations by zones where every value has one writer, else by search.
func (x *run) registers() error {
	opts := minitxn.SearchOptions{Stop: func() bool { return x.ctx.Err() != nil }}
	if x.h.HasPredicates() {
		opts.True = minitxn.Claims(x.v)
	}
	placed := make([]bool, x.h.NumTxns())
	var order []uint32
	place := func(txns []uint32) {
		for _, t := range txns {
			placed[t] = true
		}
		order = append(order, txns...)
	}
	regs := minitxn.Registers(x.v, x.o.ClockSkew)
	unique := !x.v.Ambiguous() && !x.h.HasPredicates()
	for i := range regs {
		if unique {
			txns, ok, conflict := minitxn.Zones(&regs[i])
			if !ok {
				if a, found := x.cyclesAmong(conflict); found {
					x.stage("solving")
					x.violated(a)
					return nil
				}
			} else {
				place(txns)
				continue
			}
		}
		few := opts
		few.MaxStates = fewStates
		txns, ok, err := minitxn.Search(&regs[i], few)
		if errors.Is(err, minitxn.ErrBudget) || err == nil && !ok && len(x.v.Cand) <= fewCandidates {
			if done, strictErr := x.strictly(); done || strictErr != nil {
				return strictErr
			}
			if err != nil {
				txns, ok, err = minitxn.Search(&regs[i], opts)
			}
		}
		if err == nil && ok && unique {
			return &Fault{Checker: "lwt", Err: errors.New("zones refute a register that has an order")}
		}
		if err == nil && !ok {
			var last minitxn.Op
			if last, err = minitxn.FirstFailure(&regs[i], opts); err == nil {
				x.stage("solving")
				x.violated(x.noOrderOf(&regs[i], last))
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
		place(txns)
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

// fewStates is how many states of a register are searched before strict serializability is asked.
var fewStates = 10_000

// fewCandidates is up to how many possible writers of reads cycles are looked for where a search has refuted a
// register.
var fewCandidates = 2_000

// maxExplained is up to how many operations a cycle is looked for that shows the violation without a search.
var maxExplained = 60

// maxCandidates bounds the possible writers of reads, of all together, that are listed for such cycles: no other answer
// needs them, and where values are few there are quadratically many.
var maxCandidates = 1 << 20
