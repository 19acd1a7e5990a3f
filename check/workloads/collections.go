package workloads

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"isovet/evidence"
	"isovet/history/operations"
	"isovet/internal/slice"
)

// bag counts values, and keeps for each the last operation that had it.
type bag struct {
	count map[string]int
	op    map[string]int
	order []string
}

func newBag() *bag { return &bag{map[string]int{}, map[string]int{}, nil} }

func (b *bag) add(v any, op int) {
	k := operations.Text(v)
	if b.count[k] == 0 {
		b.order = append(b.order, k)
	}
	b.count[k]++
	b.op[k] = op
}

func (b *bag) size() int { return slice.Sum(maps.Values(b.count)) }

// set is Jepsen's set: the last read must have every element whose add succeeded, and none that nobody tried to add.
// Unlike Jepsen's, it misses no element whose add had not returned when that read was called.
func set(_ context.Context, j *judge) error {
	last := -1
	for i, op := range j.each("read", operations.OK) {
		if last < 0 || op.Return > j.h.Ops[last].Return {
			last = i
		}
	}
	tried, acked, before := newBag(), newBag(), newBag()
	for i, op := range j.each("add") {
		tried.add(op.In, i)
		if op.Status == operations.OK {
			acked.add(op.In, i)
		}
		if op.Status == operations.OK && last >= 0 && op.Return < j.h.Ops[last].Call {
			before.add(op.In, i)
		}
	}
	if last < 0 || j.h.Ops[last].Out == nil {
		j.unknown("the set was never read")
		return nil
	}
	items, ok := operations.Items(j.h.Ops[last].Out)
	if !ok {
		return j.bad(&j.h.Ops[last], "value", j.h.Ops[last].Out, "a collection of the set's elements")
	}
	read := newBag()
	for _, v := range items {
		read.add(v, last)
	}
	good, recovered := 0, 0
	for _, v := range read.order {
		switch {
		case tried.count[v] == 0:
			j.found("unexpected", []int{last}, "the last read returns %s, which nobody tried to add", v)
			continue
		case acked.count[v] == 0:
			recovered++
		}
		good++
	}
	for _, v := range before.order {
		if read.count[v] == 0 {
			j.found("lost", []int{before.op[v], last}, "%s was added, but the last read lacks it", v)
		}
	}
	j.stats(Stat{"attempt-count", len(tried.order)}, Stat{"acknowledged-count", len(acked.order)},
		Stat{"ok-count", good}, Stat{"lost-count", j.a.Counts["lost"]}, Stat{"recovered-count", recovered},
		Stat{"unexpected-count", j.a.Counts["unexpected"]})
	return nil
}

// element is what is known of an added element; operations by index, -1 for none.
type element struct {
	text            string
	add             int
	known           int64 // when it is known to be in, by position; unset: never
	knownTime       int64
	isKnown         bool
	present, absent int // the reads called last that have it and that do not
}

// setFull is Jepsen's set-full, which judges every read. An element is known from the first return of its add or of a
// read that has it. It is lost if a read called after that misses it and no later one has it. It is stable if a read
// called after all that miss it has it, and stale if one missed it a millisecond or more after it was known.
// Maelstrom's tests of broadcast are judged so too.
func setFull(_ context.Context, j *judge) error {
	type event struct {
		at   int64
		kind int // 0: an add is called, 1: an add or read returns
		op   int
	}
	var events []event
	for i, op := range j.each("") {
		if op.F != "read" {
			events = append(events, event{op.Call, 0, i})
		}
		if op.Status == operations.OK {
			events = append(events, event{op.Return, 1, i})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.kind, b.kind))
	})
	at := map[string]*element{}
	var all []*element
	duplicated := map[string]bool{}
	for _, e := range events {
		op := &j.h.Ops[e.op]
		switch {
		case e.kind == 0:
			k := operations.Text(op.In)
			if at[k] == nil {
				at[k] = &element{}
				all = append(all, at[k])
			}
			*at[k] = element{text: k, add: e.op, present: -1, absent: -1}
		case op.F != "read":
			if x := at[operations.Text(op.In)]; !x.isKnown {
				x.add, x.isKnown, x.known, x.knownTime = e.op, true, op.Return, op.End
			}
		default:
			items, ok := operations.Items(op.Out)
			if !ok && op.Out != nil {
				return j.bad(op, "value", op.Out, "a collection of the set's elements")
			}
			in := map[string]bool{}
			for _, v := range items {
				k := operations.Text(v)
				if in[k] {
					duplicated[k] = true
				}
				in[k] = true
			}
			for _, x := range all {
				to := &x.absent
				if in[x.text] {
					if to = &x.present; !x.isKnown {
						x.isKnown, x.known, x.knownTime = true, op.Return, op.End
					}
				}
				if *to < 0 || j.h.Ops[*to].Call < op.Call {
					*to = e.op
				}
			}
		}
	}
	j.weighElements(all)
	j.stat("duplicated-count", len(duplicated))
	return nil
}

