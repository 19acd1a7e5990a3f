package spill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"isovet/check/spill/plan"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/plural"
	"isovet/internal/slice"
)

// pair is two transactions of a session in the wrong order.
type pair struct {
	a, b uint64
	span plan.Span
}

// trouble lists the contradictions of an order.
type trouble struct {
	misfits  []plan.Misfit
	sessions []pair
	// spans are windows without an order for the state at their begin.
	spans []plan.Span
}

func (t *trouble) none() bool { return len(t.misfits)+len(t.sessions)+len(t.spans) == 0 }

// window is a stretch to solve.
type window struct {
	span plan.Span
	wish map[plan.Value]plan.Value
}

// maxRounds bounds the rounds of replaying and mending.
const maxRounds = 40

// decide replays the order and mends it, until it explains the history or cannot be mended.
func (e *engine) decide(ctx context.Context) (*Answer, error) {
	a := &Answer{}
	e.o.MaxWindow = cmp.Or(e.o.MaxWindow, int(min(200_000, max(1000, e.o.Memory/20/e.txnBytes()))))
	if err := e.countSessions(ctx); err != nil {
		return nil, err
	}
	if len(e.bad) > 0 {
		if err := e.refuteEach(ctx, a, e.bad, "a read contradicts the transaction's own operations"); err != nil {
			return nil, err
		}
	}
	var t trouble
	err := e.placeTimeless(ctx)
	if err != nil {
		return nil, err
	}
	for more := true; more; more = t.none() && e.forward() {
		if t, err = e.first(ctx); err != nil {
			return e.giveUp(ctx, a, err)
		}
		e.stats.Misfits += len(t.misfits)
		before := e.stats.Rounds
		for e.drop(&t); !t.none() && e.stats.Rounds-before < maxRounds; e.drop(&t) {
			e.stats.Rounds++
			if err := e.round(ctx, a, &t); err != nil {
				return e.giveUp(ctx, a, err)
			}
		}
	}
	if len(a.Found) == 0 && (!t.none() || len(a.Open) > 0) {
		if is, err := e.whole(ctx, a); err != nil {
			return nil, err
		} else if is {
			t, a.Open = trouble{}, nil
		}
	}
	switch {
	case len(a.Found) > 0:
		a.Verdict = evidence.Violated
		if err := e.prove(ctx, a); err != nil {
			return nil, err
		}
	case !t.none():
		a.Reason = fmt.Sprintf("after %d rounds some reads still contradict the order", maxRounds)
	case len(a.Open) > 0:
		w := a.Open[0]
		a.Reason = fmt.Sprintf("%s of the order of client times could not be decided, the first from %d to %d: %s",
			plural.Of(len(a.Open), "stretch"), w.From, w.To, w.Why)
	default:
		return e.holds(a), nil
	}
	return a, nil
}

// giveUp turns a bound that was reached into an answer "unknown".
func (e *engine) giveUp(ctx context.Context, a *Answer, err error) (*Answer, error) {
	switch {
	case errors.Is(err, errTooMany):
	case errors.Is(err, plan.ErrRoom) && e.few:
		return nil, err // more partitions may help
	case errors.Is(err, plan.ErrRoom):
		err = errors.New("the files do not list the transactions in the order of their ends, and memory is too " +
			"small to sort them; give more with --memory")
	default:
		return nil, err
	}
	if len(a.Found) == 0 {
		if is, err := e.whole(ctx, a); err != nil && !errors.Is(err, errTooMany) && !errors.Is(err, plan.ErrRoom) {
			return nil, err
		} else if is && len(a.Found) == 0 {
			return e.holds(a), nil
		}
	}
	if a.Verdict = evidence.Unknown; len(a.Found) > 0 {
		a.Verdict = evidence.Violated
		return a, e.prove(ctx, a)
	}
	a.Reason = err.Error()
	return a, nil
}

// holds is the answer that the order explains the history.
func (e *engine) holds(a *Answer) *Answer {
	a.Verdict, a.Moves, a.Moved = evidence.Holds, e.moves.At, e.ids
	return a
}

