package watch

import (
	"cmp"
	"fmt"
	"slices"
)

// The first transactions wait for each other: until a few have arrived, it is unknown which of them is far ahead.

// early takes one of the first transactions, with its time if timed is set. who is its session; without one it is a new
// number each time.
func (g *gate) early(b *Batch, i int, at, who int64, timed bool) {
	l := &b.Lines[i]
	h := &b.Heads[l.Txn]
	x := heldLine{n: l.N, place: l.Place, at: at, text: slices.Clone(b.Text(i)), id: h.ID, who: who, timed: timed}
	if !h.HasID {
		x.id = l.N
	}
	g.start.first = append(g.start.first, x)
	if timed {
		if g.start.timed++; g.start.timed == learning {
			g.begin()
		}
	}
}

// begin releases the first transactions. Those far ahead of the others go to quarantine.
func (g *gate) begin() {
	from := g.jump1st()
	g.start.learned = true
	for _, x := range g.start.first {
		if x.timed && x.at >= from {
			g.isolate(x, from)
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

// jump1st returns the least time among the first transactions that is far ahead of the others: by more than MaxJump,
// or, if timestamps are no times, by more than 64 times the spread of the others. Those ahead must be fewer than the
// others, or of fewer sessions.
func (g *gate) jump1st() int64 {
	const none = 1<<63 - 1
	var all []heldLine
	for _, x := range g.start.first {
		if x.timed {
			all = append(all, x)
		}
	}
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

// isolate puts one of the first transactions into quarantine.
func (g *gate) isolate(x heldLine, from int64) {
	if len(g.quarantine.held) == 0 {
		g.quarantine.passed, g.quarantine.since = 0, map[int64]bool{}
	}
	last := int64(0) // of the transactions that are not ahead
	for _, y := range g.start.first {
		if y.timed && y.at < from {
			last = max(last, y.at)
		}
	}
	g.count.jumps++
	g.found = append(g.found, Violation{Axiom: jumped, Txn: x.id, Why: fmt.Sprintf("%d ahead", plus(x.at, -last))})
	g.quarantine.held, g.start.away = append(g.quarantine.held, x), append(g.start.away, x)
	g.quarantine.since[x.who] = true
}

// badLine reports a first line that is not understood, once no more lines arrive for it to wait for.
func (g *gate) badLine(place int64, err error) {
	if g.bad != nil {
		g.bad(place, err)
	}
}

// release has let take the first transactions that wait for others, since no more lines arrive.
func (g *gate) release(let func(bad func(place int64, err error)) (more bool)) {
	if g.waits() {
		g.begin()
		let(g.badLine)
	}
}

// waits reports whether first transactions wait for others.
func (g *gate) waits() bool { return len(g.start.first) > 0 }

// let passes on, as batches, the first transactions. Those that went to quarantine go to away, since their writes can
// be read; those released go to in.
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

// batchOf reads lines again; nil if there are none.
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