// weighElements counts the set's elements that are stable, lost, stale or never read.
func (j *judge) weighElements(all []*element) {
	stable, stale, never := 0, 0, 0
	worst := time.Duration(0)
	called := func(read int) int64 {
		if read < 0 {
			return operations.NoTime
		}
		return j.h.Ops[read].Call
	}
	for _, x := range all {
		switch {
		case x.present >= 0 && called(x.absent) < called(x.present):
			stable++
			latency := time.Duration(0)
			if x.absent >= 0 && x.knownTime != operations.NoTime && j.h.Ops[x.absent].Time != operations.NoTime {
				latency = max(0, time.Duration(j.h.Ops[x.absent].Time+1-x.knownTime)).Truncate(time.Millisecond)
			}
			if latency == 0 {
				continue
			}
			stale++
			if worst = max(worst, latency); j.set("linearizable") {
				j.found("stale", []int{x.add, x.absent, x.present},
					"%s was in the set for %v when a read was called that lacks it", x.text, latency)
			}
		case x.isKnown && x.absent >= 0 && called(x.absent) > x.known:
			j.found("lost", []int{x.add, x.absent}, "%s was in the set, but a read lacks it, and so does every read "+
				"called later", x.text)
		default:
			never++
		}
	}
	j.stats(Stat{"attempt-count", len(all)}, Stat{"stable-count", stable}, Stat{"lost-count", j.a.Counts["lost"]},
		Stat{"never-read-count", never}, Stat{"stale-count", stale}, Stat{"worst-stale-ms", worst.Milliseconds()})
	if stable == 0 && j.a.Counts["lost"] == 0 {
		j.unknown("no read shows that an element stayed in the set")
	}
}

// totalQueue is Jepsen's total-queue: everything enqueued is dequeued, in any order, and nothing else is. Unlike
// Jepsen's, it misses no value that a dequeue of unknown outcome names, for that dequeue may have removed it, and
// leaves the verdict open if values are missing that a drain of unknown outcome may have removed.
func totalQueue(_ context.Context, j *judge) error {
	tried, acked, out, maybe := newBag(), newBag(), newBag(), newBag()
	drained, open, crashed := false, false, 0
	for i, op := range j.each("") {
		switch {
		case op.F == "enqueue":
			tried.add(op.In, i)
			if op.Status == operations.OK {
				acked.add(op.In, i)
			}
		case op.F == "drain" && op.Status == operations.Unknown:
			drained, crashed = true, op.Line
		case op.Status != operations.OK:
			if open = open || op.Status == operations.Unknown; op.In == nil && op.Out != nil &&
				op.Status == operations.Unknown {
				maybe.add(op.Out, i)
			}
		case op.F == "dequeue":
			out.add(op.Out, i)
		default:
			items, ok := operations.Items(op.Out)
			if !ok && op.Out != nil {
				return j.bad(op, "value", op.Out, "a collection of the values that were left")
			}
			drained = true
			for _, v := range items {
				out.add(v, i)
			}
		}
	}
	good, recovered, duplicated := 0, 0, 0
	for _, v := range out.order {
		n := out.count[v]
		if tried.count[v] == 0 {
			for range n {
				j.found("unexpected", []int{out.op[v]}, "%s was dequeued, but nobody tried to enqueue it", v)
			}
			continue
		}
		both := min(n, tried.count[v])
		good += both
		recovered += max(0, both-acked.count[v])
		duplicated += n - both
	}
	hint := ""
	if open {
		hint = " (a dequeue of unknown outcome may have removed the value)"
	}
	if !drained {
		hint = " (the queue was never drained, so the value may still be there)"
	}
	for _, v := range acked.order {
		missing := max(0, acked.count[v]-out.count[v]-maybe.count[v])
		if missing > 0 && crashed > 0 {
			if j.a.Verdict != evidence.Violated {
				j.unknown("the outcome of the drain in line %d is unknown, so it may have removed any values", crashed)
			}
			break
		}
		for range missing {
			j.found("lost", []int{acked.op[v]}, "%s was enqueued but never dequeued%s", v, hint)
		}
	}
	j.stats(Stat{"attempt-count", tried.size()}, Stat{"acknowledged-count", acked.size()}, Stat{"ok-count", good},
		Stat{"unexpected-count", j.a.Counts["unexpected"]}, Stat{"duplicated-count", duplicated},
		Stat{"lost-count", j.a.Counts["lost"]}, Stat{"recovered-count", recovered})
	return nil
}

// uniqueIDs is Jepsen's unique-ids: no identifier is generated twice.
func uniqueIDs(_ context.Context, j *judge) error {
	first := map[string]int{}
	tried, acked := 0, 0
	var low, high any
	twice := map[string]int{}
	less := func(a, b any) bool {
		x, xn := a.(int64)
		if y, yn := b.(int64); xn && yn {
			return x < y
		}
		return operations.Text(a) < operations.Text(b)
	}
	for i, op := range j.each("generate") {
		tried++
		if op.Status != operations.OK {
			continue
		}
		if acked++; acked == 1 || less(op.Out, low) {
			low = op.Out
		}
		if acked == 1 || less(high, op.Out) {
			high = op.Out
		}
		k := operations.Text(op.Out)
		if of, is := first[k]; is {
			if twice[k]++; twice[k] == 1 {
				j.found("duplicate", []int{of, i}, "the id %s was given twice", k)
			}
			continue
		}
		first[k] = i
	}
	j.stats(Stat{"attempted-count", tried}, Stat{"acknowledged-count", acked}, Stat{"duplicated-count", len(twice)})
	if acked > 0 {
		j.stat("range", []string{operations.Text(low), operations.Text(high)})
	}
	return nil
}
