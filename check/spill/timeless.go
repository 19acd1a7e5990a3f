package spill

import (
	"context"
	"fmt"
	"slices"

	"isovet/check/spill/plan"
	"isovet/history"
)

// mapTimed maps the history by its times. If it has none at all, it maps it once more, in the order of the file.
func (e *engine) mapTimed(ctx context.Context) error {
	if err := e.mapAll(ctx); err != nil || e.total.Timeless == 0 {
		return err
	}
	if e.total.Timeless < e.total.Committed {
		if int64(len(e.timeless)) < e.total.Timeless || len(e.timeless) > e.maxMisfits() {
			return &plan.Unfit{What: fmt.Sprintf("%d of %d committed transactions have neither start nor end time; "+
				"that is too many for a check out of core", e.total.Timeless, e.total.Committed)}
		}
		return nil
	}
	e.rule.ByPlace = true
	e.total, e.bad, e.timeless, e.stats.Chunks = plan.MapStats{}, nil, nil, 0
	for _, t := range e.tasks {
		if t.chunks != nil {
			t.chunks.Close()
		}
		t.chunks, t.index, t.finished = nil, nil, false
	}
	return e.mapAll(ctx)
}

// placeTimeless puts the few transactions without times after their predecessor in the session, or in the history.
func (e *engine) placeTimeless(ctx context.Context) error {
	if len(e.timeless) == 0 {
		return nil
	}
	at := make(map[uint64]plan.Pos, len(e.timeless))
	sessions := make(map[int64]plan.Pos)
	last := plan.Pos{T: plan.First.T + 1}
	err := e.eachHead(ctx, func(place uint64, h *plan.Head) {
		if h.Init || h.Status != history.Committed {
			return
		}
		before, known := sessions[h.Session]
		known = known && h.Session != history.NoTime
		switch {
		case !h.Timeless:
			last = plan.Pos{T: h.T, N: place}
			if known || len(sessions) < manySessions {
				sessions[h.Session] = last
			}
		case known:
			at[place] = before
		default:
			at[place] = last
		}
	})
	if err != nil {
		return err
	}
	by, err := e.txnsAt(ctx, e.timeless)
	if err != nil {
		return err
	}
	slices.Sort(e.timeless)
	var events []plan.Event
	for _, p := range e.timeless {
		x := by[p]
		e.aside++
		to := at[p]
		to.Sub = aside + e.aside
		events = append(events, e.standAt(x, to))
	}
	return e.write(events)
}

// standAt makes a transaction an exception at a place, which becomes its place by the rule too.
func (e *engine) standAt(x *plan.Txn, to plan.Pos) plan.Event {
	x.Counts, x.Rule = true, to
	x.Now = plan.Move{Begin: to, Commit: to, Round: e.stats.Rounds}
	e.counted[x.Place] = to
	e.moves.Set(x.Place, x.Now)
	e.ids[x.Place] = named(x)
	return plan.Event{At: to, Txn: x, Reads: true, Writes: true}
}
