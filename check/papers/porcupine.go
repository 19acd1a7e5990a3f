package papers

import (
	"context"
	"fmt"
	"math"

	"github.com/anishathalye/porcupine"

	"isovet/check/minitxn"
	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
)

// porcupineLib is Porcupine, another program's library, for comparison.
type porcupineLib struct{}

func (porcupineLib) Info() run.Info {
	return run.Info{
		Name: "porcupine", Paper: "Porcupine", Levels: run.LinearLevels,
		Takes: run.Takes{Items: true, Predicates: run.LinearLevels, Unknown: run.OutcomesDecided, Duplicates: true},
		About: "linearizability by Porcupine's search; lwt gives the evidence",
	}
}

// Check asks Porcupine for the verdict, with one partition per key, as its authors do for key-value stores; the stage
// "solving" is Porcupine's time. Porcupine gives no proof of a "no", and an expensive proof of a "yes". So the evidence
// comes from the checker lwt; if the two disagree, that is a fault.
func (c porcupineLib) Check(ctx context.Context, h *history.History, o run.Options) (*evidence.Result, error) {
	x, done, err := run.Begin(ctx, c.Info(), h, o)
	if done {
		return x.Result, err
	}
	claim := func(uint32, uint32) bool { return true }
	if h.HasPredicates() {
		claim = minitxn.Claims(x.View)
	}
	ok := true
	for _, reg := range minitxn.Registers(x.View, o.ClockSkew) {
		ok = ok && porcupine.CheckOperations(registerModel(ctx, reg.Initial, claim), porcupineOperations(&reg))
		if ctx.Err() != nil {
			x.Stopped()
			return x.Result, nil
		}
	}
	x.Stage("solving")
	r, err := run.Ask(ctx, run.Lwt{}, h, o)
	if err != nil || r.Verdict == evidence.Unknown {
		return run.TakeOver(r, "porcupine"), err
	}
	if ok != (r.Verdict == evidence.Holds) {
		return nil, &run.Fault{Checker: "porcupine", Err: fmt.Errorf("linearizable, says Porcupine: %t; lwt says %s",
			ok, r.Verdict)}
	}
	x.Stage("evidence")
	r.Stats.Stages = x.Result.Stats.Stages
	return run.TakeOver(r, "porcupine"), nil
}

// registerModel is a register whose state is a version. An operation that may not have happened changes nothing if it
// cannot take effect, because it can come at the end. After ctx has ended, each step fails, which ends the search soon;
// its answer is then not used.
func registerModel(ctx context.Context, initial uint32, claim func(op, ver uint32) bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return initial },
		Step: func(state, input, _ any) (bool, any) {
			op := input.(*minitxn.Op)
			cur := state.(uint32)
			fits := op.Need == history.None || op.Need == cur
			for _, p := range op.Preds {
				fits = fits && claim(p, cur)
			}
			if !fits || ctx.Err() != nil {
				return op.Maybe && ctx.Err() == nil, state
			}
			if op.Sets != history.None {
				return true, op.Sets
			}
			return true, state
		},
	}
}

func porcupineOperations(reg *minitxn.Register) []porcupine.Operation {
	ops := make([]porcupine.Operation, len(reg.Ops))
	for i := range reg.Ops {
		op := &reg.Ops[i]
		ops[i] = porcupine.Operation{Input: op, Call: op.From, Return: op.Until}
		if op.Maybe {
			ops[i].Return = math.MaxInt64
		}
	}
	return ops
}
