package spill

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"isovet/check/spill/plan"
)

// Swept is the result for a partition of a history by timestamps.
type Swept struct {
	Found []plan.StampViolation // the first by transaction, if there are more than the request allows
	Count [2]int64              // of EXT and NOCONFLICT
	// Conflicts are the keys that fail NOCONFLICT.
	Conflicts []plan.Value
	Tie       *plan.Tie
}

// Replay replays the keys of a partition that keep has, or all if it is nil. By the rule, it lists the contradicting
// reads, up to most. By timestamps it checks EXT, the keys that fail NOCONFLICT, and in the last partition commits that
// tie; with keep, it lists the pairs that fail NOCONFLICT. Past most violations it lists the first.
func (o *Order) Replay(ctx context.Context, part int, chunks []plan.Chunk, keep []uint64, most int) (Replayed, error) {
	return o.replay(ctx, part, chunks, o.Filter(keep), most)
}

func (o *Order) replay(ctx context.Context, part int, chunks []plan.Chunk, f plan.Filter, most int) (r Replayed,
	err error) {
	if !o.Stamps.On {
		return replayPart(ctx, chunks, f, o.Initial, most)
	}
	chunks = stampedChunks(chunks)
	s := &r.Swept
	add := func(at int) func(plan.StampViolation) {
		return func(v plan.StampViolation) {
			s.Count[at]++
			if s.Found = append(s.Found, v); len(s.Found) > 2*most {
				s.Found = firstOf(s.Found, most)
			}
		}
	}
	switch {
	case part == o.Parts && f.Keep != nil:
	case part == o.Parts:
		s.Tie, err = plan.FirstTie(ctx, chunks, f)
	case f.Keep != nil:
		err = plan.Conflicts(ctx, chunks, f, add(1))
	default:
		r.Keys, err = plan.Sweep(ctx, chunks, f, o.Initial, o.Stamps, add(0), func(k plan.Value) {
			s.Conflicts = append(s.Conflicts, k)
		})
	}
	s.Found = firstOf(s.Found, most)
	if errors.Is(err, plan.ErrRoom) {
		r.NoRoom, err = true, nil
	}
	return r, err
}

// firstOf returns the first violations, sorted.
func firstOf(all []plan.StampViolation, most int) []plan.StampViolation {
	slices.SortFunc(all, func(a, b plan.StampViolation) int { return a.Compare(&b) })
	return all[:min(len(all), most)]
}

func stampedChunks(chunks []plan.Chunk) []plan.Chunk {
	chunks = slices.Clone(chunks)
	for i := range chunks {
		chunks[i].Stamped = true
	}
	return chunks
}

// sweep checks all partitions; with keep, it lists the pairs of conflicting writers of these keys.
func (e *engine) sweep(ctx context.Context, keep *keySet, most int) (all Swept, err error) {
	got, err := e.replayed(ctx, "replaying", keep, most)
	for i := range got {
		s := &got[i].Swept
		if got[i].NoRoom {
			return all, cmp.Or(err, plan.ErrRoom)
		}
		all.Found = append(all.Found, s.Found...)
		for a, n := range s.Count {
			all.Count[a] += n
		}
		all.Conflicts = append(all.Conflicts, s.Conflicts...)
		if s.Tie != nil {
			all.Tie = s.Tie
		}
		if keep == nil {
			e.stats.Keys += int64(got[i].Keys)
		}
	}
	all.Found = firstOf(all.Found, most)
	return all, err
}
