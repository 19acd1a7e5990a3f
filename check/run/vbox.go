package run

import (
	"context"
	"errors"
	"fmt"

	"isovet/closure"
	"isovet/encode"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/internal/plural"
	"isovet/internal/room"
	"isovet/level"
	"isovet/polygraph"
	"isovet/solver"
	"isovet/solver/acyclic"
)

// Vbox is checker vbox: client times make most of the graph known, and a compact closure prunes the other choices. The
// rest, one variable a choice, goes to a solver whose theory (in the paper, that closure) keeps the graph acyclic.
type Vbox struct{}

// MaxClosure bounds the closure if times do not keep it compact. Past it, pruning is left to the solver.
var MaxClosure = 1 << 30

// Up to fewPairs choices (fewTimed with client times) are all listed and then pruned, as in the paper. With more, only
// those that reachability leaves open are listed (polygraph.Narrow), up to maxPairs of 16 bytes. narrowWords bounds
// that reachability, in words of 8 bytes, twice.
var (
	fewPairs    = 1 << 16
	fewTimed    = 1 << 24
	maxPairs    = 1 << 24
	narrowWords = 1 << 26
)

func (Vbox) Info() Info {
	return Info{
		Name: "vbox", Paper: "Vbox", Levels: SerialLevels, Solvers: SolverNames(),
		Takes: Takes{Items: true, Predicates: SerialLevels, Unknown: OutcomesTried, Duplicates: true},
		About: "polygraph with time dependencies, compact transitive closure, one variable for each constraint",
		Settings: []Setting{{SettingClosure, Closures()}, {SettingPruning, Prunings()},
			{SettingEncoding, Pipeline{}.EncodingNames()}, {SettingPhase, Phases()},
			{SettingAtMostOne, AtMostOnes()}, {SettingTechnique, Techniques()}},
	}
}

// Check asks stricter questions first: their additional orders are mostly true, and settle almost every choice
// (Attempts).
//
// Source: [Vbox] §4; Theorem 4.2 as errata V8 corrects it.
func (c Vbox) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, done, err := Begin(ctx, c.Info(), h, o)
	if done {
		return x.Result, err
	}
	_, missing := polygraph.MissingTime(h)
	return x.Result, x.InTurn(Attempts(o, !missing), func(a Attempt) error { return x.pipeline(x.Solver, a) })
}

// InTurn asks the questions of todo, the level's own last, until pipeline answers one.
func (x *Run) InTurn(todo []Attempt, pipeline func(a Attempt) error) error {
	if len(x.View.LeftOut)+len(x.View.Open) > 0 && !x.OutcomesOpen() {
		// Transactions of unknown outcome may have made a version that a predicate operation missed, or that a read saw
		// and others wrote too. First ask without what they could explain: a "no" then holds whether they committed or
		// not. If there is none, an order without them is enough.
		ask := todo[len(todo)-1]
		ask.Order.Relaxed = true
		if err := pipeline(ask); err != nil || x.Result.Verdict == evidence.Violated || x.Result.Reason != "" {
			return err
		}
		x.Result.Verdict, x.Result.Order = evidence.Unknown, nil
		for i := range todo {
			todo[i].Own = false
		}
	}
	for _, a := range todo {
		if err := pipeline(a); err != nil || x.Answered() {
			return err
		}
	}
	if x.Result.Reason == "" {
		open := append(x.View.Open, x.View.LeftOut...)
		x.Unknown("the outcome of transaction %d is unknown, and other transactions' reads depend on "+
			"it", x.H.Txns.ID[open[0]])
	}
	return nil
}

// MaxBased bounds the versions that the predicate constraints of a history name, because of memory.
var MaxBased = 20_000_000

// Attempt is a question about a history: a level at least as strict as the one asked for, and whether client times
// count.
type Attempt struct {
	Level level.Level
	Order polygraph.Options
	// Own says that a "no" is an answer for the level asked for. If not, an order still satisfies that level, but a
	// "no" must be tried on it.
	Own bool
}