// drop removes settled contradictions: those in a stretch that violates the level or stays undecided, and reads that
// are known to be impossible.
func (e *engine) drop(t *trouble) {
	t.misfits = slices.DeleteFunc(t.misfits, func(m plan.Misfit) bool {
		return e.settledTxn[m.Reader] || e.settledAt(m.At) || m.Found != plan.NoPlace && e.settledAt(m.From)
	})
	t.sessions = slices.DeleteFunc(t.sessions, func(p pair) bool {
		return e.settledTxn[p.b] || e.settledAt(p.span.From) || e.settledAt(p.span.To)
	})
}

func (e *engine) settledAt(p plan.Pos) bool { return plan.Find(e.settled, p) >= 0 }

// sessions finds pairs of a session that are in the wrong order, if the level demands session order.
func (e *engine) sessions(ctx context.Context) (wrong []pair, err error) {
	if !e.o.Level.Sessions() {
		return nil, nil
	}
	var s plan.Sessions
	most := e.maxMisfits()
	err = e.eachHead(ctx, func(place uint64, h *plan.Head) {
		if h.Init || h.Session == history.NoTime {
			return
		}
		at := plan.Pos{T: h.T, N: place}
		m := plan.Move{Begin: at, Commit: at}
		if e.moves.Moved(place) {
			m = e.moves.At[place]
		} else if h.Status != history.Committed {
			return
		}
		before, commit, is := s.Add(h.Session, place, m, h.Status == history.Committed)
		if is && !e.until.Less(commit) && len(wrong) < most {
			wrong = append(wrong, pair{before, place, plan.Span{From: m.Begin, To: commit}})
		}
	})
	if len(wrong) == most {
		err = cmp.Or(err, errTooMany)
	}
	return wrong, err
}

// manySessions is the number of sessions past which countSessions stops to count.
const manySessions = 1 << 20

// countSessions counts the sessions in the heads, and each transaction without one. It also samples the density of
// transactions.
func (e *engine) countSessions(ctx context.Context) error {
	e.density = newDensity(e.total.Committed)
	defer e.density.sort()
	named := map[int64]bool{}
	last := int64(history.NoTime)
	alone := int64(0)
	err := e.eachHead(ctx, func(place uint64, h *plan.Head) {
		if !h.Init && h.Status == history.Committed {
			e.density.add(plan.Pos{T: h.T, N: place})
		}
		switch {
		case h.Init:
		case h.Session == history.NoTime:
			alone++
		case h.Session != last && len(named) < manySessions:
			last = h.Session
			named[last] = true
		}
	})
	if e.stats.Sessions = alone + int64(len(named)); len(named) == manySessions {
		e.stats.Sessions = 0
	}
	return err
}

// count estimates the number of transactions in a span.
func (e *engine) count(s plan.Span) float64 { return e.density.count(s) }

// few is the least number of transactions that a window gains at each end when it grows.
const few = 8

