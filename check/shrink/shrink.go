package shrink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/ddmin"
	"isovet/internal/slice"
	"isovet/level"
)

// Options say how a history is judged and what may change. The zero value judges as isovet check does by default.
type Options struct {
	// Checker and Solver are names for check.Choose; "" means auto and the checker's own.
	Checker, Solver string
	// Check are the checker's other options. Level and Solver are overwritten, and Progress is called only for the
	// whole history.
	Check check.Options
	// Names says how to name keys, values and times.
	Names Names
	// Kinds, if set, are the kinds of anomalies of which the result must show one. First, or else the answer for the
	// whole, shows one.
	Kinds []level.Anomaly
	// First is the answer for the whole history, if it is known already. It must be a violation.
	First *evidence.Result
	// Progress, if set, gets the current step, and the size of the smallest history so far in transactions and
	// operations. It must be cheap.
	Progress func(stage string, txns, ops int)
	// Smaller, if set, gets the whole once it is judged, and then each smaller result.
	Smaller func(*Result)
}

// Names says how things are named in the smallest history.
type Names uint8

const (
	Original Names = iota // as in the whole
	Numbered              // keys as in the whole, the values of each key 1, 2, 3, times their ranks
	Short                 // as Numbered, with keys a, b, c
)

// Result is the smallest history found.
type Result struct {
	// H is the history, a part of Whole; its transactions have the ids that they have there.
	H, Whole *history.History
	// Answer is the certified answer for H.
	Answer *evidence.Result
	// From and To count transactions, the initial one apart, and operations before and after.
	From, To Size
	// Tried is the number of histories judged.
	Tried int
	// Ended says why the search stopped early, by the cause of its context; nil if nothing more can be removed.
	Ended error
}

// Size is the size of a history: transactions without the initial one, and operations.
type Size struct{ Txns, Ops int }

// NoViolation is the error for a history without a violation to shrink: it satisfies the level, or the checker does not
// know.
type NoViolation struct{ Answer *evidence.Result }

func (n *NoViolation) Error() string {
	if n.Answer.Verdict == evidence.Violated {
		return "nothing to shrink: the violation of " + n.Answer.Label() + " shows none of the anomalies asked for"
	}
	if why := n.Answer.Stats.Nothing(); why != "" {
		return "nothing to shrink: " + why
	}
	if n.Answer.Verdict == evidence.Holds {
		return "nothing to shrink: the history is valid at " + n.Answer.Label()
	}
	return "nothing to shrink: whether the history violates " + n.Answer.Label() + " is unknown: " + n.Answer.Reason
}

// least is the least time for judging a part. A part that takes longer than its time counts as no violation.
const least = 2 * time.Second

// History returns the smallest history found in h that still violates l. With a checker that mirrors a database's
// mechanisms (Leopard), a violation of a mechanism is enough if the level's is not certain. The result is the same in
// every run, except for parts that take the checker seconds. If ctx ends, it is the smallest so far.
//
// The error is a *NoViolation, ctx's cause if it ended before the whole was judged, bad input (a *history.InputError),
// or a *check.Fault. Cost: one check of the whole, then mostly some hundred checks of smaller and smaller parts; memory
// of two copies of h.
func History(ctx context.Context, h *history.History, l level.Level, o Options) (*Result, error) {
	o.Checker = cmp.Or(o.Checker, check.AutoName)
	o.Check.Level, o.Check.Solver = l, o.Solver
	s := &search{ctx: ctx, o: o, patience: time.Hour}
	start, first := time.Now(), o.First
	if first == nil {
		s.tell("checking")
		var err error
		if first, err = s.check(ctx, h); err != nil {
			return nil, err
		}
	}
	s.o.Check.Progress = nil
	s.patience = max(least, 4*time.Since(start))
	if s.aim(first); s.hit == nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &NoViolation{first}
	}
	w, err := newWhole(h, l, o.Check.ClockSkew)
	if err != nil {
		return nil, err
	}
	s.w, s.best = w, w.all()
	s.part, s.answer = &part{h: h, txn: slice.Numbers[uint32](h.NumTxns()), key: slice.Numbers[uint32](h.NumKeys()),
		op: slice.Numbers[uint32](h.NumOps())}, first
	if o.Smaller != nil {
		o.Smaller(s.result())
	}
	s.run()
	if s.fault != nil {
		return nil, s.fault
	}
	if o.Names != Original {
		s.patience *= 10 // there are few such parts
		s.rename()
	}
	r := s.result()
	if ctx.Err() != nil {
		r.Ended = context.Cause(ctx)
	}
	return r, nil
}