// Own returns the question of the level itself, with nothing stricter before it.
func Own(o Options) Attempt {
	return Attempt{o.Level, polygraph.Options{RealTime: o.Level.RealTime(), Skew: o.ClockSkew}, true}
}

// Attempts lists the questions for a level, its own last: first with real time if the history has times; else with
// session order if the level does not demand it.
func Attempts(o Options, timed bool) []Attempt {
	all := everyAttempt(o, timed && (o.Pipeline.Technique != noTimeEdges || o.Level.RealTime()))
	if o.Pipeline.Technique == NoStrictFirst {
		return all[len(all)-1:]
	}
	return all
}

func everyAttempt(o Options, timed bool) []Attempt {
	if timed {
		a := []Attempt{{o.Level, polygraph.Options{RealTime: true, Skew: o.ClockSkew}, o.Level.RealTime()}}
		if o.Level.RealTime() {
			return a
		}
		return append(a, Attempt{Level: o.Level, Own: true})
	}
	if o.Level.Sessions() {
		return []Attempt{{Level: o.Level, Own: true}}
	}
	stricter := level.SessionSerializable
	if o.Level.Snapshot() {
		stricter = level.SessionSnapshotIsolation
	}
	return []Attempt{{Level: stricter}, {Level: o.Level, Own: true}}
}

// pipeline is the paper's §4, from the known graph to the solver. If the attempt fails and its "no" is not the level's
// own, it leaves the verdict open, without a reason.
func (x *Run) pipeline(back Solver, a Attempt) error {
	// §4.2 known graph, §4.3 avoidance
	a.Order.Outcomes = x.OutcomesOpen() && !a.Order.Relaxed
	a.Order.AtMostOne = x.Options.Pipeline.AtMostOne == "on"
	// Predicate constraints need the order of any two writes, and settings that were named are obeyed.
	if x.View.Index == nil && len(x.View.Amb) == 0 && x.Options.Pipeline.Closure == "" &&
		x.Options.Pipeline.Pruning == "" && x.Options.Pipeline.Technique != noAvoidance {
		if a.Order.Most = fewPairs; a.Order.RealTime {
			a.Order.Most = fewTimed
		}
	}
	if a.Order.Most == 0 && x.TooManyInitial() {
		return nil
	}
	p := polygraph.New(x.View, a.Level, a.Order)
	if x.fallback && !a.Order.RealTime && p.Pairs > maxFallback {
		x.Unknown("too many pairs of writes have no known order: %d", p.Pairs)
		return nil
	}
	if p.Crowded {
		x.Result.Stats.Constraints = p.Pairs
		x.Stage("construction")
		if done, err := x.narrowed(p, back, a); done {
			return err
		}
		if x.tooMany(p.ListBytes()) {
			return nil
		}
		a.Order.Most = 0 // list all choices
		p = polygraph.New(x.View, a.Level, a.Order)
	}
	if x.tooMany(p.ListBytes()) {
		return nil
	}
	if a.Order.RealTime && x.Options.Pipeline.Technique != noAvoidance {
		p.Overlapping()
	} else {
		p.AllPairs()
	}
	// §4.1 predicate constraints, §4.3 their avoidance
	most := MaxBased
	if x.fallback {
		most = maxFallback
	}
	if !p.Predicates(most) {
		x.Unknown("predicate constraints name more than %d versions; client times would rule most of them out", most)
		return nil
	}
	x.Result.Stats.Constraints = p.Pairs + len(p.Based)
	x.Stage("construction")
	no := func(c *polygraph.Conflict) error {
		if x.View.Ambiguous() && !x.fallback {
			return x.proveOwn(a.Own)
		}
		if cycles := p.ConflictCycles(c); len(cycles) > 0 {
			return x.RefutedByCycles(p, cycles, a.Own)
		}
		var seed []uint32
		p.StoryOf(c.Based, func(t uint32) { seed = append(seed, t) })
		return x.proveByTxns(seed, a.Own)
	}
	if m, ok := p.Mismatch(); ok {
		x.Violated(m)
		return nil
	}
	if c := p.Baseless(); c != nil {
		return no(c)
	}
	// §4.4 compact closure, §4.3 pruning
	reach, conflict, cycle, err := prune(x, p, back)
	switch {
	case err != nil:
		return err
	case x.Result.Reason != "":
		return nil
	case cycle:
		return x.RefutedByCycles(p, [][]polygraph.Edge{p.KnownCycle()}, a.Own)
	case conflict != nil:
		return no(conflict)
	}
	if x.fallback && p.OpenEdges() > maxFallback {
		x.Unknown("pruning left too many choices open")
		return nil
	}
	// §4.5 encoding, §4.6 solving
	return x.search(p, back, a, reach)
}

