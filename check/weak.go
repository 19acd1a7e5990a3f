package check

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"isovet/certify"
	"isovet/check/prepass"
	"isovet/check/run"
	"isovet/check/weak"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/plural"
	"isovet/internal/slice"
	"isovet/level"
)

// weakly decides the levels below snapshot isolation by the orders that their axioms demand.
type weakly struct{}

func (weakly) Info() Info {
	return Info{
		Name: "weak", Paper: "AWDIT", Levels: weak.Levels(),
		Takes: Takes{Items: true, Predicates: weak.Levels(), Lists: run.ListsRead,
			Unknown: run.OutcomesDecided, Duplicates: true},
		About: "the commit orders that Biswas and Enea's axioms demand, within AWDIT's complexity bounds",
	}
}

// Check runs package weak on item operations. Lists become registers whose version order is known.
func (c weakly) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	if h.HasLists() {
		return c.lists(ctx, h, o)
	}
	x, done, err := run.Begin(ctx, c.Info(), h, o)
	if done {
		return x.Result, err
	}
	if h.HasPredicates() && o.Level != level.ReadCommitted {
		return c.predicates(x)
	}
	if t, some := twoVersions(x.View); some {
		x.Unknown("a condition in transaction %d finds a row in two versions, and several transactions may have "+
			"written one of them: evidence cannot tell these two reads apart", h.Txns.ID[t])
		return x.Result, nil
	}
	ctx, end := x.Bounded()
	defer end()
	a := weak.Check(ctx, x.View, o.Level, weak.Options{Choices: fewChoices})
	for _, more := range []struct {
		patience time.Duration // of the stronger level
		choices  int
	}{{100 * time.Millisecond, fewChoices + fewWork/(1+h.NumTxns())}, {3 * time.Second, 0}} {
		if a.Status != weak.GaveUp {
			break
		}
		if done, _, err := bySnapshots(x, more.patience); done || err != nil {
			return x.Result, err
		}
		a = weak.Check(ctx, x.View, o.Level, weak.Options{Choices: more.choices})
	}
	if a.Status == weak.Stopped && ctx.Err() != nil && x.Ctx.Err() == nil {
		x.Stage("solving")
		x.TooManyWays()
		return x.Result, nil
	}
	takeWeak(x, a, a.Anomaly)
	return x.Result, nil
}

// twoVersions finds a transaction with a predicate operation that shows a row in two versions, one of which has several
// possible writers.
func twoVersions(v *prepass.View) (t uint32, some bool) {
	if v.POff == nil {
		return 0, false
	}
	for _, r := range v.Amb {
		t := v.Reader(r)
		for s := v.ROff[t]; s < v.ROff[t+1]; s++ {
			if s != r && v.RKey[s] == v.RKey[r] && v.SameOp(r, s) {
				return t, true
			}
		}
	}
	return 0, false
}

// fewChoices bounds the choices of writers that are refuted before a stronger level is tried, and fewWork divided by
// the number of transactions those before it is tried at length.
var fewChoices, fewWork = 64, 1 << 19

// fewVersions and manyVersions bound the steps for predicate operations, before and after session snapshot isolation is
// tried.
var fewVersions, manyVersions = 1 << 21, 1 << 27

// predicates is Check above read-committed for histories with predicate operations. In a long history, nearly every
// missed row could have been made visible by many transactions. If snapshots explain the history, they say by which. If
// not, an anomaly of a few transactions mostly refutes it, and their predicate operations are examined first.
func (weakly) predicates(x *run.Run) (*evidence.Result, error) {
	a := weak.Check(x.Ctx, x.View, x.Options.Level, weak.Options{Choices: fewChoices, Work: fewVersions})
	if a.Status == weak.GaveUp {
		patience := time.Second + 50*time.Microsecond*time.Duration(x.H.NumOps())
		done, refuted, err := bySnapshots(x, patience)
		if done || err != nil {
			return x.Result, err
		}
		for _, an := range refuted {
			if a = weak.Check(x.Ctx, x.View, x.Options.Level, weak.Options{Choices: fewChoices,
				Only: slice.Set(an.Txns), Work: manyVersions}); a.Status == weak.Violated {
				break
			}
		}
		if a.Status != weak.Violated {
			if withoutThem(x, refuted, 4*patience) {
				return x.Result, nil
			}
			a = weak.Check(x.Ctx, x.View, x.Options.Level, weak.Options{Work: manyVersions})
		}
	}
	takeWeak(x, a, a.Anomaly)
	return x.Result, nil
}

