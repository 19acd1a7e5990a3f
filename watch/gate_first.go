package watch

import (
	"cmp"
	"math"
	"slices"

	"isovet/internal/slice"
)

// The first transactions of a stream wait for each other: one alone does not show which of them is far ahead.

// early stores one of the first transactions of the stream. timed says that it has a time, at. who is its session, a
// new number each time if it has none.
func (g *gate) early(b *Batch, i int, at, who int64, timed bool) {
	l := &b.Lines[i]
	g.start.first = append(g.start.first, heldLine{n: l.N, place: l.Place, at: at, text: slices.Clone(b.Text(i)),
		id: b.idOf(i), who: who, timed: timed})
	if timed {
		g.start.timed++
	}
	if g.start.timed == learning || len(g.start.first) == maxHeld {
		g.begin()
	}
}

// begin passes on the first transactions, except those far ahead of the others, which go to quarantine.
func (g *gate) begin() {
	from := g.jump1st()
	g.start.learned = true
	last := int64(0) // of the transactions that are not ahead
	for _, x := range g.start.first {
		if x.timed && x.at < from {
			last = max(last, x.at)
		}
	}
	for _, x := range g.start.first {
		if x.timed && x.at >= from && from != math.MaxInt64 {
			g.isolate(x, last)
			g.start.away = append(g.start.away, x)
			continue
		}
		if x.timed {
			if v, any := g.front.value(); any && x.at > v {
				g.pace.jump = max(g.pace.jump, plus(x.at, -v))
			}
			g.front.add(x.who, x.at)
		}
		g.start.ready = append(g.start.ready, x)
	}
	g.start.first, g.pace.told = nil, g.pace.clock
}

// jump1st returns the least time among the first transactions that is far ahead of the earlier times: by more than
// MaxJump or, if timestamps are not times, by more than 64 times the largest gap between those. The transactions from
// there on must be fewer than the others, come from fewer sessions, or be ahead of the clock too.
func (g *gate) jump1st() int64 {
	const none = 1<<63 - 1
	all := slice.Filter(g.start.first, func(x heldLine) bool { return x.timed })
	slices.SortFunc(all, func(a, b heldLine) int { return cmp.Compare(a.at, b.at) })
	sessions := func(some []heldLine) int {
		seen := map[int64]bool{}
		for _, x := range some {
			seen[x.who] = true
		}
		return len(seen)
	}
	usualGap := int64(0)
	for i := 1; i < len(all); i++ {
		base, gap := all[i-1].at, plus(all[i].at, -all[i-1].at)
		by, tells := g.unit.ticks(g.o.MaxJump)
		if !tells {
			by = max(int64(fewTicks), usual*min(usualGap, none/usual))
		}
		byClock := false
		if now, ok := g.now(); ok && tells {
			base, byClock = max(base, now), true
		}
		if all[i].at > plus(base, by) && (byClock || 2*i > len(all) || sessions(all[i:]) < sessions(all[:i])) {
			return all[i].at
		}
		usualGap = max(usualGap, gap)
		g.pace.jump = usualGap
	}
	return none
}

// badLine reports that a first line is not understood. Such a line waits for others until no more lines arrive.
func (g *gate) badLine(place int64, err error) {
	if g.bad != nil {
		g.bad(place, err)
	}
}

// release ends the wait of the first transactions, since no more lines arrive, and passes them to let.
func (g *gate) release(let func(bad func(place int64, err error)) (more bool)) {
	if g.waits() {
		g.begin()
		let(g.badLine)
	}
}

func (g *gate) waits() bool { return len(g.start.first) > 0 }

// let passes on the first transactions in batches: those in quarantine to away, since others may read their writes,
// and the others to in. So it does with lines that are released from quarantine.
func (g *gate) let(begin func(b *Batch), away, in func(b *Batch, i int)) (any bool) {
	each := func(b *Batch, do func(b *Batch, i int)) {
		if b == nil {
			return
		}
		any = true
		begin(b)
		for i := range b.Lines {
			do(b, i)
		}
	}
	each(batchOf(g.start.away), away)
	each(batchOf(g.start.ready), in)
	g.start.away, g.start.ready = nil, nil
	each(g.released(), in)
	return any
}

// batchOf reads stored lines again. It returns nil if there are none.
func batchOf(lines []heldLine) *Batch {
	if len(lines) == 0 {
		return nil
	}
	out := newBatch()
	out.reset(1) // no header
	for _, l := range lines {
		out.addNumber(l.n, Line{Place: l.place, Text: l.text})
	}
	out.seal()
	out.read()
	return out
}