// search encodes what pruning left, and solves it.
func (x *Run) search(p *polygraph.Polygraph, back Solver, a Attempt, reach closure.Dynamic) error {
	enc := x.Options.Pipeline.Encoder("vbox")
	if n := p.OpenEdges(); n > fewEdges {
		if err := room.For(float64(n) * edgeBytes); err != nil {
			x.Unknown("searching %s of %s %v", plural.Of(n, "edge"), plural.Of(len(p.Choices), "open choice"), err)
			return nil
		}
	}
	if enc.Name == "order" {
		if n := encode.EagerClauses(encode.Vbox(p)); n > maxEager {
			x.Unsolved(encode.Answer{Status: solver.Unknown,
				Reason: fmt.Sprintf("encoding %s would make %d clauses, more than %d", enc.Name, n, maxEager)})
			return nil
		}
	}
	return x.settle(p, func() *encode.Problem {
		q := x.Encode(enc, p)
		q.Reach = reach
		return q
	}, back, func(q *encode.Problem, got encode.Answer) error { return x.unsatisfiable(p, q, got, a.Own) })
}

// edgeBytes is about the memory of an edge of an open choice in an encoding and its solver; fewEdges need no estimate.
const (
	edgeBytes = 160
	fewEdges  = 1 << 20
	fewBytes  = 1 << 26
)

// tooMany answers "unknown", and returns true, if listing open pairs of writes takes this many bytes and they are not
// free.
func (x *Run) tooMany(bytes float64) bool {
	if bytes <= fewBytes {
		return false
	}
	if err := room.For(bytes); err != nil {
		return x.Unknown("too many pairs of writes have no known order: their list %v", err)
	}
	return false
}

// TooManyInitial answers "unknown", and returns true, if a polygraph's edges from readers of initial versions to
// writers do not fit into memory. With times there are far fewer.
func (x *Run) TooManyInitial() bool {
	bytes := polygraph.InitialBytes(x.View)
	if _, missing := polygraph.MissingTime(x.H); bytes <= fewBytes || !missing {
		return false
	}
	if err := room.For(bytes); err != nil {
		return x.Unknown("a read of an initial version precedes every write of its key, and listing these pairs %v",
			err)
	}
	return false
}

// A round of pruning costs more than it saves the solver if it leaves at most one open choice for fewLeft nodes, or
// adds at most one edge for fewNew open choices.
var fewLeft, fewNew = 8, 16