// round looks up the writers of contradicting reads, makes windows and solves them, and replays the keys of the
// transactions that moved.
func (e *engine) round(ctx context.Context, a *Answer, t *trouble) error {
	e.progress(fmt.Sprintf("round %d: %s", e.stats.Rounds, plural.Of(len(t.misfits), "contradicting read")), 0, 0)
	wants := slice.Map(t.misfits, func(m plan.Misfit) plan.Want { return plan.Want{Key: m.Key, Value: m.Want} })
	by, err := e.writers(ctx, wants, false)
	if err != nil {
		return err
	}
	spans := slices.Clone(t.spans)
	counts := map[uint64]plan.Pos{} // transactions of unknown outcome → their first reader
	var alone []uint64              // readers of versions that may have no installer
	causes := make([]plan.Cause, len(t.misfits))
	for i, m := range slice.Refs(t.misfits) {
		c := plan.CauseOf(m, by[plan.Want{Key: m.Key, Value: m.Want}])
		causes[i] = c
		switch c.Case {
		case plan.Counts:
			if p, ok := counts[c.Writer.Place]; !ok || m.At.Less(p) {
				counts[c.Writer.Place] = m.At
			}
		case plan.NoWriter:
			alone = append(alone, m.Reader)
		default:
			if e.settledAt(c.Saw.Pos) || c.Saw.Next != plan.NoPlace && e.settledAt(c.Saw.NextPos) {
				e.settledTxn[m.Reader] = true // its misfits are decided
				causes[i].Case = plan.NoWriter
				continue
			}
			spans = append(spans, c.Span)
		}
	}
	for _, p := range t.sessions {
		spans = append(spans, p.span)
	}
	if len(alone) > 0 {
		slices.Sort(alone)
		if err := e.refuteEach(ctx, a, slices.Compact(alone), "no transaction that may have committed wrote the "+
			"value it read"); err != nil {
			return err
		}
	}
	if len(counts) > 0 {
		// The places of these may move other transactions, so windows follow in the next round.
		return e.countIn(ctx, counts, t)
	}
	if acted, err := e.far(ctx, a, t, causes); acted || err != nil {
		return err
	}
	ws := e.windows(spans)
	var small, large []window
	for _, w := range ws {
		if e.count(w.span) <= float64(e.o.MaxWindow) {
			small = append(small, w)
		} else {
			large = append(large, w)
		}
	}
	wishes(small, t.misfits, causes)
	touched := newKeys()
	large, err = e.slices(ctx, a, large, t.misfits, causes, touched)
	if err != nil {
		return err
	}
	if err := e.tooLarge(ctx, a, large, t.misfits, causes); err != nil {
		return err
	}
	e.stats.Windows += len(small)
	t.spans = nil
	if err := e.solveAll(ctx, a, small, t, touched); err != nil {
		return err
	}
	return e.again(ctx, t, touched)
}

// wishes tells windows which values the readers after them need.
func wishes(ws []window, misfits []plan.Misfit, causes []plan.Cause) {
	for i := range ws {
		ws[i].wish = map[plan.Value]plan.Value{}
	}
	for i, m := range misfits {
		if j := at(ws, m.From); j >= 0 && causes[i].Case == plan.InReach && ws[j].span.To.Less(m.At) {
			ws[j].wish[m.Key] = m.Want
		}
	}
}

// again replays the touched keys and checks sessions again.
func (e *engine) again(ctx context.Context, t *trouble, touched *keySet) (err error) {
	if touched.n == 0 {
		return nil // nothing changed
	}
	left := slices.DeleteFunc(t.misfits, func(m plan.Misfit) bool { return touched.has(plan.HashOf(m.Key)) })
	found, err := e.replay(ctx, fmt.Sprintf("replaying, round %d", e.stats.Rounds), touched)
	if err != nil {
		return err
	}
	t.misfits = append(left, found...)
	sortMisfits(t.misfits)
	t.sessions, err = e.sessions(ctx)
	return err
}

// at finds the window that has a place.
func at(ws []window, p plan.Pos) int {
	i, _ := slices.BinarySearchFunc(ws, p, func(w window, p plan.Pos) int { return w.span.To.Compare(p) })
	if i < len(ws) && ws[i].span.Has(p) {
		return i
	}
	return -1
}

// past is an earlier window, and the number of transactions by which it last grew.
type past struct {
	plan.Span
	grew float64
}

// windows joins spans to windows. A window that meets earlier windows takes them in, and grows once a round, by twice
// as much as they did. The growth is bounded: if many earlier windows are close together, growth for each of them would
// soon cover the whole history.
func (e *engine) windows(spans []plan.Span) (ws []window) {
	fresh := make([]past, 0, len(spans))
	for _, s := range plan.Join(spans) {
		// A moved transaction comes after the others at its place, so a window must have all of a place or nothing.
		s.From.Sub, s.To.Sub = 0, math.MaxUint32
		p, met := e.takeIn(past{Span: s})
		if met {
			p.grew = max(min(2*p.grew, float64(e.o.MaxWindow)/12), few)
			p.Span = e.density.grow(p.Span, p.grew)
			p, _ = e.takeIn(p)
		}
		fresh = append(fresh, p)
	}
	ws = append(ws, slice.Map(joined(slices.Clone(fresh)), func(p past) window { return window{span: p.Span} })...)
	e.solved = joined(append(e.solved, fresh...))
	return ws
}

