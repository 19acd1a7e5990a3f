package spill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"isovet/check/spill/plan"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/safego"
	"isovet/level"
)

// Options say how a history is checked.
type Options struct {
	Dir    string // for files; it is made if it is not there
	Memory int64  // bytes; 0: 1 GiB
	Level  level.Level
	Skew   int64 // ns, as check.Options.ClockSkew
	// MaxWindow is how many transactions a window may have; 0: what memory allows, at most 200,000.
	MaxWindow int
	Workers   int // 0: all cores
	Parts     int // partitions of the keys; 0: what memory asks for
	Keep      bool
	// Progress, if set, is told what is being done and how far it is.
	Progress func(stage string, done, total int64)
}

// Levels are those that are decided out of core.
func Levels() []level.Level {
	return []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable,
		level.SnapshotIsolation, level.SessionSnapshotIsolation, level.StrictSnapshotIsolation}
}

// Window is a stretch of the order that could not be decided.
type Window struct {
	From, To int64 // client times
	Txns     int   // about
	Why      string
}

// Answer is what was found.
type Answer struct {
	Verdict evidence.Verdict
	Reason  string // with Unknown
	// Found are proofs of violations, each by a small history of its own that violates the level only if the whole
	// does, certified.
	Found []*evidence.Result
	// Proof is one proof of all of these, by a history of all transactions that take part.
	Proof *evidence.Result
	// Open are stretches that were not decided. A violation may leave some.
	Open []Window
	// Moves, of a history that satisfies the level, are the exceptions to the rule that transactions stand in the order
	// of their ends.
	Moves map[uint64]plan.Move
	Stats Stats
}

// Stats counts a run.
type Stats struct {
	Txns, Ops, Keys  int64
	Committed        int64
	Parts            int
	Chunks           int
	Misfits, Windows int // in the first replay; of all rounds
	Rounds           int
	DiskBytes        int64
}

// opBytes is about how many bytes an operation takes on disk.
const opBytes = 12

// Disk is about how many bytes of files a check makes.
func Disk(in *Input) int64 { return opsOf(in)*opBytes + 8*in.Txns }

// opsOf guesses how many operations a history has.
func opsOf(in *Input) int64 { return max(in.Txns, in.Bytes/24) }

// unfit turns what a history has that is not checked out of core into an answer.
func unfit(err error) *Answer {
	var u *plan.Unfit
	if errors.As(err, &u) {
		return &Answer{Verdict: evidence.Unknown, Reason: u.What}
	}
	return nil
}

// Check decides whether a history satisfies a level, in bounded memory.
func Check(ctx context.Context, in *Input, o Options) (a *Answer, err error) {
	if !slices.Contains(Levels(), o.Level) {
		return &Answer{Verdict: evidence.Unknown, Reason: fmt.Sprintf("%s is not checked out of core", o.Level)}, nil
	}
	o.Memory = cmp.Or(o.Memory, 1<<30)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	if o.MaxWindow == 0 {
		o.MaxWindow = int(min(200_000, max(1000, o.Memory/20/1024)))
	}
	e := &engine{in: in, o: o}
	defer func() {
		if cerr := e.close(); err == nil {
			err = cerr
		}
	}()
	if err := e.open(); err != nil {
		return nil, err
	}
	if err := e.mapAll(ctx); err != nil {
		if a := unfit(err); a != nil {
			return a, nil
		}
		return nil, err
	}
	if a, err = e.decide(ctx); err != nil {
		return nil, err
	}
	a.Stats = e.stats
	e.done = true
	return a, nil
}

// engine is a run.
type engine struct {
	in    *Input
	o     Options
	parts int
	stats Stats
	done  bool

	tasks      []*task
	chunks     [][]plan.Chunk // by partition
	total      plan.MapStats
	bad        []uint64
	moves      *plan.Moves
	init       uint64              // place of the initial transaction
	counted    map[uint64]plan.Pos // transactions of unknown outcome that count, and where the rule has them
	solved     []plan.Span         // windows that have been
	settled    []plan.Span         // stretches that are decided, or given up
	settledTxn map[uint64]bool
	named      map[string]bool     // what was found
	seen       map[int64]*plan.Txn // transactions of proofs, by id
	// files of exceptions
	movedFiles []*os.File
}

func (e *engine) progress(stage string, done, total int64) {
	if e.o.Progress != nil {
		e.o.Progress(stage, done, total)
	}
}

// parallel runs f(0) … f(n-1) on the workers, in this order, and returns the first error.
func (e *engine) parallel(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var g safego.Group
	for range min(e.o.Workers, n) {
		g.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					continue
				}
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	g.Wait()
	return context.Cause(ctx)
}