// narrowed is the pipeline if there are too many choices to list. It settles choices by reachability in the windows of
// a topological order, computed again each round, and lists only the choices left open. done is false if these are too
// many, or if the known order is too loose for windows.
//
// It ends, because each round that is followed by another added an edge that nothing implied.
func (x *Run) narrowed(p *polygraph.Polygraph, back Solver, a Attempt) (done bool, err error) {
	var rank []int64 // node → a guess of its place
	for few := false; ; {
		g := p.FullGraph(nil)
		if rank == nil {
			rank = make([]int64, g.N())
			if copy(rank, p.Hint); p.Start != nil {
				for i := range rank {
					rank[i] = int64(i)
				}
			}
		}
		order, acyclical := graph.TopologicalBy(g, rank)
		if !acyclical {
			return true, x.RefutedByCycles(p, [][]polygraph.Edge{p.KnownCycle()}, a.Own)
		}
		if few {
			return true, x.search(p, back, a, nil)
		}
		words := int(min(int64(narrowWords), room.Left()/32))
		reach := acyclic.NewReach(g, order, words, x.Ended)
		x.Stage("closure")
		if reach == nil {
			return x.Ctx.Err() != nil && x.Stopped(), nil
		}
		for v := range rank {
			rank[v] = reach.Middle(int32(v))
		}
		edges, left, conflict, err := p.Narrow(x.Ctx, reach, maxPairs)
		x.Result.Stats.Rounds++
		x.Result.Stats.KnownEdges, x.Result.Stats.Left = len(p.Known), left
		x.Stage("pruning")
		switch {
		case err != nil:
			return x.Stopped(), nil
		case conflict != nil:
			return true, x.RefutedByCycles(p, p.ConflictCycles(conflict), a.Own)
		case edges > 0 && (left <= p.N/fewLeft || edges <= left/fewNew):
			few = true
		case edges > 0 && room.For(float64(24*len(p.Known))) == nil:
		case edges > 0 || left > maxPairs:
			return false, nil
		default:
			return true, x.search(p, back, a, nil)
		}
	}
}

// prune settles the choices that reachability settles. If times keep the closure compact, it updates that edge by edge;
// else it computes a full closure each round, which is faster than adding thousands of edges (Pipeline has other
// settings). If even one full closure is too large, it prunes nothing, and the solver gets all choices. It returns the
// closure if that is up to date, and compact or chosen by name.
func prune(x *Run, p *polygraph.Polygraph, back Solver) (reach closure.Dynamic, conflict *polygraph.Conflict,
	cycle bool, err error) {
	defer func() {
		x.Result.Stats.KnownEdges, x.Result.Stats.Left = len(p.Known), len(p.Choices)+p.OpenBased()
		x.Stage("pruning")
	}()
	kind, how, keep := closure.Kind(x.Options.Pipeline.Closure), x.Options.Pipeline.Pruning, true
	if kind == "" {
		if kind = closure.KindPurdomPlus; p.Start == nil {
			kind, keep = closure.KindPurdom, false
		}
	}
	if how == "" {
		if how = pruneEdges; p.Start == nil {
			how = pruneRounds
		}
	}
	if how == pruneNone && (x.Options.Pipeline.Closure == "" || !back.closure()) {
		return nil, nil, p.KnownCycle() != nil, nil
	}
	x.Result.Stats.Closure = string(kind)
	for {
		x.Stage("pruning")
		in := closure.Input{N: p.N, Start: p.Start, End: p.End, Known: p.Graph(true)}
		reach, cyc, err := closure.New(kind, in,
			closure.Options{MaxBytes: max(1, min(int64(MaxClosure), room.Left()/2)), Stop: x.Ended})
		x.Stage("closure")
		if errors.Is(err, closure.ErrStopped) {
			x.Stopped()
			return nil, nil, false, nil
		}
		if errors.Is(err, closure.ErrTooLarge) {
			x.Result.Stats.Closure = ""
			return nil, nil, p.KnownCycle() != nil, nil
		}
		if err != nil || cyc != nil {
			return nil, nil, cyc != nil, err
		}
		if how == pruneNone {
			return reach, nil, false, nil
		}
		if how == pruneEdges {
			conflict, err = p.Prune(x.Ctx, reach)
			if err != nil {
				x.Stopped()
				err = nil
			}
			reach.Settle()
			return reach, conflict, false, err
		}
		if n, conflict := p.PruneRound(reach); n == 0 || conflict != nil {
			if !keep {
				reach = nil
			}
			return reach, conflict, false, nil
		}
	}
}