// takeIn returns a stretch joined with the earlier windows that it meets.
func (e *engine) takeIn(p past) (_ past, met bool) {
	i, _ := slices.BinarySearchFunc(e.solved, p.From, func(w past, at plan.Pos) int { return w.To.Compare(at) })
	for to := p.To; i < len(e.solved) && !to.Less(e.solved[i].From); i++ {
		p, met = p.with(e.solved[i]), true
	}
	return p, met
}

// with joins two windows.
func (p past) with(o past) past {
	if o.From.Less(p.From) {
		p.From = o.From
	}
	if p.To.Less(o.To) {
		p.To = o.To
	}
	p.grew = max(p.grew, o.grew)
	return p
}

// joined merges windows that touch; the result is in their order.
func joined(ps []past) (out []past) {
	slices.SortFunc(ps, func(a, b past) int { return cmp.Or(a.From.Compare(b.From), a.To.Compare(b.To)) })
	for _, p := range ps {
		if n := len(out); n > 0 && !out[n-1].To.Less(p.From) {
			out[n-1] = out[n-1].with(p)
		} else {
			out = append(out, p)
		}
	}
	return out
}

// countIn counts these transactions of unknown outcome as committed. It places each as long after its start as
// committed transactions usually end after theirs, but before its first reader.
func (e *engine) countIn(ctx context.Context, counts map[uint64]plan.Pos, t *trouble) error {
	by, err := e.txnsAt(ctx, slices.Collect(maps.Keys(counts)))
	if err != nil {
		return err
	}
	usual := int64(0)
	if e.total.Taken > 0 {
		usual = e.total.Took / e.total.Taken
	}
	touched := newKeys()
	var events []plan.Event
	for _, p := range slices.Sorted(maps.Keys(by)) {
		x := by[p]
		T := counts[p].T - 1
		if x.Start != history.NoTime {
			T = max(x.Start, min(T, x.Start+usual))
		}
		T = max(T, plan.First.T+1)
		events = append(events, e.standAt(x, plan.Pos{T: T, N: p}))
		touched.addTxn(x)
	}
	if err := e.write(events); err != nil {
		return err
	}
	return e.again(ctx, t, touched)
}

// leave marks a stretch as undecided.
func (e *engine) leave(a *Answer, s plan.Span, why string) {
	a.Open = append(a.Open, Window{max(s.From.T, e.total.MinT), min(s.To.T, e.total.MaxT), int(e.count(s)), why})
	e.settled = plan.Join(append(e.settled, s))
}

// If more reads contradict the order than memory can take, the order is mended part by part: first up to a place, which
// moves forward once there is no contradiction before it.

// first replays everything up to e.until. It moves e.until back until the contradicting reads fit into memory.
func (e *engine) first(ctx context.Context) (t trouble, err error) {
	for {
		if t.misfits, err = e.replay(ctx, "replaying", nil); err == nil {
			t.sessions, err = e.sessions(ctx)
		}
		if !errors.Is(err, errTooMany) || !e.halve() {
			return t, err
		}
		e.progress(fmt.Sprintf("too many contradicting reads at once: going on in parts of about %.0f transactions",
			e.part), 0, 0)
	}
}

// halve brings e.until back to the middle of the rest. It returns false if too few transactions are left.
func (e *engine) halve() bool {
	d := e.density
	lo, _ := slices.BinarySearchFunc(d.at, e.mended, plan.Pos.Compare)
	hi, _ := slices.BinarySearchFunc(d.at, e.until, plan.Pos.Compare)
	if hi-lo < 2 {
		return false
	}
	e.until = d.at[(lo+hi)/2]
	e.part = float64(d.every * ((hi - lo) / 2))
	return true
}

// forward moves e.until forward. It returns false at the end of the history.
func (e *engine) forward() bool {
	if e.until == plan.Last {
		return false
	}
	e.mended, e.until = e.until, e.density.grow(plan.Span{From: e.until, To: e.until}, 2*e.part).To
	return true
}
