package spill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"

	"isovet/check/spill/plan"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/safego"
	"isovet/level"
)

// Options say how to check a history.
type Options struct {
	Dir    string // of the files; it is made if it does not exist
	Memory int64  // bytes; 0: 1 GiB
	Level  level.Level
	Asked  bool  // Level was asked for: it also applies to transactions that name another level
	Skew   int64 // ns, as check.Options.ClockSkew
	// Checker is one of Checkers(); "": CheckerOf(Level).
	Checker string
	// ReadOnlyAtStart is as in check.Options, for chronos.
	ReadOnlyAtStart bool
	// MaxWindow bounds the transactions of a window; 0: what memory allows, at most 200,000.
	MaxWindow int
	Workers   int // 0: all cores
	Parts     int // partitions of the keys; 0: what memory asks for
	// Keep leaves the files of the history's chunks for another check. They also stay if there is no answer, as after a
	// timeout or on a full disk: the same check then continues with the finished files.
	Keep bool
	// Resumed, if set, is called with the number of stretches that an earlier check has read, and the number of all.
	Resumed func(n, of int)
	// Backend, if set, does the work on other machines; Dir is not used.
	Backend Backend
	// Progress, if set, is called with the present step and how far it is.
	Progress func(stage string, done, total int64)

	full func(bytes int) error // tests: called before bytes are written
	free func() (int64, bool)  // tests: replaces Free
}

// Window is a stretch of the order that could not be decided.
type Window struct {
	From, To int64 // client times
	Txns     int   // approximate number
	Why      string
}

// Answer is the result of a check.
type Answer struct {
	Verdict evidence.Verdict
	Reason  string // with Unknown
	// Found has the proofs of violations. Each is certified and is a small history of its own that violates the
	// level only if the whole does.
	Found []*evidence.Result
	// Proof is one proof of all of Found, with all transactions that it needs.
	Proof *evidence.Result
	// With are the ids of transactions in Proof that read from ones of unknown outcome.
	With []int64
	// Open are stretches that were not decided. An answer "violation" may have some.
	Open []Window
	// Moves are the exceptions of a valid history to the rule that orders transactions by their ends.
	Moves map[uint64]plan.Move
	// Moved has ids and times of the transactions in Moves.
	Moved map[uint64]Named
	// ByPlace says that transactions are in the order of the file, since the history has no times.
	ByPlace bool
	// By is the level of the order that was found; it implies Level.
	By level.Level
	// Bare says that the answer "valid" was certified in memory and has no certificate to write.
	Bare    bool
	Checker string
	Stamps  plan.Stamps // if On, the order is that of these timestamps
	Level   level.Level
	// Partial says that Proof leaves out some reads of its transactions.
	Partial bool
	Stats   Stats
}

// Named is the id of a transaction in its file, with the times between which it took effect (history.Window).
type Named struct{ ID, Start, End int64 }

func named(x *plan.Txn) Named {
	n := Named{x.ID, x.Start, x.End}
	if x.Status != history.Committed || x.End == history.NoTime {
		n.End = math.MaxInt64
	}
	return n
}

// Stats has the counts of a run.
type Stats struct {
	Txns, Ops, Keys  int64
	FileOps          int64 // [history.History.FileOps]
	Sessions         int64
	Committed        int64
	Unknown, Reads   int64 // Reads counts those of committed transactions
	Parts            int
	Chunks           int
	Misfits, Windows int // Misfits: of the first replay; Windows: of all rounds
	Rounds           int
	Largest          int // transactions of the largest window
	Resumed          int // stretches that an earlier check had read
	Recalled         int // later answers that an earlier check had stored
}

// Check decides whether a history satisfies a level, in bounded memory. If the disk is too small or full, the error is
// [syscall.ENOSPC], and the finished files stay: the same check goes on with them.
func Check(ctx context.Context, in *Input, o Options) (a *Answer, err error) {
	o.Checker = cmp.Or(o.Checker, CheckerOf(o.Level))
	if !slices.Contains(LevelsOf(o.Checker), o.Level) {
		return &Answer{Verdict: evidence.Unknown, Reason: fmt.Sprintf("%s is not checked out of core", o.Level)}, nil
	}
	o.Memory = cmp.Or(o.Memory, 1<<30)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	defer func() {
		if errors.Is(err, syscall.ENOSPC) {
			err = fmt.Errorf("%s: the disk is full (%w); finished parts stay there, and the same command goes on "+
				"from them", o.Dir, err)
		}
	}()
	if a, err = run(ctx, in, o, true); errors.Is(err, plan.ErrRoom) {
		a, err = run(ctx, in, o, false)
	}
	return a, err
}

