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

// Replay replays a partition, by the rule or by timestamps: see ReplayPart and SweepPart.
func (o *Order) Replay(ctx context.Context, part int, chunks []plan.Chunk, keep []uint64, most int) (Replayed, error) {
	if o.Stamps.On {
		return SweepPart(ctx, part, chunks, o, keep, most)
	}
	return ReplayPart(ctx, chunks, o.Filter(keep), o.Initial, most)
}

// SweepPart checks a partition by timestamps: EXT, the keys that fail NOCONFLICT, and in the last partition commits
// that tie. With keep, it lists the pairs that fail NOCONFLICT on the keys that keep has. Past most violations it lists
// the first.
func SweepPart(ctx context.Context, part int, chunks []plan.Chunk, o *Order, keep []uint64, most int) (r Replayed,
	err error) {
	chunks = stampedChunks(chunks)
	f := plan.Filter{Room: o.Room}
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
	case part == o.Parts && keep != nil:
	case part == o.Parts:
		s.Tie, err = plan.FirstTie(ctx, chunks, f)
	case keep != nil:
		f.Keep = (&keySet{bits: keep}).has
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

// stampedChunks are the chunks that have starts.
func stampedChunks(chunks []plan.Chunk) []plan.Chunk {
	chunks = slices.Clone(chunks)
	for i := range chunks {
		chunks[i].Stamped = true
	}
	return chunks
}

// sweep checks all partitions; with keep, it lists the pairs of conflicting writers of these keys.
func (e *engine) sweep(ctx context.Context, keep *keySet, most int) (all Swept, err error) {
	var bits []uint64
	if keep != nil {
		bits = keep.bits
	}
	o := e.order()
	got := make([]Replayed, e.parts)
	e.progress("replaying", 0, int64(e.parts))
	if e.o.Backend != nil {
		got, err = e.o.Backend.Replay(ctx, o, bits, most, e.partsOf(nil))
	} else {
		var s step
		if s, err = e.step("sweep", bits); err != nil {
			return all, err
		}
		err = e.parallel(ctx, e.parts, func(ctx context.Context, p int) (err error) {
			got[p], err = answer(e, s, p, func() (Replayed, error) {
				return SweepPart(ctx, p, e.chunks[p], &o, bits, most)
			}, func(r *Replayed) bool { return r.NoRoom })
			return err
		})
	}
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
