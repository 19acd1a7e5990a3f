package run

import (
	"context"
	"errors"

	"isovet/check/minitxn"
	"isovet/evidence"
	"isovet/history"
)

// Lwt decides linearizability, key by key.
type Lwt struct{}

func (Lwt) Info() Info {
	return Info{
		Name: "lwt", Paper: "MTC", Levels: LinearLevels,
		Takes: Takes{Items: true, Predicates: LinearLevels, Unknown: OutcomesDecided, Duplicates: true},
		About: "linearizability, key by key: chains of lightweight transactions in linear time; other registers by " +
			"zones, or by Wing and Gong's search as Lowe does it",
	}
}

// Check runs the chain algorithm. If that does not say "yes", it uses the graph of mini-transactions, whose cycles are
// the reason. For registers with blind writes it uses zones, and for values written twice, or failed compare-and-sets
// that do not say what they saw, a search.
func (c Lwt) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, err := New(ctx, c.Info(), h, o)
	if err != nil {
		return nil, err
	}
	if order, ok := minitxn.Chains(h, o.ClockSkew); ok {
		x.Holds(order)
		x.Stage("chains")
		return x.Result, nil
	}
	x, done, err := Begin(ctx, c.Info(), h, o)
	if done {
		return x.Result, err
	}
	if minitxn.Outside(x.View) == "" {
		a := minitxn.Check(x.View, o.Level, o.ClockSkew)
		x.Stage("construction")
		if a.Holds {
			x.Holds(a.Order)
		} else {
			x.Violated(a.Anomaly)
		}
		return x.Result, nil
	}
	return x.Result, x.registers()
}

// registers orders each key's operations: by zones if every value has one writer, else by search.
func (x *Run) registers() error {
	opts := minitxn.SearchOptions{Stop: x.Ended}
	if x.H.HasPredicates() {
		opts.True = minitxn.Claims(x.View)
	}
	placed := make([]bool, x.H.NumTxns())
	var order []uint32
	place := func(txns []uint32) {
		for _, t := range txns {
			placed[t] = true
		}
		order = append(order, txns...)
	}
	regs := minitxn.Registers(x.View, x.Options.ClockSkew)
	unique := !x.View.Ambiguous() && !x.H.HasPredicates()
	for i := range regs {
		if unique {
			if txns, ok, conflict := minitxn.Zones(&regs[i]); !ok {
				if a, found := x.cyclesAmong(conflict); found {
					x.Stage("solving")
					x.Violated(a)
					return nil
				}
			} else {
				place(txns)
				continue
			}
		}
		few := opts
		few.MaxStates = fewStates + 2*len(regs[i].Ops) // a search without dead ends needs a state per choice
		txns, ok, err := minitxn.Search(&regs[i], few)
		open := errors.Is(err, minitxn.ErrBudget)
		var core []minitxn.Op
		if open || err == nil && !ok {
			if core = minitxn.Scarce(&regs[i], opts); open && len(core) == 0 {
				few.MaxStates *= manyStates
				txns, ok, err = minitxn.Search(&regs[i], few)
				open = errors.Is(err, minitxn.ErrBudget)
			}
		}
		done := false
		if open || err == nil && !ok {
			if done, err = x.refuted(&regs[i], core, open, opts); done {
				return nil
			}
		}
		if open && err == nil {
			if txns, ok, err = minitxn.Search(&regs[i], opts); err == nil && !ok {
				if done, err = x.refuted(&regs[i], nil, false, opts); done {
					return nil
				}
			}
		}
		switch {
		case err == nil && ok && unique:
			return &Fault{Checker: "lwt", Err: errors.New("zones refute a register that an order explains")}
		case errors.Is(err, minitxn.ErrStopped):
			x.Stopped()
			return nil
		case errors.Is(err, minitxn.ErrBudget):
			x.Unknown("key %s: %v", x.H.KeyString(regs[i].Key), err)
			return nil
		case err != nil:
			return err
		}
		place(txns)
	}
	for t := range uint32(x.H.NumTxns()) { // transactions that read and write nothing of others
		if x.H.Txns.Status[t] == history.Committed && t != x.H.Init && !placed[t] {
			order = append(order, t)
		}
	}
	x.Stage("solving")
	x.Holds(order)
	return nil
}

// refuted answers for a register that has no order, or (if open is set) may have none. core are operations known to
// have no order, if any are. done says that x has the answer, perhaps because strict serializability decided all keys
// together.
func (x *Run) refuted(reg *minitxn.Register, core []minitxn.Op, open bool, opts minitxn.SearchOptions) (done bool,
	err error) {
	if len(core) == 0 || len(core) > maxCore && !open {
		if c := minitxn.Core(reg, nil, opts); len(core) == 0 || len(c) > 0 && len(c) < len(core) {
			core = c
		}
	}
	if (len(core) == 0 || len(core) > maxCore || !x.View.Ambiguous()) && (open || len(x.View.Cand) <= fewCandidates) {
		if done, err = x.strictly(); done || err != nil {
			return done, err
		}
	}
	var last minitxn.Op
	switch {
	case len(core) > 0:
		last = core[0]
	case open:
		return false, nil
	default:
		if last, err = minitxn.FirstFailure(reg, opts); err != nil {
			return false, err
		}
		core = minitxn.Core(reg, &last, opts)
	}
	x.Stage("solving")
	x.Violated(x.noOrderOf(reg, last, core))
	x.Stage("evidence")
	return true, nil
}

// maxCore is the number of operations in a core past which cycles are the better proof.
var maxCore = 6

// fewStates is the number of a register's states that the search visits before it looks for a version that is too
// scarce. After manyStates times as many, it tries strict serializability.
var fewStates, manyStates = 2_000, 50

// fewCandidates is the number of possible writers of reads up to which cycles are searched for a refuted register.
var fewCandidates = 2_000

// maxExplained is the number of operations, in a core with the possible writers of its reads, up to which a cycle is
// tried as the proof.
var maxExplained = 60

// maxCandidates bounds the possible writers of all reads together. Only such cycles need their list, and there are
// quadratically many if values are few.
var maxCandidates = 1 << 20