// run is Check with few partitions. If a partition does not fit in memory ([plan.ErrRoom]), run starts again with
// enough partitions.
func run(ctx context.Context, in *Input, o Options, few bool) (a *Answer, err error) {
	e := &engine{in: in, o: o, few: few, asked: o.Level, until: plan.Last, mended: plan.First}
	e.o.Level = orderOf(o.Level)
	defer e.close()
	if err := e.open(); err != nil {
		return nil, err
	}
	if err := e.mapTimed(ctx); err != nil {
		if u, ok := errors.AsType[*plan.Unfit](err); ok {
			e.done = true
			return &Answer{Verdict: evidence.Unknown, Reason: u.What}, nil
		}
		return nil, err
	}
	decide := e.decide
	if e.rule.Stamps.On {
		decide = e.decideStamped
	}
	if a, err = decide(ctx); err != nil {
		return nil, err
	}
	e.stats.Recalled = int(e.recalled.Load())
	a.Stats, a.Level, a.ByPlace = e.stats, e.asked, e.rule.ByPlace
	a.By = e.o.Level
	a.Checker, a.Stamps = e.o.Checker, e.rule.Stamps
	e.done = true
	return a, nil
}

// engine is one run of a check.
type engine struct {
	in    *Input
	o     Options
	parts int
	few   bool // there may be too few partitions for each to fit in memory
	rule  plan.Rule
	// The order is mended up to mended, and is now being mended up to until; part is the number of transactions in
	// between.
	until, mended plan.Pos
	part          float64

	asked level.Level // the level of the question; o.Level is the level of the order
	stats Stats
	lock  *os.File // of the folder
	done  bool     // the check has an answer
	progressed

	mapped

	only    []plan.Value // keys of the initial transaction that gather reads; nil: all
	moves   *plan.Moves
	density *density
	init    uint64              // place of the initial transaction
	ids     map[uint64]Named    // of exceptions
	counted map[uint64]plan.Pos // transactions of unknown outcome that count, and their places by the rule
	judgements
	proved
	exceptions
}

// progressed counts the steps of a run.
type progressed struct {
	steps    int          // so far
	unkept   bool         // the answers that follow are not stored
	sliced   int          // rounds in which stretches were solved slice by slice
	recalled atomic.Int64 // answers of an earlier check that were used
}

// proved has the results of proofs, and the look-ups that they made.
type proved struct {
	named  map[string]bool             // proofs found so far
	seen   map[int64]*plan.Txn         // transactions of proofs, by id
	wrote  map[plan.Want][]plan.Writer // the writers of versions that proofs asked for, without the next ones
	forced map[int64]bool              // transactions of these whose reads show that others committed
}

// judgements records what must not be judged again.
type judgements struct {
	solved     []past      // earlier windows
	settled    []plan.Span // stretches that are decided, or given up
	settledTxn map[uint64]bool
	tried      map[uint64]bool // readers that far has tried
	aside      uint32          // number of readers that far moved back
}

// mapped has the chunks and heads of the history.
type mapped struct {
	tasks    []*task
	chunks   [][]plan.Chunk // by partition
	total    plan.MapStats
	bad      []uint64
	timeless []uint64
}

// exceptions are the chunks of transactions with another position than by the rule, by partition: in a file, or, with a
// backend, in memory.
type exceptions struct {
	movedFile  *file
	movedBytes int64
	pieces     int // number of these chunks
	moved      [][]MovedChunk
}

func (e *engine) progress(stage string, done, total int64) {
	if e.o.Progress != nil {
		e.o.Progress(stage, done, total)
	}
}

// readers is the number of goroutines that read the history at once. It is bounded because the pages of a mapped file
// that they touch count as memory.
func (e *engine) readers() int { return int(max(1, min(int64(e.o.Workers), e.o.Memory>>27))) }