// bySnapshots lets replay check session snapshot isolation, which implies the weak levels. Its order of commits is a
// commit order, and its snapshots give the writer of each read. Only "valid" decides, reported by done; else refuted
// has the anomalies that it found.
func bySnapshots(x *run.Run, patience time.Duration) (done bool, refuted []evidence.Anomaly, err error) {
	ctx, cancel := context.WithTimeout(x.Ctx, patience)
	defer cancel()
	const stronger = level.SessionSnapshotIsolation
	o := x.Options
	o.Level = stronger
	r, err := run.Ask(ctx, run.Replay{}, x.H, o)
	if err != nil || r.Verdict != evidence.Holds {
		if err == nil {
			refuted = r.Anomalies
		}
		return false, refuted, err
	}
	order, sources, ok := weakOrder(x.Ctx, x.View, x.Options.Level, r.Order)
	if !ok {
		return false, nil, nil
	}
	x.Result.Order, x.Result.Sources = order, sources
	x.Result.Verdict = evidence.Holds
	x.Result.Note = stronger.String() + " implies this level, and replay found that it holds"
	x.Result.Implied, x.Result.ImpliedBy, x.Result.DecidedBy = true, stronger, r.DecidedBy
	x.Stage("solving")
	return true, nil, nil
}

// fewLeftOut bounds how often transactions that violate session snapshot isolation are left out.
const fewLeftOut = 16

// withoutThem decides a history that satisfies session snapshot isolation without some transactions that no other reads
// from, such as the readers of a long fork, or the loser of a lost update. The snapshots of replay say what the
// predicate operations of the others saw, and a search finds it for these. It only answers "valid", and only if that
// certifies.
func withoutThem(x *run.Run, refuted []evidence.Anomaly, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(x.Ctx, patience)
	defer cancel()
	o := x.Options
	o.Level, o.Progress = level.SessionSnapshotIsolation, nil
	h, out := *x.H, map[uint32]bool{}
	h.Txns.Status = slices.Clone(h.Txns.Status)
	read, events := readFrom(x.View), []uint32(nil)
	for range fewLeftOut {
		before := len(out)
		for _, a := range refuted {
			for _, t := range a.Txns {
				if !read[t] && h.Txns.Status[t] == history.Committed && t != h.Init {
					h.Txns.Status[t] = history.Aborted
					out[t] = true
				}
			}
		}
		if len(out) == before {
			return false
		}
		r, err := run.Ask(ctx, run.Replay{}, &h, o)
		if err != nil || r.Verdict == evidence.Unknown {
			return false
		}
		if refuted = r.Anomalies; r.Verdict == evidence.Holds {
			events = r.Order
			break
		}
	}
	if events == nil {
		return false
	}
	v := prepass.RunWith(&h, prepass.Options{})
	_, sources := commitOrder(&h, v, events)
	sources, ok := weak.Current(ctx, v, events, sources)
	if !ok {
		return false
	}
	a := weak.Check(ctx, x.View, x.Options.Level, weak.Options{Only: out, Work: manyVersions, Seen: sources,
		Guess: guessed(x.View, events, out)})
	if a.Status != weak.Holds {
		return false
	}
	r := *x.Result
	r.Verdict, r.Order, r.Sources = evidence.Holds, a.Order, a.Sources
	if certify.Check(&r, certify.Options{Stop: func() bool { return ctx.Err() != nil }}) != nil {
		return false // a transaction left out makes more visible to later ones
	}
	takeWeak(x, a, a.Anomaly)
	x.Result.Note = fmt.Sprintf("replay found that %s holds without %s that nobody reads from", o.Level,
		plural.Of(len(out), "transaction"))
	return true
}

