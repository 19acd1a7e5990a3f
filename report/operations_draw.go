package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"isovet/history"
	"isovet/history/operations"
)

// Limits of a figure of operations.
const (
	maxOpsDrawn = 40
	nearOps     = 6 // of the others, by their calls, before the first and after the last
)

// operationsTimeline draws the operations of a finding and their neighbours.
func operationsTimeline(w *Work, ops []int) markup {
	if len(ops) == 0 || len(ops) > maxOpsDrawn {
		return ""
	}
	shown := slices.Clone(ops)
	for d := 1; d <= nearOps; d++ {
		for _, i := range []int{slices.Min(ops) - d, slices.Max(ops) + d} {
			if i >= 0 && i < len(w.H.Ops) && len(shown) < maxOpsDrawn {
				shown = append(shown, i)
			}
		}
	}
	slices.Sort(shown)
	return w.columns(slices.Compact(shown), ops)
}

// columns draws operations; found are those that a finding names.
func (w *Work) columns(shown, found []int) markup {
	var boxes []opBox
	for _, i := range shown {
		op, o := &w.H.Ops[i], w.Operation(i)
		b := opBox{process: op.Process, from: op.Call, to: op.Return, class: o.Status, text: o.F + " " + o.Value,
			tip: o.String(), found: slices.Contains(found, i)}
		if o.Result != "" {
			b.text = o.F + " → " + o.Result
		}
		boxes = append(boxes, b)
	}
	return columns(boxes, "process", w.faults())
}

// faults returns the faults of the run, at calls of operations if these are positions.
func (w *Work) faults() []fault {
	all := faultsOf(w.H.Events)
	for i := range all {
		for _, at := range []*int64{&all[i].from, &all[i].to} {
			after, _ := slices.BinarySearchFunc(w.H.Ops, *at, func(op operations.Op, at int64) int {
				return cmp.Compare(op.Time, at)
			})
			switch {
			case w.H.Times:
			case after < len(w.H.Ops):
				*at = w.H.Ops[after].Call
			default:
				*at = math.MaxInt64
			}
		}
	}
	return all
}

// run draws the run of the operations. It returns nil if few have times.
func (w *Work) run() *pageRun {
	h := cmp.Or(w.H, &operations.History{})
	var calls []history.Call
	var shown []int
	for i := range h.Ops {
		if op := &h.Ops[i]; op.Time != operations.NoTime {
			s := [...]history.Status{history.Unknown, history.Committed, history.Aborted}[op.Status]
			calls = append(calls, history.Call{Start: op.Time, End: op.End, Status: s})
		}
		if i < maxKeyOps {
			shown = append(shown, i)
		}
	}
	p := drawRun(calls, h.Events)
	if p != nil {
		p.Timelines = []pair{{fmt.Sprintf("the first %d of %d operations", len(shown), len(h.Ops)),
			string(w.columns(shown, nil))}}
	}
	return p
}
