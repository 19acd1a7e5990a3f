package check

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"isovet/certify"
	"isovet/check/lists"
	"isovet/check/prepass"
	"isovet/check/run"
	"isovet/closure"
	"isovet/encode"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/room"
	"isovet/polygraph"
	"isovet/solver"
	"isovet/solver/external"
)

// Formula is a problem that is satisfiable if and only if a history satisfies a level.
type Formula struct {
	*encode.Problem
	// Refuted says why the history violates the level, if that needs no search; the problem then has an empty clause.
	Refuted string

	x *run.Run
	h *history.History // the given history; lists are encoded as registers
}

// FormulaOptions are the parameters of NewFormula. Of the checker's options only Level, ClockSkew, and the Pipeline's
// Encoding and AtMostOne are used.
type FormulaOptions struct {
	Options
	// Pruned settles the choices that reachability settles, before encoding.
	Pruned bool
	// Eager adds clauses that make the problem acyclic (encode.MakeAcyclic).
	Eager bool
}

// NewFormula builds the formula of a history at a serializable or snapshot level. It has all pairs of writes, predicate
// operations, and real time at the strict levels, so that it demands exactly what the level does. Lists become
// registers, since their reads show the order of the elements. A read with several possible writers has a variable for
// each, and a transaction of unknown outcome that a read may have seen has one too. If there is no formula, why says
// why: it is too large, or cannot express elements appended twice, or transactions of unknown outcome that conditions
// may have seen.
//
// Cost: that of [Cobra]'s polygraph: quadratic in the writes of a key.
func NewFormula(ctx context.Context, h *history.History, o FormulaOptions) (f *Formula, why string, err error) {
	in := run.Vbox{}.Info()
	in.Name, in.Levels, in.Takes.Predicates, in.Solvers = "encode", run.OrderLevels, run.OrderLevels, nil
	if err := in.Unfit(o.Pipeline); err != nil {
		return nil, "", err
	}
	if o.Level, why = run.Settle(in, h, o.Level); why != "" {
		return nil, why, nil
	}
	f = &Formula{x: &run.Run{Result: &evidence.Result{}}, h: h}
	p := &polygraph.Polygraph{V: &prepass.View{H: h}, Level: o.Level}
	refuted := func(format string, args ...any) (*Formula, string, error) {
		f.Refuted = fmt.Sprintf(format, args...)
		f.Problem = &encode.Problem{P: p, Clauses: [][]solver.Lit{{}}, Eager: true, Based: true}
		return f, "", nil
	}
	if h.HasLists() {
		v := lists.Read(h)
		switch {
		case len(v.Anomalies) > 0:
			return refuted("%s", v.Anomalies[0].Kind)
		case len(v.Open) > 0:
			return nil, fmt.Sprintf("the history has registers and lists, so every outcome must be known; the "+
				"outcome of transaction %d is unknown", h.Txns.ID[v.Open[0]]), nil
		case v.Ambiguous != "":
			return nil, "list elements must be appended once: " + v.Ambiguous, nil
		}
		h = v.Registers().H
	}
	x, done, err := run.Begin(ctx, in, h, o.Options)
	switch {
	case err != nil:
		return nil, "", err
	case !done && len(x.View.LeftOut)+len(x.View.Open) > 0 && !x.OutcomesOpen():
		open := append(x.View.Open, x.View.LeftOut...)
		return nil, fmt.Sprintf("the outcome of transaction %d is unknown, and the formula cannot leave it open",
			h.Txns.ID[open[0]]), nil
	case done && x.Result.Verdict != evidence.Violated:
		return nil, x.Result.Reason, nil
	}
	x.Result.Checker = in.Name
	f.x, p.V = x, x.View
	if done {
		return refuted("%s", x.Result.Anomalies[0].Kind)
	}
	p = polygraph.New(x.View, o.Level, polygraph.Options{RealTime: o.Level.RealTime(), Skew: o.ClockSkew,
		Outcomes: x.OutcomesOpen(), AtMostOne: o.Pipeline.AtMostOne == "on"})
	if err := room.For(p.ListBytes()); err != nil {
		return nil, fmt.Sprintf("too many pairs of writes have no known order: their list %v", err), nil
	}
	p.AllPairs()
	if !p.Predicates(run.MaxBased) {
		return nil, fmt.Sprintf("predicate constraints name more than %d versions", run.MaxBased), nil
	}
	if m, ok := p.Mismatch(); ok {
		return refuted("%s", m.Kind)
	}
	if p.Baseless() != nil {
		return refuted("no version explains a predicate operation")
	}
	if p.KnownCycle() != nil {
		return refuted("a cycle of known edges")
	}
	if o.Pruned {
		kind := closure.KindPurdomPlus
		if p.Start == nil {
			kind = closure.KindPurdom
		}
		reach, _, err := closure.New(kind, closure.Input{N: p.N, Start: p.Start, End: p.End, Known: p.Graph(true)},
			closure.Options{MaxBytes: max(1, min(int64(run.MaxClosure), room.Left()/2)),
				Stop: func() bool { return ctx.Err() != nil }})
		if err != nil && !errors.Is(err, closure.ErrTooLarge) {
			return nil, "", errors.Join(ctx.Err(), err)
		}
		if err == nil {
			if conflict, err := p.Prune(ctx, reach); err != nil {
				return nil, "", err
			} else if conflict != nil {
				return refuted("pruning rules out both sides of a choice")
			}
		}
	}
	enc := o.Pipeline.Encoder("vbox")
	f.Problem = enc.Encode(p)
	if (p.OpenBased() > 0 || p.OpenOutcomes()) && !f.Based {
		return nil, fmt.Sprintf("encoding %s encodes neither predicate operations nor reads that several "+
			"writes explain", enc.Name), nil
	}
	if o.Eager {
		if n := encode.AcyclicClauses(f.Problem); n > maxExported {
			return nil, fmt.Sprintf("the formula would need %d clauses, more than %d; --to gnf and --to smt2 need "+
				"fewer, because they have a graph", n, maxExported), nil
		}
		f.Problem = encode.MakeAcyclic(f.Problem)
	}
	return f, "", nil
}