// result returns the smallest history so far.
func (s *search) result() *Result {
	return &Result{H: s.part.h, Whole: s.w.h, Answer: s.answer, From: sizeOf(s.w.h), To: sizeOf(s.part.h),
		Tried: s.tried}
}

func sizeOf(h *history.History) Size {
	z := Size{h.NumTxns(), h.FileOps(0, uint32(h.NumTxns()))}
	if h.Init != history.None {
		z.Txns--
	}
	return z
}

// search is a run of History.
type search struct {
	ctx      context.Context
	o        Options
	w        *whole
	patience time.Duration               // time limit for checking a part
	hit      func(*evidence.Result) bool // whether an answer is what is looked for
	stage    string
	tried    int
	fault    error

	best   *state
	part   *part // the part that best was made from
	answer *evidence.Result
	size   Size
}

func (s *search) tell(stage string) {
	s.stage = stage
	if s.o.Progress != nil {
		size := s.size
		if s.part != nil {
			size = sizeOf(s.part.h)
		}
		s.o.Progress(stage, size.Txns, size.Ops)
	}
}

func (s *search) stop() bool { return s.ctx.Err() != nil || s.fault != nil }

// aim sets hit to the violation that the answer for the whole shows: one of the level, or else of a mechanism.
func (s *search) aim(first *evidence.Result) {
	switch {
	case first.Verdict == evidence.Violated && len(s.o.Kinds) > 0:
		s.hit = func(r *evidence.Result) bool {
			return r.Verdict == evidence.Violated && slices.ContainsFunc(r.Anomalies, s.wanted)
		}
		if !s.hit(first) {
			s.hit = nil
		}
	case first.Verdict == evidence.Violated:
		s.hit = func(r *evidence.Result) bool { return r.Verdict == evidence.Violated }
	case first.Mechanisms != nil && len(first.Mechanisms.Violations) > 0:
		which := first.Mechanisms.Violations[0].Mechanism
		s.hit = func(r *evidence.Result) bool { return r.Mechanisms != nil && r.Mechanisms.Found[which] > 0 }
	}
}

func (s *search) wanted(a evidence.Anomaly) bool {
	return len(s.o.Kinds) == 0 || slices.Contains(s.o.Kinds, a.Kind)
}

func (s *search) check(ctx context.Context, h *history.History) (*evidence.Result, error) {
	s.tried++
	c, why := check.Choose(s.o.Checker, s.o.Solver, h, s.o.Check.Level)
	if c == nil {
		return &evidence.Result{Level: s.o.Check.Level, Checker: s.o.Checker, Reason: why, H: h}, nil
	}
	if s.o.Checker == check.AutoName && s.o.Solver == "" {
		return check.Decide(ctx, c, h, s.o.Check)
	}
	return check.Run(ctx, c, h, s.o.Check)
}

// judge judges the rest under the names n. It returns nil if that does not show the violation.
func (s *search) judge(st *state, n naming) (*part, *evidence.Result) {
	p, err := s.w.build(st, n)
	if err != nil {
		s.fault = &check.Fault{Checker: "shrink", Err: err}
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.patience)
	defer cancel()
	r, err := s.check(ctx, p.h)
	if err != nil {
		if _, ok := errors.AsType[*check.Fault](err); ok {
			s.fault = fmt.Errorf("while judging a part of the history: %w", err)
		}
		return nil, nil
	}
	if !s.hit(r) {
		return nil, nil
	}
	return p, r
}