// parallel runs f(0) … f(n-1) on some workers, in this order, and returns the first error.
func parallel(ctx context.Context, workers, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var g safego.Group
	for range min(workers, n) {
		g.Go(func() {
			whole := false
			defer func() {
				if !whole { // f panics: Wait passes it on
					cancel(context.Canceled)
				}
			}()
			for i := range next {
				if ctx.Err() != nil {
					continue
				}
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
			whole = true
		})
	}
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	g.Wait()
	return context.Cause(ctx)
}

// replay replays all partitions, or only the keys in keep, and returns the contradicting reads, in an order that does
// not depend on the partitions.
func (e *engine) replay(ctx context.Context, stage string, keep *keySet) ([]plan.Misfit, error) {
	most := e.maxMisfits()
	got, err := e.replayed(ctx, stage, keep, most)
	if err != nil {
		return nil, err
	}
	var all []plan.Misfit
	keys := int64(0)
	for _, r := range got {
		switch {
		case r.NoRoom:
			return nil, plan.ErrRoom
		case r.TooMany, len(all) > most:
			return nil, errTooMany
		}
		all = append(all, r.Misfits...)
		keys += int64(r.Keys)
	}
	if keep == nil {
		e.stats.Keys = keys
	}
	sortMisfits(all)
	return all, nil
}

// replayed replays all partitions, by the rule or by timestamps: see [Order.Replay].
func (e *engine) replayed(ctx context.Context, stage string, keep *keySet, most int) ([]Replayed, error) {
	var bits []uint64
	f := e.filter()
	if keep != nil {
		bits, f.Keep = keep.bits, keep.has
	}
	e.progress(stage, 0, int64(e.parts))
	o := e.order()
	if e.o.Backend != nil {
		return e.o.Backend.Replay(ctx, o, bits, most, e.partsOf(nil))
	}
	var done, found atomic.Int64
	return answers(ctx, e, "replay", []any{o, bits, most}, e.o.Workers, e.parts,
		func(ctx context.Context, p int) (Replayed, error) {
			r, err := o.replay(ctx, p, e.chunks[p], f, max(0, most-int(found.Load())))
			found.Add(int64(len(r.Misfits)))
			e.progress(stage, done.Add(1), int64(e.parts))
			return r, err
		})
}

var errTooMany = errors.New("too many reads contradict the order of client times")

// maxMisfits bounds the contradicting reads in memory: each takes some 250 bytes, with its writers.
func (e *engine) maxMisfits() int {
	if fewMisfits > 0 {
		return fewMisfits
	}
	return int(max(e.o.Memory/8/250, 1000))
}

// fewMisfits, if set, is maxMisfits. Tests set it.
var fewMisfits = 0

func sortMisfits(all []plan.Misfit) {
	slices.SortFunc(all, func(a, b plan.Misfit) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Reader, b.Reader), a.Key.Compare(b.Key))
	})
}

func (e *engine) room() int { return int(e.o.Memory / 4 / int64(e.o.Workers)) }

func (e *engine) filter() plan.Filter {
	return plan.Filter{Moved: e.moves, Room: e.room(), Until: e.until}
}

// order describes the exceptions to a backend.
func (e *engine) order() Order {
	return Order{Txns: e.in.Txns, Initial: e.in.Initial, Moved: movedOf(e.moves), Room: e.room(),
		Stamps: e.rule.Stamps, Parts: e.rule.Parts, Until: e.until}
}

// partsOf returns the partitions with a request, or all.
func (e *engine) partsOf(asked []Part) (parts []Part) {
	for p := range e.parts {
		x := Part{Part: p, Moved: e.moved[p]}
		if asked != nil {
			x.Wants, x.At, x.Asked, x.Alone = asked[p].Wants, asked[p].At, asked[p].Asked, asked[p].Alone
			if len(x.Wants)+len(x.At)+len(x.Asked) == 0 {
				continue
			}
		}
		parts = append(parts, x)
	}
	return parts
}

// writers finds the writers of versions, and unless alone is set the next ones.
func (e *engine) writers(ctx context.Context, wants []plan.Want, alone bool) (map[plan.Want][]plan.Writer, error) {
	by := make([]Part, e.parts)
	for _, w := range wants {
		p := &by[plan.PartOf(plan.HashOf(w.Key), e.parts)]
		p.Alone = alone
		p.Wants = append(p.Wants, w)
	}
	parts, got, err := e.ask(ctx, by)
	if err != nil {
		return nil, err
	}
	all := make(map[plan.Want][]plan.Writer, len(wants))
	for i, w := range got {
		for j, want := range parts[i].Wants {
			all[want] = w.Writers[j]
		}
	}
	return all, nil
}

// states finds the values of keys before places.
func (e *engine) states(ctx context.Context, at []plan.At) (map[plan.At]plan.Value, error) {
	by := make([]Part, e.parts)
	for _, a := range at {
		p := &by[plan.PartOf(plan.HashOf(a.Key), e.parts)]
		p.At = append(p.At, a)
	}
	parts, got, err := e.ask(ctx, by)
	if err != nil {
		return nil, err
	}
	all := make(map[plan.At]plan.Value, len(at))
	for i, w := range got {
		for j, a := range parts[i].At {
			all[a] = w.States[j]
		}
	}
	return all, nil
}

// ask sends the requests to their partitions.
func (e *engine) ask(ctx context.Context, asked []Part) (parts []Part, got []Written, err error) {
	parts = e.partsOf(asked)
	var o Order
	if e.o.Backend != nil || e.kept() { // or each slice of a stretch would list all exceptions again
		o = e.order()
	}
	if e.o.Backend != nil {
		got, err = e.o.Backend.Writers(ctx, o, parts)
	} else {
		got, err = answers(ctx, e, "ask", []any{o, parts}, e.o.Workers, len(parts),
			func(ctx context.Context, i int) (Written, error) {
				return WritersOf(ctx, e.chunks[parts[i].Part], e.filter(), e.in.Initial, &parts[i])
			})
	}
	if err != nil {
		return nil, nil, err
	}
	for _, w := range got {
		if w.NoRoom {
			return nil, nil, plan.ErrRoom
		}
	}
	return parts, got, nil
}