// maxExported bounds the clauses that keep an exported problem acyclic: past it the file has some gigabytes.
var maxExported = 100_000_000

// ErrUnsatisfiable says that a solver found no model, which is no evidence; ErrNoAnswer, that a text is not an answer;
// ErrNoModel, that an answer is "satisfiable" but names none of the variables.
var (
	ErrUnsatisfiable = errors.New("the solver says unsatisfiable, which isovet cannot verify")
	ErrNoAnswer      = errors.New("found neither SATISFIABLE nor UNSATISFIABLE, and no model; expected a " +
		"solver's answer")
	ErrNoModel = errors.New("found SATISFIABLE without a model of this formula's variables; expected lines of " +
		"literals after it (minisat writes them to the second file that it is given), or define-funs")
)

// Read turns the output of a solver (external.ParseAnswer) into a certified "valid". Errors: ErrUnsatisfiable,
// ErrNoAnswer, ErrNoModel, those of Decode.
func (f *Formula) Read(answer string, skew int64) (*evidence.Result, error) {
	status, lits, err := external.ParseAnswer(answer)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	case status == solver.Unsat:
		return nil, ErrUnsatisfiable
	case status == solver.Unknown:
		return nil, ErrNoAnswer
	case f.Vars > 0 && !slices.ContainsFunc(lits, func(l solver.Lit) bool { return int(l.Var()) < f.Vars }):
		return nil, ErrNoModel
	}
	return f.Decode(lits, skew)
}

// Decode turns a model into a certified "valid". The model is given by its true literals; all other variables are
// false. A model that does not satisfy the formula is an error. A failed certification is a Fault.
func (f *Formula) Decode(lits []solver.Lit, skew int64) (*evidence.Result, error) {
	values := make([]bool, f.Vars)
	for _, l := range lits {
		if int(l.Var()) < f.Vars { // other variables belong to the text form
			values[l.Var()] = !l.IsNeg()
		}
	}
	edges, err := f.Model(func(v solver.Var) bool { return values[v] })
	if err != nil {
		return nil, err
	}
	if err := f.x.HoldsBy(f.P, edges); err != nil {
		return nil, err
	}
	r := f.x.Result
	r.H = f.h
	if err := certify.Check(r, certify.Options{ClockSkew: skew}); err != nil {
		return nil, &Fault{Checker: r.Checker, Err: fmt.Errorf("the order of the model is not certified: %w", err)}
	}
	return r, nil
}

// FormulaEncodings are the encodings that NewFormula accepts, the default first.
func FormulaEncodings() []string { return slices.Clone(run.EncodingFirst("vbox")) }