// try judges the best state with a change. If that still shows the violation and is smaller, it becomes the best.
func (s *search) try(change func(st *state)) bool {
	if s.stop() {
		return false
	}
	st := s.best.clone()
	change(st)
	s.w.settle(st)
	size := s.w.size(st)
	if size.Txns == 0 || size.Txns >= s.size.Txns && size.Ops >= s.size.Ops {
		return false
	}
	p, r := s.judge(st, naming{})
	if r == nil {
		return false
	}
	s.best, s.part, s.answer, s.size = st, p, r, size
	s.tell(s.stage)
	if s.o.Smaller != nil {
		s.o.Smaller(s.result())
	}
	return true
}

// manyTxns is the number of transactions from which every success is followed by a jump to what its evidence names.
const manyTxns = 40

// run makes the best state as small as possible.
func (s *search) run() {
	s.size = s.w.size(s.best)
	s.tell("transactions that the evidence names")
	s.steer()
	for again := true; again && !s.stop(); {
		s.tell("transactions")
		again = s.dropTxns()
		s.tell("keys")
		again = s.dropKeys() || again
		s.tell("operations")
		again = s.dropOps() || again
	}
}

func (s *search) dropTxns() bool {
	return ddmin.Sweep(s.w.h.NumTxns(), func(t int) bool { return s.w.left(s.best, uint32(t)) > 0 },
		func(run []int) bool {
			done := s.try(func(st *state) {
				for _, t := range run {
					for op := range s.w.h.EachOp(uint32(t)) {
						s.w.take(st, op)
					}
				}
			})
			if done && s.size.Txns > manyTxns {
				s.steer()
			}
			return done
		}, s.stop)
}

// dropKeys removes all operations on a key.
func (s *search) dropKeys() bool {
	h := s.w.h
	of := make([][]uint32, h.NumKeys())
	rows := make([][][2]uint32, h.NumKeys())
	for op := range uint32(h.NumOps()) {
		switch v := h.Ops.Ver[op]; {
		case !s.best.op[op]:
		case h.Ops.Kind[op] == history.PredRead || h.Ops.Kind[op] == history.PredWrite:
			for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
				rows[s.w.rowKey[j]] = append(rows[s.w.rowKey[j]], [2]uint32{op, j})
			}
		default:
			of[h.OpKey(op)] = append(of[h.OpKey(op)], op)
		}
	}
	return ddmin.Sweep(h.NumKeys(), func(k int) bool {
		return slices.ContainsFunc(of[k], func(op uint32) bool { return s.best.op[op] }) ||
			slices.ContainsFunc(rows[k], func(r [2]uint32) bool {
				return s.best.op[r[0]] && s.best.matched[r[1]] || s.best.written[r[1]]
			})
	}, func(run []int) bool {
		return s.try(func(st *state) {
			for _, k := range run {
				for _, op := range of[k] {
					s.w.take(st, op)
				}
				for _, r := range rows[k] {
					st.matched[r[1]] = false
					s.w.takeWritten(st, r[0], r[1])
				}
			}
		})
	}, s.stop)
}

// dropOps removes operations, elements of lists, and rows of predicates.
func (s *search) dropOps() bool {
	h := s.w.h
	type thing struct {
		left func() bool
		take func(st *state)
	}
	var things []thing
	element := map[uint32]bool{}
	for op := range uint32(h.NumOps()) {
		if !s.best.op[op] {
			continue
		}
		v := h.Ops.Ver[op]
		switch h.Ops.Kind[op] {
		case history.ReadList:
			for _, e := range h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]] {
				if !element[e] && !s.best.gone[e] {
					element[e] = true
					things = append(things, thing{func() bool { return !s.best.gone[e] },
						func(st *state) { s.w.takeElement(st, e) }})
				}
			}
		case history.PredRead, history.PredWrite:
			for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
				things = append(things, thing{func() bool { return s.best.op[op] && s.best.matched[j] },
					func(st *state) { st.matched[j] = false }},
					thing{func() bool { return s.best.written[j] && !s.best.matched[j] },
						func(st *state) { s.w.takeWritten(st, op, j) }})
			}
		}
		things = append(things, thing{func() bool { return s.best.op[op] }, func(st *state) { s.w.take(st, op) }})
	}
	return ddmin.Sweep(len(things), func(i int) bool { return things[i].left() }, func(run []int) bool {
		return s.try(func(st *state) {
			for _, i := range run {
				things[i].take(st)
			}
		})
	}, s.stop)
}