// readFrom reports, for each transaction, whether another one reads or may read from it.
func readFrom(v *prepass.View) []bool {
	read := make([]bool, v.H.NumTxns())
	for _, writes := range [][]uint32{v.RW, v.Cand} {
		for _, w := range writes {
			if w != history.None && v.WTxn[w] != history.None {
				read[v.WTxn[w]] = true
			}
		}
	}
	return read
}

// guessed returns the times that an order of begins and commits gives. A transaction that was left out comes as soon as
// all that it reads has been committed.
func guessed(v *prepass.View, events []uint32, out map[uint32]bool) *weak.Guess {
	n := v.H.NumTxns()
	g := &weak.Guess{Begin: make([]int64, n), Commit: make([]int64, n)}
	for t := range n { // transactions outside the order come last
		g.Begin[t], g.Commit[t] = math.MaxInt64, math.MaxInt64
	}
	for i, e := range events {
		if e&1 == 0 {
			g.Begin[e>>1] = 2 * int64(i)
		} else {
			g.Commit[e>>1] = 2 * int64(i)
		}
	}
	for t := range out {
		last := int64(-1)
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			if w := v.RW[r]; w != history.None && v.WTxn[w] != history.None && g.Commit[v.WTxn[w]] < math.MaxInt64 {
				last = max(last, g.Commit[v.WTxn[w]])
			}
		}
		g.Begin[t], g.Commit[t] = last+1, last+1
	}
	return g
}

func (c weakly) lists(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, v, done, err := run.BeginLists(ctx, c.Info(), h, o, nil)
	if done || err != nil {
		return x.Result, err
	}
	g := v.Blind()
	x.View = prepass.RunWith(g.H, prepass.Options{EachRead: o.Level == level.ReadCommitted, Count: v.Counts})
	x.Stage("prepass")
	if len(x.View.Anomalies) > 0 {
		for i, a := range x.View.Anomalies {
			x.View.Anomalies[i] = g.Retold(a)
		}
		x.Violated(x.View.Anomalies...)
		x.Result.Also = x.View.Also
		return x.Result, nil
	}
	if len(x.View.Open) > 0 {
		x.Unknown("the history has registers and lists, so every outcome must be known; the outcome of transaction "+
			"%d is unknown", h.Txns.ID[x.View.Open[0]])
		return x.Result, nil
	}
	a := weak.Check(ctx, x.View, o.Level, weak.Options{Known: weak.Known{Rank: g.Ranks(), Orders: g.Orders}})
	for i := range a.Sources {
		op := g.Op(a.Sources[i].Op)
		a.Sources[i].Op, a.Sources[i].Key = op, h.OpKey(op)
	}
	takeWeak(x, a, g.Retold(a.Anomaly))
	return x.Result, nil
}

// takeWeak copies an answer of package weak into the result.
func takeWeak(x *run.Run, a weak.Answer, shown evidence.Anomaly) {
	x.Result.Stats.KnownEdges, x.Result.Stats.Constraints, x.Result.Stats.Rounds = a.Edges, a.Demanded, a.Rounds
	x.Stage("solving")
	switch a.Status {
	case weak.Holds:
		x.Result.Verdict, x.Result.Order, x.Result.Sources = evidence.Holds, a.Order, a.Sources
	case weak.Violated:
		if a.Twice {
			x.Unknown("no choice of writers explains the history, but isovet cannot prove it: a transaction reads a " +
				"version of several writers twice, and evidence cannot tell these reads apart")
			return
		}
		x.Violated(shown)
	case weak.GaveUp:
		x.Unknown("%s", a.Reason)
	default:
		x.Stopped()
	}
}