// replay replays all partitions, or only the keys that keep says, and returns what misfits, in an order that does not
// depend on the partitions.
func (e *engine) replay(ctx context.Context, stage string, keep func(uint64) bool) ([]plan.Misfit, error) {
	by := make([][]plan.Misfit, e.parts)
	keys := make([]int, e.parts)
	most := e.maxMisfits() / e.parts
	done := make(chan struct{}, e.parts)
	e.progress(stage, 0, int64(e.parts))
	err := e.parallel(ctx, e.parts, func(ctx context.Context, p int) error {
		var err error
		over := fmt.Errorf("more than %d", most)
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		keys[p], err = plan.Replay(ctx, e.chunks[p], e.filter(keep), e.in.Initial, func(m plan.Misfit) {
			if len(by[p]) > most {
				cancel(over)
				return
			}
			by[p] = append(by[p], m)
		})
		if err == nil || errors.Is(err, over) {
			err = nil
			if len(by[p]) > most {
				err = errTooMany
			}
		}
		done <- struct{}{}
		e.progress(stage, int64(len(done)), int64(e.parts))
		return err
	})
	if err != nil {
		return nil, err
	}
	if keep == nil {
		e.stats.Keys = 0
		for _, k := range keys {
			e.stats.Keys += int64(k)
		}
	}
	all := slices.Concat(by...)
	sortMisfits(all)
	return all, nil
}

var errTooMany = errors.New("too many reads do not see the last version before them in the order of client times")

func (e *engine) maxMisfits() int { return int(max(e.o.Memory/10/200, 1000)) }

func sortMisfits(all []plan.Misfit) {
	slices.SortFunc(all, func(a, b plan.Misfit) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Reader, b.Reader), cmp.Compare(a.Key.Kind, b.Key.Kind),
			cmp.Compare(a.Key.N, b.Key.N), cmp.Compare(a.Key.Text, b.Key.Text))
	})
}

func (e *engine) filter(keep func(uint64) bool) plan.Filter {
	return plan.Filter{Moved: e.moves, Keep: keep, Room: int(e.o.Memory / 4 / int64(e.o.Workers))}
}

// writers asks who wrote versions.
func (e *engine) writers(ctx context.Context, wants []plan.Want) (map[plan.Want][]plan.Writer, error) {
	parts := make([][]plan.Want, e.parts)
	for _, w := range wants {
		p := plan.PartOf(w.Key.Hash(), e.parts)
		parts[p] = append(parts[p], w)
	}
	by := make([]map[plan.Want][]plan.Writer, e.parts)
	err := e.parallel(ctx, e.parts, func(ctx context.Context, p int) (err error) {
		if len(parts[p]) > 0 {
			by[p], err = plan.Writers(ctx, e.chunks[p], e.filter(nil), e.in.Initial, parts[p])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	all := make(map[plan.Want][]plan.Writer, len(wants))
	for _, m := range by {
		for w, l := range m {
			all[w] = l
		}
	}
	return all, nil
}

// gather reads transactions: those in a window (by where they stand now) and those of given places.
func (e *engine) gather(ctx context.Context, ws []plan.Span, places map[uint64]bool) (in [][]*plan.Txn,
	by map[uint64]*plan.Txn, err error) {
	in = make([][]*plan.Txn, len(ws))
	by = make(map[uint64]*plan.Txn, len(places))
	sorted := make([]uint64, 0, len(places))
	for p := range places {
		sorted = append(sorted, p)
	}
	slices.Sort(sorted)
	find := func(at plan.Pos) int {
		i, _ := slices.BinarySearchFunc(ws, at, func(w plan.Span, at plan.Pos) int { return w.To.Compare(at) })
		if i < len(ws) && !at.Less(ws[i].From) {
			return i
		}
		return -1
	}
	// Exceptions may stand where nothing of their piece does.
	special := make(map[uint64]int)
	for p, m := range e.moves.At {
		if i := find(m.Commit); i >= 0 {
			special[p] = i
		}
	}
	type found struct {
		txn *plan.Txn
		at  int // the window; -1: none
	}
	got := make([][]found, len(e.tasks))
	err = e.parallel(ctx, len(e.tasks), func(ctx context.Context, i int) error {
		t := e.tasks[i]
		if !t.holds(sorted) && !t.within(ws) && !t.holdsAny(special) {
			return nil
		}
		return t.each(ctx, e.in, func(h *history.History, first uint64) error {
			n := uint64(h.NumTxns())
			lo, _ := slices.BinarySearch(sorted, first)
			for u := range uint32(n) {
				place := first + uint64(u)
				at := -1
				wanted := lo < len(sorted) && sorted[lo] == place
				if wanted {
					lo++
				}
				moved := e.moves.Moved(place)
				switch {
				case len(ws) == 0:
				case moved:
					if s, ok := special[place]; ok {
						at = s
					}
				case u != h.Init && h.Txns.Status[u] == history.Committed:
					at = find(plan.Pos{T: h.End(u), N: place})
				}
				if at < 0 && !wanted {
					continue
				}
				x := plan.TxnOf(h, u, first)
				x.Rule = plan.Pos{T: h.End(u), N: place}
				x.Now = plan.Move{Begin: x.Rule, Commit: x.Rule}
				if moved {
					x.Now = e.moves.At[place]
				}
				if c, ok := e.counted[place]; ok {
					x.Counts, x.Rule = true, c
				}
				got[i] = append(got[i], found{x, at})
			}
			return nil
		})
	})
	if err != nil {
		return nil, nil, err
	}
	for _, l := range got {
		for _, f := range l {
			if f.at >= 0 {
				in[f.at] = append(in[f.at], f.txn)
			}
			if places[f.txn.Place] {
				by[f.txn.Place] = f.txn
			}
		}
	}
	for _, w := range in {
		slices.SortFunc(w, func(a, b *plan.Txn) int {
			return cmp.Or(a.Now.Commit.Compare(b.Now.Commit), cmp.Compare(a.Place, b.Place))
		})
	}
	return in, by, nil
}
